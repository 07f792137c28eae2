"""Many patterns against one text: each is tried only where one of its first words stands, and only if the words it needs
occur at all. The time is proportional to the length of the text, and hardly depends on how many patterns there are."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass

from agents.language.patterns import DIGITS, Groups, Pattern, parse_patterns

_TOKEN = re.compile(r"[^\W_][\w']*")
_COMMON_COST = 25
_COMMON = frozenset(
    "a about all and any are as at be been but by can day days do don't feel for from get go going got had have he her "
    "him his i i'd i'll i'm i've if in is it it's just like me more most my no not now of on or out over she so some that "
    "the them then there they think this time to up want was way we week well when will with would you your".split()
)


@dataclass(frozen=True)
class Found:
    """What a scan finds: a label's pattern matches this stretch."""

    label: str
    start: int
    end: int


class Words:
    """Where each word of a stretch of text stands. Words with an apostrophe also count without their ending."""

    def __init__(self, text: str, start: int = 0, end: int | None = None) -> None:
        self.text = text
        self.end = len(text) if end is None else end
        self.places: dict[str, list[int]] = {}
        self.begins: list[int] = []
        for match in _TOKEN.finditer(text, start, self.end):
            word, at = match[0], match.start()
            self.begins.append(at)
            self.places.setdefault(word, []).append(at)
            if word[0].isdigit():
                self.places.setdefault(DIGITS, []).append(at)
            if "'" in word:
                self.places.setdefault(word.partition("'")[0], []).append(at)


class Scanner:
    """Labelled patterns in one index."""

    def __init__(self, tables: Mapping[str, Iterable[str]], groups: Groups) -> None:
        self._entries: list[tuple[str, Pattern]] = []
        self._by_anchor: defaultdict[str, list[int]] = defaultdict(list)
        self._anywhere: list[int] = []
        for label, sources in tables.items():
            for pattern in parse_patterns(sources, groups):
                self._add(label, pattern)

    def _add(self, label: str, pattern: Pattern) -> None:
        number = len(self._entries)
        self._entries.append((label, pattern))
        anchor = min(pattern.needed, key=_cost, default=None)
        if anchor is None:
            self._anywhere.append(number)
            return
        for word in anchor:
            self._by_anchor[word].append(number)

    def scan(self, words: Words) -> list[Found]:
        """Every place where a pattern matches, at most one match of a label at each, in order of place."""
        seen: dict[tuple[str, int], Found] = {}
        for number in self._candidates(words):
            label, pattern = self._entries[number]
            for at in _places(pattern, words):
                if (label, at) not in seen and (match := pattern.regex.match(words.text, at, words.end)):
                    seen[label, at] = Found(label, at, match.end())
        return sorted(seen.values(), key=lambda found: (found.start, found.end))

    def _candidates(self, words: Words) -> list[int]:
        """The patterns all of whose needed words are there, in the order of the tables."""
        present = words.places.keys()
        chosen = set(self._anywhere)
        for word in present & self._by_anchor.keys():
            chosen.update(self._by_anchor[word])
        return [number for number in sorted(chosen) if _is_possible(self._entries[number][1], present)]


class Patterns:
    """One table of patterns, with the interface of a compiled expression."""

    def __init__(self, sources: Iterable[str], groups: Groups) -> None:
        self._scanner = Scanner({"": sources}, groups)

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


def _is_possible(pattern: Pattern, present: Set[str]) -> bool:
    for needed in pattern.needed:  # noqa: SIM110  # a plain loop is twice as fast here, and this is where the time goes
        if needed.isdisjoint(present):
            return False
    return True


def _places(pattern: Pattern, words: Words) -> list[int]:
    if pattern.firsts is None:
        return words.begins
    found: list[int] = []
    for word in words.places.keys() & pattern.firsts:
        found += words.places[word]
    return found


def _cost(words: frozenset[str]) -> int:
    """How often one of the words is to be expected."""
    return sum(_COMMON_COST if word in _COMMON else 1 for word in words)
