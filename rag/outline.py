"""Where the entries of a PDF's outline begin among its lines."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence

from rag.headings import Mark, looks_like_heading, shown, style_of
from rag.pdf import Line, OutlineEntry
from rag.running import Measure
from rag.titles import letters, tables


def outline_marks(lines: Sequence[Line], outline: Sequence[OutlineEntry], usual: Measure) -> list[Mark]:
    finder = _Finder(lines, usual)
    found: list[Mark] = []
    for entry, page in zip(outline, _pages_of(outline), strict=True):
        if page is not None:
            follows = found and found[-1].page == page and found[-1].end > found[-1].start
            after = found[-1].end if follows else 0
            found.append(finder.mark(entry, page, after))
    return found


def _pages_of(outline: Sequence[OutlineEntry]) -> list[int | None]:
    """An entry that leads nowhere, as parts often do, begins where the next one does."""
    pages: list[int | None] = []
    following: int | None = None
    for entry in reversed(outline):
        following = entry.page or following
        pages.append(following)
    return pages[::-1]


class _Finder:
    """Where the titles of an outline stand among the lines."""

    def __init__(self, lines: Sequence[Line], usual: Measure) -> None:
        self._lines = lines
        self._usual = usual
        self._pages = [line.page for line in lines]
        self._indexed: tuple[int, dict[str, list[tuple[int, int]]]] = 0, {}

    def mark(self, entry: OutlineEntry, page: int, after: int) -> Mark:
        """On its page, not before `after`; a title that is not there begins where the outline points."""
        first, last = bisect_left(self._pages, page), bisect_right(self._pages, page)
        start, end = self._matching(entry, page, after) or self._pointed_at(entry, max(first, after), last)
        style = style_of(self._lines[start]) if end > start else None
        return Mark(start, end, shown(entry.title), page, entry.level, style)

    def _matching(self, entry: OutlineEntry, page: int, after: int) -> tuple[int, int] | None:
        wanted = letters(entry.title)
        spots = self._index(page).get(wanted) or self._similar(page, wanted)
        later = [spot for spot in spots if spot[0] >= after]
        if not later:
            return None
        if entry.y is None:
            return later[0]
        y = entry.y
        return min(later, key=lambda spot: abs(self._lines[spot[0]].y - y))

    def _index(self, page: int) -> dict[str, list[tuple[int, int]]]:
        """Every row of a page and what it makes with the rows below it, by its letters."""
        if page != self._indexed[0]:
            found: dict[str, list[tuple[int, int]]] = defaultdict(list)
            first, last = bisect_left(self._pages, page), bisect_right(self._pages, page)
            rows = [letters(line.text) for line in self._lines[first:last]]
            for start in range(len(rows)):
                so_far = ""
                for end in range(start, min(start + tables().headings.rows, len(rows))):
                    so_far += rows[end]
                    found[so_far].append((first + start, first + end + 1))
            self._indexed = page, found
        return self._indexed[1]

    def _similar(self, page: int, wanted: str) -> list[tuple[int, int]]:
        """Headings that say a little more or less: "3 Depressive Disorders", "Major Depression F32"."""
        return [
            spot
            for heading, spots in self._index(page).items()
            if _is_mostly(heading, wanted)
            for spot in spots
            if spot[1] == spot[0] + 1 and looks_like_heading(self._lines[spot[0]], self._usual)
        ]

    def _pointed_at(self, entry: OutlineEntry, first: int, last: int) -> tuple[int, int]:
        if entry.y is None:
            return first, first
        below = (index for index in range(first, last) if self._lines[index].y >= entry.y)
        spot = next(below, max(first, last))
        return spot, spot


def _is_mostly(heading: str, title: str) -> bool:
    short, long = sorted((heading, title), key=len)
    return len(short) >= tables().headings.outline_match * len(long) and (
        long.startswith(short) or long.endswith(short)
    )
