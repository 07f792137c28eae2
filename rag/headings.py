"""Headings by size and weight, measured against the book's own text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

from rag.pdf import Line
from rag.running import Measure
from rag.text import SOFT_HYPHEN, Words
from rag.titles import is_known, tables

Style = tuple[float, bool]

_LABEL = re.compile(r"\(?(?:[A-Z]|\d{1,2}|[a-z])[.)](?:\s|$)")
_LEADERS = re.compile(r"(?:\.\s?){4,}|…\s*\d")
_ENDS_IN_NUMBER = re.compile(r"[\s.…]\d{1,4}$")
_CONTINUED = re.compile(r"\s*\(continued\)\s*$", re.IGNORECASE)
_SENTENCE_END = (".", ",", ";", ":")
_SHOWN = 200  # characters
_NO_WORDS = Words(())


@dataclass(frozen=True, slots=True)
class Mark:
    """A heading at lines[start:end]; `level` when the outline has it, `style` when its line was found.

    `name` is set for a disorder's name in a book that sets names and the titles below them alike; `closed` for front
    matter in a style of its own, which says nothing of its rank, so that no other heading goes below it.
    """

    start: int
    end: int
    title: str
    page: int
    level: int | None = None
    style: Style | None = None
    name: bool = False
    closed: bool = False


def headings(lines: Sequence[Line], usual: Measure) -> Iterator[Mark]:
    rules = tables().headings
    contents = _contents_pages(lines)
    index = 0
    while index < len(lines):
        end = _run_end(lines, index, usual)
        listed = lines[index].page in contents and _ENDS_IN_NUMBER.search(lines[max(end - 1, index)].text)
        if index < end <= index + rules.rows and not listed and _stands_alone(lines, index, end, usual):
            text = reduce(_NO_WORDS.join, (line.text for line in lines[index:end]))
            yield Mark(index, end, shown(text.rstrip(SOFT_HYPHEN)), lines[index].page, style=style_of(lines[index]))
        index = max(end, index + 1)


def _contents_pages(lines: Sequence[Line]) -> set[int]:
    rows = Counter(line.page for line in lines)
    numbered = Counter(line.page for line in lines if _ENDS_IN_NUMBER.search(line.text))
    least = tables().headings.contents_rows
    return {page for page, count in numbered.items() if count >= max(least, rows[page] / 2)}


def _run_end(lines: Sequence[Line], start: int, usual: Measure) -> int:
    """The end of the heading that begins here, which may have several rows; `start` itself when there is none."""
    if not looks_like_heading(lines[start], usual):
        return start
    end = start + 1
    while end < len(lines) and _continues(lines[end - 1], lines[end], usual):
        end += 1
    return end


def _continues(above: Line, line: Line, usual: Measure) -> bool:
    near = above.page == line.page and 0 < line.y - above.y <= tables().headings.row_pitch * line.size
    alike = style_of(above) == style_of(line) and looks_like_heading(line, usual)
    return near and alike and not is_known(above.text) and not is_known(line.text)


def looks_like_heading(line: Line, usual: Measure) -> bool:
    rules = tables().headings
    heavy = line.bold and not usual.bold and line.size >= rules.not_smaller * usual.size
    if not heavy and not _is_large(line, usual):
        return False
    if len(line.text) > rules.longest or not any(character.isalpha() for character in line.text):
        return False
    if is_known(line.text):
        return True
    if _LEADERS.search(line.text):
        return False
    huge = line.size >= rules.huge * usual.largest
    return huge or not (_LABEL.match(line.text) or line.text.endswith(_SENTENCE_END))


def _is_large(line: Line, usual: Measure) -> bool:
    return line.size >= tables().headings.larger * usual.largest


def _stands_alone(lines: Sequence[Line], start: int, end: int, usual: Measure) -> bool:
    """A bold line in the text's size is a heading only where no sentence runs through it."""
    line = lines[start]
    if _is_large(line, usual):
        return True
    above = lines[start - 1] if start else None
    below = lines[end] if end < len(lines) else None
    apart = tables().headings.apart * usual.pitch
    if below and below.page == line.page and below.y - lines[end - 1].y < apart and below.text[0].islower():
        return False
    if above is None or is_known(line.text) or above.page != line.page or not 0 < line.y - above.y < apart:
        return True
    return not above.text[-1].isalnum() or looks_like_heading(above, usual)


def style_of(line: Line) -> Style:
    return line.size, line.bold


def shown(title: str) -> str:
    """A title as a path shows it."""
    return _CONTINUED.sub("", title).replace(" > ", " – ")[:_SHOWN] or title[:_SHOWN]


def is_known_heading(line: Line, usual: Measure) -> bool:
    return (line.bold or line.size > usual.size) and len(line.text) < 100 and is_known(line.text)


def title_page(lines: Sequence[Line], usual: Measure) -> int | None:
    """The first page, when its largest print is found nowhere else in the book and it begins no section."""
    first = lines[0].page
    here = [line for line in lines if line.page == first]
    largest = max(line.size for line in here)
    short = sum(len(line.text) for line in here) <= tables().headings.title_page
    alone = short and largest > usual.size and all(line.size < largest for line in lines if line.page != first)
    return first if alone and not any(is_known_heading(line, usual) for line in here) else None
