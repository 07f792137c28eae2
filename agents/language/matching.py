"""Many patterns against one text.

A pattern is tried only in a clause that has the words it needs, and there only where two words stand that it can begin
with. So the time is proportional to the length of the text, and hardly depends on how many patterns there are.
"""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from operator import attrgetter

from agents.language.openings import DIGITS
from agents.language.patterns import BOUNDARY, Groups, Pattern, PatternParser

_TOKEN = re.compile(rf"[^\W_][\w']*|{BOUNDARY}")
_COMMON_COST = 25
_MOST_ROWS = 3  # of the sets of words that a pattern needs, the rarest; more find hardly anything
_PLACE = attrgetter("start", "end")


@dataclass(frozen=True, slots=True)
class Found:
    """What a scan finds: a label's pattern matches this stretch."""

    label: str
    start: int
    end: int


@dataclass(slots=True)
class _Token:
    """Where a word stands, and the names it goes by: one with an apostrophe also without its ending, one that begins
    with a digit also as `DIGITS`. `following` are those of the next word."""

    at: int
    names: tuple[str, ...]
    following: tuple[str, ...] = ()


@dataclass(slots=True)
class _Stretch:
    tokens: list[_Token]
    names: set[str]


class Words:
    """The words of a text, in all of it and clause by clause."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.clauses = [_Stretch([], set())]
        last: _Token | None = None
        for match in _TOKEN.finditer(text):
            word = match[0]
            clause = self.clauses[-1]
            if word == BOUNDARY:
                if clause.tokens:
                    self.clauses.append(_Stretch([], set()))
                continue
            token = _Token(match.start(), _names(word) if "'" in word or word[0].isdigit() else (word,))
            if last is not None:
                last.following = token.names
            clause.tokens.append(token)
            clause.names.update(token.names)
            last = token

    @cached_property
    def everywhere(self) -> _Stretch:
        if len(self.clauses) == 1:
            return self.clauses[0]
        return _Stretch(
            [t for clause in self.clauses for t in clause.tokens], set().union(*(c.names for c in self.clauses))
        )

    @property
    def first(self) -> int | None:
        """Where the first word begins."""
        return next((token.at for clause in self.clauses for token in clause.tokens), None)


def _names(word: str) -> tuple[str, ...]:
    names = (word, word.partition("'")[0]) if "'" in word else (word,)
    return (*names, DIGITS) if word[0].isdigit() else names


@dataclass(frozen=True, slots=True)
class _Entry:
    label: str
    pattern: Pattern


@dataclass(slots=True)
class _Beginning:
    """Patterns that can begin with a word, whatever follows it, and those that need one of certain words after it."""

    alone: int = 0
    before: dict[str, int] = field(default_factory=dict)


class _Index:
    """Entries, and for every word numbers whose bits tell what it is good for.

    In `_needed_for`, bit `row * len(entries) + n` stands for the set number `row` of those that entry `n` needs, so one
    "or" a word of the text and one "and" a row give all entries whose words are there. In the others, bit `n` is entry
    `n`.
    """

    def __init__(self, entries: list[_Entry]) -> None:
        self.entries = entries
        self._rows = min(max((len(entry.pattern.needed) for entry in entries), default=0), _MOST_ROWS)
        self._every = (1 << len(entries)) - 1
        self._needed_for, self._free = self._needs()
        self._anywhere = _number([n for n, entry in enumerate(entries) if entry.pattern.begins is None])
        self._beginnings = self._by_beginning()

    def _needs(self) -> tuple[dict[str, int], int]:
        bits: defaultdict[str, list[int]] = defaultdict(list)
        free, count = [], len(self.entries)
        for n, entry in enumerate(self.entries):
            needed = sorted(entry.pattern.needed, key=_cost)[: self._rows]
            for row, words in enumerate(needed):
                for word in words:
                    bits[word].append(row * count + n)
            free += [row * count + n for row in range(len(needed), self._rows)]
        return {word: _number(places) for word, places in bits.items()}, _number(free)

    def _by_beginning(self) -> dict[str, _Beginning]:
        found: defaultdict[str, _Beginning] = defaultdict(_Beginning)
        for n, entry in enumerate(self.entries):
            for first, seconds in (entry.pattern.begins or {}).items():
                beginning = found[first]
                if seconds is None:
                    beginning.alone |= 1 << n
                for second in seconds or ():
                    beginning.before[second] = beginning.before.get(second, 0) | 1 << n
        return dict(found)

    def complete(self, names: Iterable[str]) -> int:
        """The entries all of whose needed words are there."""
        met, needed_for = self._free, self._needed_for
        for word in names:
            if word in needed_for:
                met |= needed_for[word]
        left, count = self._every, len(self.entries)
        for _ in range(self._rows):
            left &= met
            met >>= count
        return left

    def match(self, text: str, stretch: _Stretch, seen: dict[tuple[str, int], Found]) -> None:
        """Add what matches to `seen`, for each place in the order of the tables."""
        complete = self.complete(stretch.names)
        if not complete:
            return
        anywhere, beginnings = self._anywhere & complete, self._beginnings
        for token in stretch.tokens:
            left = anywhere
            for name in token.names:
                if beginning := beginnings.get(name):
                    left |= beginning.alone & complete
                    for following in token.following:
                        if following in beginning.before:
                            left |= beginning.before[following] & complete
            while left:
                lowest = left & -left
                left ^= lowest
                entry = self.entries[lowest.bit_length() - 1]
                place = entry.label, token.at
                if place not in seen and (match := entry.pattern.regex.match(text, token.at)):
                    seen[place] = Found(*place, match.end())


def _number(bits: list[int]) -> int:
    held = bytearray(max(bits, default=0) // 8 + 1)
    for bit in bits:
        held[bit // 8] |= 1 << bit % 8
    return int.from_bytes(held, "little")


class Scanner:
    """Labelled patterns, all looked for at once."""

    def __init__(self, tables: Mapping[str, Iterable[str]], groups: Groups) -> None:
        parser = PatternParser(groups)
        self._build([_Entry(label, found) for label, sources in tables.items() for found in parser.patterns(sources)])

    @classmethod
    def joined(cls, *scanners: Scanner) -> Scanner:
        """One that finds what each of them does, in one go."""
        joined = cls({}, {})
        joined._build([entry for scanner in scanners for entry in scanner.entries])
        return joined

    @property
    def entries(self) -> list[_Entry]:
        return self._all.entries

    def _build(self, entries: list[_Entry]) -> None:
        self._all = _Index(entries)
        self._within = _Index([entry for entry in entries if not entry.pattern.crosses])
        self._across = _Index([entry for entry in entries if entry.pattern.crosses])

    def compile(self) -> None:
        """Compile every pattern now, so that nobody waits for one later and a malformed one is found."""
        for entry in self.entries:
            _ = entry.pattern.regex

    def may_match(self, words: Words) -> bool:
        """Whether any pattern has the words it needs."""
        return bool(self._all.complete(words.everywhere.names))

    def scan(self, words: Words) -> list[Found]:
        """Every place where a pattern matches, at most one match of a label at each, in order of place."""
        seen: dict[tuple[str, int], Found] = {}
        if len(words.clauses) == 1:
            self._all.match(words.text, words.everywhere, seen)
        else:
            for clause in words.clauses:
                self._within.match(words.text, clause, seen)
            if self._across.entries:
                self._across.match(words.text, words.everywhere, seen)
        return sorted(seen.values(), key=_PLACE) if len(seen) > 1 else list(seen.values())


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
        return first if first and words.first == first.start else None


def _as_words(text: str | Words) -> Words:
    return Words(text) if isinstance(text, str) else text


def compile_patterns(sources: Iterable[str], groups: Groups) -> Patterns:
    """A table of patterns ready to be searched for; a mistake in it is an error that names the pattern."""
    return Patterns(sources, groups)


def _cost(words: frozenset[str]) -> int:
    """How often one of the words is to be expected."""
    return sum(_COMMON_COST if word in _common_words() else 1 for word in words)


@cache
def _common_words() -> frozenset[str]:
    table = tomllib.loads(files("agents.language").joinpath("matching.toml").read_text("utf-8"))
    return frozenset(table["common"].split())
