"""How a pattern can begin: the one word, or the two, that must stand in a text where it is to match.

An opening is a text of words with a space between, and whether it is closed: what follows may be anything. A space at
its end is the end of a word, one at its beginning the end of the word before. None stands for any opening at all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

DIGITS = "#"  # stands for any word that begins with a digit
Openings = frozenset[tuple[str, bool]] | None
Begins = Mapping[str, frozenset[str] | None]

NOTHING: Openings = frozenset({("", False)})
WORD_ENDS: Openings = frozenset({(" ", False)})
LAST: Openings = frozenset({(" ", True)})
NUMBER: Openings = frozenset({(f"{DIGITS} ", True)})

_MOST = 1500
_NUMBER = re.compile(rf"\d+{DIGITS}")  # digits before any digit are any digits


def letters(text: str) -> Openings:
    return frozenset({(text, False)})


@dataclass(frozen=True, eq=False)
class Piece:
    """A part of a pattern; one that is made of others is a choice of sequences. `is_space`: a word begins after it."""

    regex: str
    plain: Openings = None
    choices: tuple[Sequence[Piece], ...] = ()
    is_optional: bool = False
    is_space: bool = False
    _known: dict[int, Openings] = field(default_factory=dict, repr=False)

    def openings(self, words: int) -> Openings:
        """With so many words at most. A group's are asked for by every pattern that names it."""
        if words not in self._known:
            found = _either(self.choices, words) if self.choices else self.plain
            self._known[words] = found | {("", False)} if self.is_optional and found is not None else found
        return self._known[words]


def begins(pieces: Sequence[Piece], words: int = 2) -> Begins | None:
    """The first words of a sequence and what can follow each; an apostrophe's ending may or may not be part of them."""
    found: dict[str, set[str] | None] = {}
    for opening, _ in _openings(pieces, words, at_word=True) or {("", False)}:
        first, _, second = opening.partition(" ")
        if not first:
            return None
        seconds = found.setdefault(first, set())
        if not second:
            found[first] = None
        elif seconds is not None:
            seconds.add(second)
    return {first: None if seconds is None else frozenset(seconds) for first, seconds in found.items()}


def _openings(pieces: Sequence[Piece], words: int, *, at_word: bool = False) -> Openings:
    """How a sequence begins; `at_word` where a word begins, so that a space before any letter is none."""
    reached: Openings = NOTHING
    for piece in pieces:
        if reached is None or all(is_closed for _, is_closed in reached):
            break
        reached = _joined(reached, piece.openings(words), words)
        if at_word and reached:
            reached = frozenset((opening.lstrip(), is_closed) for opening, is_closed in reached)
    return reached


def _either(choices: Sequence[Sequence[Piece]], words: int) -> Openings:
    every: set[tuple[str, bool]] = set()
    for pieces in choices:
        openings = _openings(pieces, words)
        if openings is None:
            return None
        every |= openings
    return _cut(frozenset(every), 1) if len(every) > _MOST else frozenset(every)


def _joined(left: frozenset[tuple[str, bool]], right: Openings, words: int) -> Openings:
    """One after the other; only their first words where there are too many, or where nothing is known of the second."""
    if right is None or len(left) * len(right) > _MOST:
        left, right = _cut(left, 1), None if right is None else _cut(right, 1)
    done = frozenset(opening for opening in left if opening[1])
    going_on = left - done
    if going_on and (right is None or len(going_on) * len(right) > _MOST):
        return None
    return done | _cut({(one + more, is_closed) for one, _ in going_on for more, is_closed in right or ()}, words)


def _cut(openings: set[tuple[str, bool]] | frozenset[tuple[str, bool]], words: int) -> frozenset[tuple[str, bool]]:
    """No more than so many words of each, where the last of them has ended."""
    found = set()
    for opening, is_closed in openings:
        if " " in opening or DIGITS in opening:
            opening = _NUMBER.sub(DIGITS, opening.replace("  ", " "))
            parts = opening.split(" ")
            most = words + (parts[0] == "")  # a space before the first word
            if len(parts) > most:
                opening, is_closed = " ".join(parts[:most]), True
        found.add((opening, is_closed))
    return frozenset(found)
