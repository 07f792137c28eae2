"""Slips of the finger: a word nobody knows that is one letter away from one that a table needs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from agents.language.readable import everyday_words
from agents.language.spelling import Changes

_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?")
_SHORTEST = 4
_LONG = 7
_VOWELS = "aeiouy"
# Misspellings so common that the list of everyday words holds them.
_FREQUENT = {"evry": "every", "sevral": "several", "teh": "the"}


class Speller:
    """Mends words towards a vocabulary; what is an everyday word is left alone, and so is the first letter."""

    def __init__(self, vocabulary: Iterable[str], also_known: Iterable[str] = ()) -> None:
        words = frozenset(vocabulary)
        self._known = everyday_words() | words | frozenset(also_known)
        self._near: dict[str, set[str]] = {}
        for word in sorted(words):
            if len(word) >= _SHORTEST and word.isalpha():
                for shortened in _shortened(word):
                    self._near.setdefault(shortened, set()).add(word)
        self._mended = lru_cache(maxsize=4096)(self._look_up)

    def changes(self, text: str) -> Changes:
        found: Changes = []
        for match in _WORD.finditer(text):
            word = match[0]
            if word in _FREQUENT:
                found.append((*match.span(), _FREQUENT[word]))
            elif len(word) >= _SHORTEST and not self._knows(word) and (mended := self._mended(word)):
                found.append((*match.span(), mended))
        return found

    def _knows(self, word: str) -> bool:
        known = self._known
        return word in known or (word[-1] == "s" and word[:-1] in known) or (word[-2:] == "ed" and word[:-2] in known)

    def _look_up(self, word: str) -> str | None:
        near = {candidate for shortened in _shortened(word) for candidate in self._near.get(shortened, ())}
        fitting = [candidate for candidate in near if candidate[0] == word[0] and _one_slip(word, candidate)]
        return min(fitting, key=lambda candidate: (abs(len(candidate) - len(word)), candidate), default=None)


def _shortened(word: str) -> set[str]:
    return {word, *(word[:at] + word[at + 1 :] for at in range(len(word)))}


def _one_slip(typed: str, meant: str) -> bool:
    """One letter lost, added, changed, or swapped with its neighbour."""
    if len(typed) != len(meant):
        if len(typed) <= _SHORTEST:
            return False
        longer, shorter = sorted((typed, meant), key=len, reverse=True)
        return len(longer) - len(shorter) == 1 and shorter in _shortened(longer)
    wrong = [at for at, (a, b) in enumerate(zip(typed, meant, strict=True)) if a != b]
    if len(wrong) == 1:
        at = wrong[0]  # among short words too many are one letter apart
        return len(typed) >= _LONG or (len(typed) > _SHORTEST and typed[at] in _VOWELS and meant[at] in _VOWELS)
    swapped = len(wrong) == 2 and wrong[1] == wrong[0] + 1
    return swapped and typed[wrong[0]] == meant[wrong[1]] and typed[wrong[1]] == meant[wrong[0]]
