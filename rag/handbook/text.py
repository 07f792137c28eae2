"""The handbook's pages as written: a small part of Markdown, read into chapters, disorders, sections and blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

from errors import InputError
from instruments.disorders import disorders

Kind = Literal["criterion", "point", "specifier", "paragraph"]

# A capital and a stop open a criterion; "A panic attack is …" opens a paragraph.
_MARKS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("criterion", re.compile(r"([A-Z]\.) (.+)")),
    ("point", re.compile(r"(\d+\.) (.+)")),
    ("specifier", re.compile(r"(-) (.+)")),
)


@dataclass(frozen=True)
class Block:
    kind: Kind
    mark: str
    text: str


@dataclass(frozen=True)
class Section:
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Page:
    """One file: its title, what stands before the first section, and the sections."""

    title: str
    preface: tuple[Block, ...]
    sections: tuple[Section, ...]


@dataclass(frozen=True)
class Chapter:
    title: str
    pages: tuple[Page, ...]


def slug(name: str) -> str:
    """A title as a file name or id: `Bipolar I Disorder` → `bipolar-i-disorder`."""
    return "-".join(re.findall(r"[a-z]+", name.lower()))


def read_page(text: str) -> Page:
    """A page from its Markdown."""
    head, *rest = re.split(r"^## ", text, flags=re.MULTILINE)
    title, _, preface = head.partition("\n")
    if not title.startswith("# "):
        raise InputError(f"a page of the handbook must begin with '# ' and its title, not with {title!r}.")
    return Page(title.removeprefix("# ").strip(), tuple(_blocks(preface)), tuple(map(_section, rest)))


@cache
def front_page() -> Page:
    return read_page(_file("front-page"))


@cache
def chapters() -> tuple[Chapter, ...]:
    """A page for every disorder that Crosscut knows, by category and in its order."""
    known = disorders()
    return tuple(
        Chapter(category, tuple(_page_of(one.name) for one in known.disorders if one.category == category))
        for category in known.categories
    )


def _page_of(name: str) -> Page:
    page = read_page(_file(slug(name)))
    if page.title != name:
        raise InputError(f"{slug(name)}.md is titled {page.title!r}; it must be {name!r}.")
    return page


def _section(text: str) -> Section:
    title, _, body = text.partition("\n")
    return Section(title.strip(), tuple(_blocks(body)))


def _blocks(text: str) -> Iterator[Block]:
    """Every line is a block of its own; the files have no line breaks inside one."""
    return (_block(line.strip()) for line in text.splitlines() if line.strip())


def _block(line: str) -> Block:
    for kind, pattern in _MARKS:
        if found := pattern.fullmatch(line):
            return Block(kind, found[1], found[2])
    return Block("paragraph", "", line)


def _file(name: str) -> str:
    return files("rag.handbook").joinpath(f"{name}.md").read_text("utf-8")
