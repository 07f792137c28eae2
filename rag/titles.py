"""The titles of sections that are known, from sections.toml, and what each says about its section."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import Literal

from pydantic import BaseModel, ConfigDict

Kind = Literal["criteria", "narrative", "matter", "introduction", "unknown"]

_CODE = r"\(?[A-Z]?\d{2,3}(\.[\dx]{1,4})?\)?"
_TAIL = re.compile(rf"(\s*\(?\bcont(inued|[’']?d)\b\.?\)?|(\s+{_CODE})+)\s*$", re.IGNORECASE)
_LONGEST = 200  # an outline may hold anything
_NUMBERING = re.compile(r"^(?:\d+(?:\.\d+)*[.)]?|[A-Z][.)]|[IVX]+[.)])\s+")
_APART = re.compile(r"[\W_]+")


class HeadingRules(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    larger: float
    huge: float
    not_smaller: float
    longest: int
    rows: int
    row_pitch: float
    apart: float
    outline_match: float
    title_page: int
    contents_rows: int


class Tables(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    criteria: tuple[str, ...]
    narrative: tuple[str, ...]
    matter: tuple[str, ...]
    containers: tuple[str, ...]
    headings: HeadingRules


@cache
def tables() -> Tables:
    return Tables.model_validate(tomllib.loads(files("rag").joinpath("sections.toml").read_text("utf-8")))


def is_known(title: str) -> bool:
    """Whether this is a title of the tables, and no disorder's or chapter's name."""
    return known_kind(title) is not None


def known_kind(title: str) -> Kind | None:
    return _kind(_plain(title)) if len(title) <= _LONGEST else None


def kind_of(titles: Sequence[str]) -> Kind:
    """What the innermost known title says; front and back matter keeps all that is below it."""
    known = [kind for title in titles if (kind := known_kind(title))]
    if "matter" in known:
        return "matter"
    return known[-1] if known else "unknown"


def is_container(title: str) -> bool:
    return len(title) <= _LONGEST and _fits("containers", _plain(title))


def letters(text: str) -> str:
    return _APART.sub("", text.casefold())


@lru_cache(maxsize=4096)
def _plain(title: str) -> str:
    bare = _NUMBERING.sub("", title)
    while (cut := _TAIL.sub("", bare)) != bare and cut:
        bare = cut
    return _APART.sub(" ", bare.casefold()).strip()


@cache
def _patterns(table: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in getattr(tables(), table)))


def _fits(table: str, plain: str) -> bool:
    return _patterns(table).fullmatch(plain) is not None


@lru_cache(maxsize=4096)
def _kind(plain: str) -> Kind | None:
    if _fits("narrative", plain):
        return "narrative"
    if _fits("criteria", plain):
        return "criteria"
    return "matter" if _fits("matter", plain) else None
