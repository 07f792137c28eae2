"""Chunks that follow the criteria: a lettered criterion is cut only when it alone is too long."""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from itertools import pairwise

from pydantic import BaseModel, ConfigDict

from rag.pdf import Line
from rag.sections import Section
from rag.text import SOFT_HYPHEN, Words

_ENDING = re.compile(r"[.:;?!)\]”\"’]$|[,;] (?:and|or)$", re.IGNORECASE)
_SENTENCE = re.compile(r"(?:(?<=[.!?])|(?<=[.!?][)”\"’]))\s+(?=[A-Z“\"(])")
_SPACE = re.compile(r"\s+")
_LETTER_WIDTH = 0.5  # of the font's size, about


class Limits(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    target: int
    maximum: int
    letter: str
    points: tuple[str, ...]
    openers: tuple[str, ...]
    skipped: int
    gap: float
    outdent: float
    prefixes: frozenset[str]


@dataclass(frozen=True)
class Chunk:
    ordinal: int
    text: str
    section_path: str
    page_start: int
    page_end: int


@dataclass(frozen=True)
class Piece:
    text: str
    page_start: int
    page_end: int


class Unit:
    """What should stay together: a lettered criterion with its points, or a paragraph."""

    def __init__(self, words: Words) -> None:
        self._words = words
        self._parts: list[str] = []
        self._length = 0
        self._rows: list[tuple[int, int]] = []  # where each row begins, and its page

    def add(self, line: Line, *, apart: bool) -> None:
        above = self._parts[-1] if self._parts else ""
        dropped, between = self._words.seam(above, line.text)
        if apart and above:
            dropped, between = int(above.endswith(SOFT_HYPHEN)), "\n"
        if dropped:
            self._parts[-1] = above[:-dropped]
        self._length += len(between) - dropped
        self._rows.append((self._length, line.page))
        self._parts += (between, line.text)
        self._length += len(line.text)

    @cached_property
    def text(self) -> str:
        return "".join(self._parts).rstrip(SOFT_HYPHEN)

    def piece(self, start: int, end: int) -> Piece:
        return Piece(self.text[start:end], self._page(start), self._page(end - 1))

    def _page(self, position: int) -> int:
        return self._rows[max(0, bisect_right(self._rows, position, key=lambda row: row[0]) - 1)][1]


@cache
def limits() -> Limits:
    return Limits.model_validate(tomllib.loads(files("rag").joinpath("chunks.toml").read_text("utf-8")))


def chunk_sections(sections: Iterable[Section], words: Words, pitch: float) -> list[Chunk]:
    """Numbered through the whole book; no chunk reaches from one section into the next."""
    found: list[Chunk] = []
    for section in sections:
        for piece in _packed(section_units(section.lines, words, pitch)):
            found.append(Chunk(len(found), piece.text, section.path, piece.page_start, piece.page_end))
    return found


def section_units(lines: Sequence[Line], words: Words, pitch: float) -> list[Unit]:
    """Criteria in their order, with the paragraphs before and after them."""
    return list(_Reader(words, pitch).read(lines))


class _Reader:
    def __init__(self, words: Words, pitch: float) -> None:
        self._words = words
        self._pitch = pitch
        self._letter = ""
        self._in_criterion = False

    def read(self, lines: Sequence[Line]) -> Iterator[Unit]:
        unit: Unit | None = None
        right = _right_edges(lines)
        for above, line in zip((None, *lines), lines, strict=False):
            begins = above is None or self._begins(above, line, right[above.page])
            apart = above is not None and self._is_apart(above, line)
            if begins and self._opens_unit(line, apart=apart) and unit:
                yield unit
                unit = None
            unit = unit or Unit(self._words)
            unit.add(line, apart=apart or (begins and _matches("points", line.text)))
        if unit:
            yield unit

    def _opens_unit(self, line: Line, *, apart: bool) -> bool:
        """Also remembers the letter: a paragraph without one stays with the criterion above it."""
        if letter := self._next_letter(line.text):
            self._letter, self._in_criterion = letter, True
            return True
        if _matches("openers", line.text):
            self._in_criterion = False
            return True
        return apart and not self._in_criterion

    def _next_letter(self, text: str) -> str:
        found = _pattern("letter").match(text)
        if found is None:
            return ""
        step = ord(found[1]) - ord(self._letter or "@")
        return found[1] if found[1] == "A" or 0 < step <= 1 + limits().skipped else ""

    def _begins(self, above: Line, line: Line, right: float) -> bool:
        """Whether a row can begin something new, since the one above was not merely full."""
        if _ENDING.search(above.text):
            return True
        if self._is_apart(above, line) or (line.page == above.page and line.left < above.left - limits().outdent):
            return True
        first_word = len(line.text.split(" ", 1)[0])
        return above.right + (first_word + 2) * _LETTER_WIDTH * above.size < right

    def _is_apart(self, above: Line, line: Line) -> bool:
        """Further down is a new paragraph; further up is the next column, where the text may go on."""
        return line.page == above.page and line.y - above.y >= limits().gap * self._pitch


def _right_edges(lines: Sequence[Line]) -> dict[int, float]:
    edges: dict[int, float] = {}
    for line in lines:
        edges[line.page] = max(edges.get(line.page, 0.0), line.right)
    return edges


@cache
def _pattern(table: str) -> re.Pattern[str]:
    patterns: str | tuple[str, ...] = getattr(limits(), table)
    return re.compile(patterns if isinstance(patterns, str) else "|".join(f"(?:{p})" for p in patterns))


def _matches(table: str, text: str) -> bool:
    return _pattern(table).match(text) is not None


# ---- Sizes ----------------------------------------------------------------------------------------------------


def _packed(units: Iterable[Unit]) -> Iterator[Piece]:
    """Short neighbours together up to the target; what is over the maximum by itself in several pieces."""
    open_piece: Piece | None = None
    for unit in units:
        if len(unit.text) > limits().maximum:
            if open_piece:
                yield open_piece
            yield from (unit.piece(*span) for span in _spans(unit.text))
            open_piece = None
            continue
        piece = unit.piece(0, len(unit.text))
        if open_piece and len(open_piece.text) + 1 + len(piece.text) <= limits().target:
            piece = _together(open_piece, piece)
        elif open_piece:
            yield open_piece
        open_piece = piece
    if open_piece:
        yield open_piece


def _together(first: Piece, second: Piece) -> Piece:
    start, end = min(first.page_start, second.page_start), max(first.page_end, second.page_end)
    return Piece(f"{first.text}\n{second.text}", start, end)


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Cuts an overlong text between points, else between sentences, else between words; parts fill up to the target."""
    start = end = 0
    for part_start, part_end in _parts(text, 0, len(text), ("\n", _SENTENCE, _SPACE)):
        if end > start and part_end - start > limits().target:
            yield start, end
            start = part_start
        end = part_end
    if end > start:
        yield start, end


def _parts(text: str, start: int, end: int, cuts: Sequence[str | re.Pattern[str]]) -> Iterator[tuple[int, int]]:
    if end - start <= limits().maximum:
        yield start, end
    elif not cuts:
        edges = [*range(start, end, limits().maximum), end]
        yield from pairwise(edges)
    else:
        for part_start, part_end in _split(text, start, end, re.compile(cuts[0])):
            yield from _parts(text, part_start, part_end, cuts[1:])


def _split(text: str, start: int, end: int, cut: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    at = start
    for found in cut.finditer(text, start, end):
        if found.start() > at:
            yield at, found.start()
        at = found.end()
    if end > at:
        yield at, end
