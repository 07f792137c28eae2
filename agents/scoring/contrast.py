"""Some days were one way and the rest another: 'one day it did not hurt, all the others it did' counts thirteen."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agents.language.frequency import WINDOW_DAYS, Frequency
from agents.scoring.answer import Answer
from agents.scoring.claim import OWN, Claim, is_definite
from agents.scoring.combine import ADDED, Count
from agents.scoring.counting import is_free
from agents.scoring.items import four_drinks_in
from agents.scoring.parts import Part, Sign
from agents.scoring.scope import Scopes
from agents.scoring.stating import says_plainly_no

_NO_COUNT = (
    "no_day",
    "universal",
    "severity",
    "scale",
    "per_day",
    "one_week",
    "weekdays",
    "weekend",
    "others",
    "rate",
    "exception",
)
_EXCEPTS = re.compile(r"(?:every|each|all|always)\b")  # "all but one" has both sides in it
_PURPOSE = ("so ", "because ", "since ", "cos ", "if ", "as ")
_FEW = 3  # days
_NEAR = 2  # sentences
_DRINKS = 21


@dataclass(frozen=True)
class Leaning:
    """For or against the item; `is_sure` in its own words."""

    sign: Sign = 0
    is_sure: bool = False


@dataclass(frozen=True)
class Contrast:
    count: Count
    is_sure: bool


@dataclass(frozen=True)
class _Side:
    """A number of days, and what was said of them."""

    part: Part
    days: float
    leaning: Leaning
    frequency: Frequency | None = None
    is_counted: bool = True
    """Not only what is left of the fourteen days."""


def contrasted(answer: Answer, scopes: Scopes) -> Contrast | None:
    """What two sides that make up the fourteen days come to; None where there are no two, or they do not differ."""
    sides = _counted_and_rest(answer, scopes) or _both_counted(answer, scopes) or _in_one_clause(answer, scopes)
    if sides is None:
        return None
    some, rest = sides
    decides = _decisive(some.leaning, rest.leaning)
    if decides is None:
        return None
    chosen = some if (decides is some.leaning) == (decides.sign > 0) else rest
    claim = Claim(chosen.part, "often", OWN, chosen.days, "count", chosen.frequency)
    told = Claim(some.part, "often", OWN, chosen.days, "count", some.frequency)
    adds_up = some.is_counted and rest.is_counted and some.days + rest.days == WINDOW_DAYS
    return Contrast(Count(chosen.days, "count", (told, claim)), decides.is_sure or adds_up)


def _decisive(some: Leaning, rest: Leaning) -> Leaning | None:
    """What is said in the item's own words, of either side, says the opposite of the other."""
    if some.is_sure and rest.is_sure:
        return some if some.sign != rest.sign else None
    if some.is_sure or rest.is_sure:
        return some if some.is_sure else rest
    if some.sign == rest.sign:
        return None
    return some if some.sign else rest


def _counted_and_rest(answer: Answer, scopes: Scopes) -> tuple[_Side, _Side] | None:
    rest = next((p for p in answer.parts if p.index and _is_rest(p) and scopes.is_relevant(p)), None)
    if rest is None or answer.reading.text[: rest.start].rstrip().endswith(" or"):  # "explained or otherwise"
        return None
    counts = [
        (p, f) for p, f in _counts(answer, scopes) if p.index < rest.index and rest.sentence - p.sentence <= _NEAR
    ]
    if not counts or sum(f.form in ADDED for _, f in counts) > 1:
        return None
    part, count = counts[-1]
    if not rest.has("leftover") and count.days > _FEW:
        return None
    left = _said_of_rest(answer, part, rest)
    others = [f.days for f in rest.frequencies if f.form in ("others", "count", "bare") and is_definite(f)]
    days = others[0] if others else WINDOW_DAYS - count.days
    some = _of_some(answer, answer.parts[part.index : left[0].index], count, scopes)
    return _Side(part, count.days, some, count), _Side(
        rest, days, _leaning(answer, left, scopes), is_counted=bool(others)
    )


def _is_rest(part: Part) -> bool:
    return part.has("leftover", "every_other")


def _said_of_rest(answer: Answer, counted: Part, rest: Part) -> list[Part]:
    """'The rest I was fine', or 'I was fine | otherwise'."""
    sentence = answer.sentence(rest)
    if rest is not sentence[-1] or not rest.is_bare or says_plainly_no(rest):
        return [part for part in sentence if part.index >= rest.index]
    before = [part for part in sentence if counted.index < part.index < rest.index]
    return before[-1:] or [rest]


def _both_counted(answer: Answer, scopes: Scopes) -> tuple[_Side, _Side] | None:
    """'Twelve days in a dream. Two days I was right.'"""
    counts = _counts(answer, scopes)
    if len(counts) != 2 or counts[0][0] is counts[1][0] or sum(f.days for _, f in counts) != WINDOW_DAYS:
        return None
    (first, some), (second, rest) = counts
    before = answer.parts[first.index : second.index]
    after = [part for part in answer.sentence(second) if part.index >= second.index]
    return (
        _Side(first, some.days, _of_some(answer, before, some, scopes), some),
        _Side(second, rest.days, _of_some(answer, after, rest, scopes), rest),
    )


def _in_one_clause(answer: Answer, scopes: Scopes) -> tuple[_Side, _Side] | None:
    """'Calm for two days and anxious for the remainder'."""
    for part, count in _counts(answer, scopes):
        left = [found for found in part.found("leftover") if found.start >= count.end]
        if left and len(part.matters) > 1:
            some, rest = (Leaning(part.value_near(place), is_sure=True) for place in (count, left[0]))
            return _Side(part, count.days, some, count), _Side(part, WINDOW_DAYS - count.days, rest, count)
    return None


def _counts(answer: Answer, scopes: Scopes) -> list[tuple[Part, Frequency]]:
    """Whole days in numbers; a date or a number alone may only name them again."""
    found: list[tuple[Part, Frequency]] = []
    for part in answer.parts:
        for frequency in part.frequencies if scopes.is_relevant(part) else ():
            again = bool(found) and _names_again(frequency, found[-1][1])
            excepts = _EXCEPTS.match(answer.reading.text, frequency.start)
            if _counts_some(frequency) and not again and not excepts:
                found.append((part, frequency))
    found = [pair for pair in found if pair[1].unit == "day"] or found
    return [pair for pair in found if pair[1].form != "bare"] or found


def _names_again(frequency: Frequency, before: Frequency) -> bool:
    """'One day, the Saturday. One.'"""
    return frequency.days == before.days and before.form not in ADDED


def _counts_some(frequency: Frequency) -> bool:
    exact = frequency.grade == "count" and is_definite(frequency) and frequency.form not in _NO_COUNT
    return exact and 0 < frequency.days < WINDOW_DAYS and frequency.week is None


def _of_some(answer: Answer, parts: Sequence[Part], count: Frequency, scopes: Scopes) -> Leaning:
    """Of the days that were counted a mere 'no' says nothing: 'four evenings they asked, and I said no'."""
    if is_free(parts[0], count):
        return Leaning(-1, is_sure=True)
    found = _leaning(answer, [part for part in parts if not part.begins_with(*_PURPOSE)], scopes)
    return found if found.is_sure else Leaning()


def _leaning(answer: Answer, parts: Sequence[Part], scopes: Scopes) -> Leaning:
    """The first of some clauses that says anything; in the item's own words before any other."""
    told = [_of_one(answer, part) for part in parts if scopes.is_relevant(part)]
    sure = [leaning for leaning in told if leaning.is_sure]
    return next((leaning for leaning in [*sure, *told] if leaning.sign), Leaning())


def _of_one(answer: Answer, part: Part) -> Leaning:
    enough = four_drinks_in(answer, part) if part.item == _DRINKS else None
    if enough is not None:
        return Leaning(1 if enough else -1, is_sure=True)
    if part.matters:
        return Leaning(part.value, is_sure=True)
    if part.has("fine", "quit"):
        return Leaning(1 if part.is_turned else -1, is_sure=True)
    if part.has("relief"):
        return Leaning(1 if part.is_turned else -1, is_sure=True)
    if part.has("lasting", "bad"):
        return Leaning(1)
    return Leaning(-1) if part.is_bare and says_plainly_no(part) else Leaning()
