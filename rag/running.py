"""Running headers, footers and page numbers: what stands at the edge of page after page."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from rag.pdf import Line, Page

Edge = Literal["top", "bottom"]

_ROWS = 3  # a header or footer has no more
_WIDE = 1.4  # gaps in line pitches: what is apart from the text,
_VERY_WIDE = 2.0  # and what is so far apart that even a sentence in the text's size is no text
_LARGE = 1.15  # times the text's size: a heading, not a header
_SMALL = 0.95
_REPEATS = 3  # pages
_NEAR = 2  # pages: headers repeat on facing pages, the headings of a book in a fixed form further apart
_TEXT_SHARE = 0.1
_TEXT_ROW = 40  # characters
_BAND_LINES = 5
_BAND_SHARE = 0.4
_INTEGER = re.compile(r"(?<![\w.])\d{1,4}(?![\w.]*\w)")
_NUMBER_ONLY = re.compile(r"[\s–—|.()\[\]-]*(?:\d{1,4}|#|[ivxlc]{1,7}|[IVXLC]{1,7})[\s–—|.()\[\]-]*")
_LABEL = re.compile(r"\(?(?:[A-Z]|\d{1,2}|[a-z])[.)]\s")
_SENTENCE_END = (".", ";", ":", ",", "?", "!")


@dataclass(frozen=True, slots=True)
class _Candidate:
    line: Line
    edge: Edge
    outermost: bool
    key: str = ""

    @property
    def band(self) -> tuple[Edge, int, float]:
        return self.edge, round(self.line.y / 3), self.line.size


@dataclass(frozen=True, slots=True)
class Measure:
    """What is usual in a book's text: its font size, the largest that is still text, the distance between two lines."""

    size: float
    largest: float
    pitch: float
    bold: bool = False


def measure(pages: Iterable[Page]) -> Measure:
    rows: Counter[float] = Counter()
    letters: Counter[float] = Counter()
    bold: Counter[float] = Counter()
    pitches: Counter[int] = Counter()
    for page in pages:
        for line in page.lines:
            rows[line.size] += 1
            letters[line.size] += len(line.text)
            bold[line.size] += len(line.text) * line.bold
        for above, below in pairwise(page.lines):
            if 0 < below.y - above.y < 4 * below.size and above.size == below.size:
                pitches[round((below.y - above.y) * 2)] += 1
    size = max(letters, key=lambda s: (letters[s], s))
    # Criteria may be set larger than the rest: what fills long rows and a good part of the book is no heading.
    texts = [s for s in letters if letters[s] > _TEXT_SHARE * letters.total() and letters[s] > _TEXT_ROW * rows[s]]
    pitch = max(pitches, key=lambda p: (pitches[p], -p)) / 2 if pitches else size * 1.2
    return Measure(size, max([size, *texts]), pitch, bold[size] > letters[size] / 2)


def without_running(pages: Sequence[Page], usual: Measure, is_heading: Callable[[Line], bool]) -> list[Line]:
    """The lines of all pages in order, without headers, footers and page numbers."""
    found = [candidate for page in pages for candidate in _candidates(page, usual, is_heading)]
    keyed = _with_keys(found, usual)
    running = {id(c.line) for c in keyed if _NUMBER_ONLY.fullmatch(c.key) and c.outermost}
    running |= {id(c.line) for c in _repeated(keyed, usual)}
    running |= {id(c.line) for c in _in_bands(keyed, running, usual)}
    return [line for page in pages for line in page.lines if id(line) not in running]


def _candidates(page: Page, usual: Measure, is_heading: Callable[[Line], bool]) -> Iterator[_Candidate]:
    rows = sorted(page.lines, key=lambda line: line.y)
    for edge, ordered in (("top", rows), ("bottom", rows[::-1])):
        for line in _apart(ordered, usual):
            if not is_heading(line) and not _LABEL.match(line.text):
                yield _Candidate(line, "top" if edge == "top" else "bottom", abs(line.y - ordered[0].y) < 2)


def _apart(rows: list[Line], usual: Measure) -> list[Line]:
    """The rows at an edge that a gap divides from the text. A number, or small print, needs no gap."""
    for count, (outer, inner) in enumerate(pairwise(rows[: _ROWS + 1]), start=1):
        gap = abs(inner.y - outer.y) / usual.pitch
        if gap >= _WIDE:
            edge = rows[:count]
            return [row for row in edge if gap >= _VERY_WIDE or not _is_sentence(row, usual)]
    if len(rows) == 1:
        return rows
    return [row for row in rows[:1] if _NUMBER_ONLY.fullmatch(row.text) or row.size < _SMALL * usual.size]


def _is_sentence(line: Line, usual: Measure) -> bool:
    return line.size >= _SMALL * usual.size and line.text.endswith(_SENTENCE_END)


def _with_keys(found: list[_Candidate], usual: Measure) -> list[_Candidate]:
    """A number that grows with the pages becomes "#"; in a heading it may count disorders, and stays."""
    offsets = Counter(offset for c in found for offset in _offsets(c.line))
    paging = {offset for offset, pages in offsets.items() if pages >= _REPEATS}
    return [_Candidate(c.line, c.edge, c.outermost, _key(c.line, paging, usual)) for c in found]


def _offsets(line: Line) -> set[int]:
    return {int(number) - line.page for number in _INTEGER.findall(line.text)}


def _key(line: Line, paging: set[int], usual: Measure) -> str:
    if line.size > _LARGE * usual.size:
        return line.text
    return _INTEGER.sub(lambda match: "#" if int(match[0]) - line.page in paging else match[0], line.text)


def _repeated(found: list[_Candidate], usual: Measure) -> Iterator[_Candidate]:
    groups: dict[tuple[Edge, str, float], list[_Candidate]] = defaultdict(list)
    for candidate in found:
        if candidate.outermost or candidate.line.size <= _LARGE * usual.size:
            groups[candidate.edge, candidate.key.casefold(), candidate.line.size].append(candidate)
    for group in groups.values():
        pages = sorted({c.line.page for c in group})
        near = sum(later - earlier <= _NEAR for earlier, later in pairwise(pages))
        if len(pages) >= _REPEATS and near >= len(pages) / 2:
            yield from group


def _in_bands(found: list[_Candidate], running: set[int], usual: Measure) -> Iterator[_Candidate]:
    """A header that names a short section is seen once or twice; it stands where the others stand."""
    bands: dict[tuple[Edge, int, float], list[_Candidate]] = defaultdict(list)
    for candidate in found:
        if candidate.line.size <= _LARGE * usual.size:
            bands[candidate.band].append(candidate)
    for (edge, _, size), band in bands.items():
        often = Counter(c.key for c in band)
        known = sum(id(c.line) in running or often[c.key] > 1 for c in band)
        small_head = edge == "top" and size < _SMALL * usual.size  # at the bottom it may be a footnote
        if len(band) >= _BAND_LINES and (small_head or known >= _BAND_SHARE * len(band)):
            yield from band
