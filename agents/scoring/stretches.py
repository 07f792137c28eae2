"""Stretches of a text, looked up by place in the time of a binary search: an answer may be very long."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar


class Placed(Protocol):
    @property
    def start(self) -> int: ...

    @property
    def end(self) -> int: ...


P = TypeVar("P", bound=Placed)


class Stretches:
    """Several stretches as one set of places; those that overlap are one."""

    def __init__(self, *groups: Iterable[Placed]) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        places = [(found.start, found.end) for group in groups for found in group]
        for start, end in sorted(places) if places else places:
            if self._ends and start < self._ends[-1]:
                self._ends[-1] = max(self._ends[-1], end)
            elif start < end:
                self._starts.append(start)
                self._ends.append(end)

    def touch(self, start: int, end: int) -> bool:
        """Whether any of them has a place in common with a stretch."""
        if not self._ends:
            return False
        at = bisect_right(self._ends, start)
        return at < len(self._starts) and self._starts[at] < end

    def hold(self, found: Placed) -> bool:
        """Whether a stretch lies wholly within one of them."""
        if not self._starts:
            return False
        at = bisect_right(self._starts, found.start) - 1
        return at >= 0 and found.end <= self._ends[at]


def outermost(found: Iterable[P]) -> list[P]:
    """In order, without those that lie within another one."""
    kept: list[P] = []
    for one in sorted(found, key=lambda one: (one.start, -one.end)):
        if not kept or one.end > kept[-1].end:
            kept.append(one)
    return kept


def beginning_in(found: Sequence[P], start: int, end: int) -> Sequence[P]:
    """Those of an ordered sequence that begin in a stretch."""
    first = bisect_left(found, start, key=lambda one: one.start)
    return found[first : bisect_left(found, end, lo=first, key=lambda one: one.start)]
