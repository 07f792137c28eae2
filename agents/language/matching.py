"""Many patterns against one text.

A pattern is tried only in a clause that has the words it needs, and there only where one of its first words stands.
So the time is proportional to the length of the text, and hardly depends on how many patterns there are.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from agents.language.patterns import BOUNDARY, DIGITS, Groups, Pattern, PatternParser

_TOKEN = re.compile(rf"[^\W_][\w']*|{BOUNDARY}")
_COMMON_COST = 25
_REACH = 200  # characters from a pattern's first word to its anchor
Places = dict[str, list[int]]


@dataclass(frozen=True)
class Found:
    """What a scan finds: a label's pattern matches this stretch."""

    label: str
    start: int
    end: int


class Words:
    """Where each word of a text stands, in all of it and clause by clause. Words with an apostrophe also count without
    their ending, and those that begin with a digit also as `DIGITS`."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.begins: list[int] = []
        self.clauses: list[Places] = [{}]
        for match in _TOKEN.finditer(text):
            word, at = match[0], match.start()
            if word == BOUNDARY:
                if self.clauses[-1]:
                    self.clauses.append({})
                continue
            self.begins.append(at)
            places = self.clauses[-1]
            places.setdefault(word, []).append(at)
            if "'" in word:
                places.setdefault(word.partition("'")[0], []).append(at)
            if word[0].isdigit():
                places.setdefault(DIGITS, []).append(at)
        self.everywhere = self.clauses[0] if len(self.clauses) == 1 else _merged(self.clauses)


def _merged(clauses: list[Places]) -> Places:
    merged: Places = {}
    for places in clauses:
        for word, positions in places.items():
            merged.setdefault(word, []).extend(positions)
    return merged


@dataclass(frozen=True)
class _Entry:
    """A pattern with its anchor, the rarest of the sets of words it needs, and the other sets."""

    label: str
    pattern: Pattern
    firsts: frozenset[str] | None
    anchor: frozenset[str] | None
    others: tuple[frozenset[str], ...]


class _Index:
    """Entries by the words of their anchors."""

    def __init__(self) -> None:
        self.entries: list[_Entry] = []
        self._by_anchor: defaultdict[str, list[int]] = defaultdict(list)
        self._anywhere: list[int] = []

    def add(self, label: str, pattern: Pattern) -> None:
        number = len(self.entries)
        needed = sorted(pattern.needed, key=_cost)
        anchor = needed[0] if needed else None
        self.entries.append(_Entry(label, pattern, pattern.firsts, anchor, tuple(needed[1:])))
        if anchor is None:
            self._anywhere.append(number)
        for word in anchor or ():
            self._by_anchor[word].append(number)

    def candidates(self, places: Places) -> list[_Entry]:
        """The entries all of whose needed words are there, in the order of the tables."""
        chosen = set(self._anywhere)
        for word in places.keys() & self._by_anchor.keys():
            chosen.update(self._by_anchor[word])
        found = []
        for number in sorted(chosen):
            entry = self.entries[number]
            for needed in entry.others:
                if needed.isdisjoint(places):
                    break
            else:
                found.append(entry)
        return found


class Scanner:
    """Labelled patterns, all looked for at once."""

    def __init__(self, tables: Mapping[str, Iterable[str]], groups: Groups) -> None:
        self._within, self._across, self._all = _Index(), _Index(), _Index()
        parser = PatternParser(groups)
        for label, sources in tables.items():
            for pattern in parser.patterns(sources):
                self._all.add(label, pattern)
                (self._across if pattern.crosses else self._within).add(label, pattern)

    def compile(self) -> None:
        """Compile every pattern now, so that nobody waits for one later and a malformed one is found."""
        for entry in self._all.entries:
            _ = entry.pattern.regex

    def may_match(self, words: Words) -> bool:
        """Whether any pattern has the words it needs."""
        return bool(self._all.candidates(words.everywhere))

    def scan(self, words: Words) -> list[Found]:
        """Every place where a pattern matches, at most one match of a label at each, in order of place."""
        seen: dict[tuple[str, int], Found] = {}
        if len(words.clauses) == 1:
            _match(words.text, self._all, words.everywhere, seen)
        else:
            for places in words.clauses:
                _match(words.text, self._within, places, seen)
            _match(words.text, self._across, words.everywhere, seen)
        return sorted(seen.values(), key=lambda found: (found.start, found.end))


def _match(text: str, index: _Index, places: Places, seen: dict[tuple[str, int], Found]) -> None:
    for entry in index.candidates(places):
        for at in _begins(entry, places):
            if (match := entry.pattern.regex.match(text, at)) and (entry.label, at) not in seen:
                seen[entry.label, at] = Found(entry.label, at, match.end())


class Patterns:
    """One table of patterns, with the interface of a compiled expression."""

    def __init__(self, sources: Iterable[str], groups: Groups) -> None:
        self._scanner = Scanner({"": sources}, groups)
        self._scanner.compile()

    def finditer(self, text: str | Words) -> Iterator[Found]:
        """The matches from left to right that do not overlap."""
        at = 0
        for found in self._scanner.scan(_as_words(text)):
            if found.start >= at:
                yield found
                at = found.end

    def search(self, text: str | Words) -> Found | None:
        return next(self.finditer(text), None)

    def match(self, text: str | Words) -> Found | None:
        """A match at the first word of the text."""
        words = _as_words(text)
        first = next(iter(self._scanner.scan(words)), None)
        return first if first and words.begins[0] == first.start else None


def _as_words(text: str | Words) -> Words:
    return Words(text) if isinstance(text, str) else text


def compile_patterns(sources: Iterable[str], groups: Groups) -> Patterns:
    """A table of patterns ready to be searched for; a mistake in it is an error that names the pattern."""
    return Patterns(sources, groups)


def _begins(entry: _Entry, places: Places) -> list[int]:
    """Where a first word stands with an anchor not far after it."""
    firsts = _positions(entry.firsts, places)
    if not firsts or entry.anchor is None or entry.anchor == entry.firsts:
        return firsts
    anchors = sorted(_positions(entry.anchor, places))
    following = [(at, bisect_left(anchors, at)) for at in firsts]
    return [at for at, next_one in following if next_one < len(anchors) and anchors[next_one] - at <= _REACH]


def _positions(words: frozenset[str] | None, places: Places) -> list[int]:
    found: list[int] = []
    for word, positions in places.items():
        if words is None or word in words:
            found += positions
    return found


def _cost(words: frozenset[str]) -> int:
    """How often one of the words is to be expected."""
    return sum(_COMMON_COST if word in _common_words() else 1 for word in words)


@cache
def _common_words() -> frozenset[str]:
    table = tomllib.loads(files("agents.language").joinpath("matching.toml").read_text("utf-8"))
    return frozenset(table["common"].split())
