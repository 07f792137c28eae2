"""Several counts in one answer: which of them counts, or what they make together."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from agents.language.frequency import WINDOW_DAYS
from agents.language.tagging import Grade
from agents.scoring.answer import Answer
from agents.scoring.claim import Claim
from agents.scoring.parts import Part
from agents.scoring.scope import Scopes

ADDED = ("dates", "weekly")
"""Forms that add up: 'on Monday … and again on Friday'."""
_PRECISION: dict[Grade, int] = {"count": 3, "anchor": 2, "word": 2, "rough": 1, "vague": 0}
_UNIVERSAL = 13
_SINCE = re.compile(r"\W*since(?: then)?\W*$")
_BOTH_WEEKS = re.compile(r"\W*(?:in )?(?:both|each|every) weeks?\W*")
_AND = re.compile(
    r"[\s,]*\b(?:and then|and also|and|then|plus|as well as)\s+"
    r"(?:(?:another|a further|the|on|for|about|maybe|some)\s+)*"
)
_WHOLE_WEEKS = {"weekdays", "weekend"}
_SINCE_A_DATE = 5.0  # days from a weekday to today


@dataclass(frozen=True)
class Count:
    """So many days, how exactly that was said, and in which claims."""

    days: float
    grade: Grade
    claims: tuple[Claim, ...]


@dataclass(frozen=True)
class Counts:
    """`counted` are all counts of the answer, `complements` those of the days without it."""

    answer: Answer
    scopes: Scopes
    counted: list[Claim]
    complements: list[Claim]

    def of(self, often: list[Claim]) -> Count:
        """What some of the counts come to."""
        by_week = _by_week(often)
        if len(by_week) > 1 and by_week[-1] is often[-1]:  # "twice last week, once the week before"
            days = min(sum(map(_in_one_week, by_week)), WINDOW_DAYS)
            return Count(days, by_week[-1].grade, tuple(by_week))
        joined = joined_in(self.answer, often)
        if joined:  # "the whole first week and then three days"
            return Count(min(sum(map(_in_one_week, joined)), WINDOW_DAYS), joined[-1].grade, tuple(joined))
        dates = [c for c in often if c.form in ADDED]
        dated = {c.at for c in dates} if len(dates) > 1 else set()
        until = _last_day_count(dates)
        others = [c for c in often if c.form not in ADDED and c.at not in dated and not _is_per_day(c, until)]
        count = self._one_of(others) if others else self._added(dates)
        return self._on_one_day(count)

    def _added(self, dates: list[Claim]) -> Count:
        near = {c.part.sentence for c in dates}
        known = set(map(id, dates))
        also = [c for c in self.counted if c.form in ADDED and id(c) not in known and c.part.sentence in near]
        added = sorted([*dates, *also], key=lambda claim: claim.begins)
        days = sum(2 * c.days if self._is_weekly(c) else c.days for c in added)
        return Count(min(days, WINDOW_DAYS), added[-1].grade, tuple(added))

    def _is_weekly(self, claim: Claim) -> bool:
        """'Saturday and Sunday nights I lie awake, both weeks'."""
        after = [part for part in self.answer.sentence(claim.part) if part.index > claim.at]
        return claim.form == "dates" and any(_BOTH_WEEKS.fullmatch(part.text) for part in after)

    def _one_of(self, often: list[Claim]) -> Count:
        until = _last_day_count(often)
        last = _last_and_most_exact([c for c in often if not _is_per_day(c, until)])
        lasting = [c for c in often if c.form == "duration" and c.part.is_bare and c.part.has("limit")]
        if lasting:  # "the last four days only"
            return Count(lasting[-1].days, lasting[-1].grade, (lasting[-1],))
        if last in _by_week(often):
            return Count(_in_one_week(last), last.grade, (last,))
        return self._less_exceptions(last)

    def _less_exceptions(self, claim: Claim) -> Count:
        """'One day off from it, otherwise the entire two weeks'; 'it began ten days ago, and each day since'."""
        if claim.days < _UNIVERSAL:
            return Count(claim.days, claim.grade, (claim,))
        near = [c for c in self.complements if abs(c.part.sentence - claim.part.sentence) <= 1]
        near += [c for c in self.counted if c.form == "exception" and c.part.sentence == claim.part.sentence]
        if near:
            return Count(near[-1].days, "count", (claim, near[-1]))
        begun = days_since(self.answer, claim.part)
        return Count(claim.days if begun is None else min(claim.days, begun), claim.grade, (claim,))

    def _on_one_day(self, count: Count) -> Count:
        """'Three attacks, all in the same night'."""
        if count.days <= 1 or any(claim.counts_days for claim in count.claims):
            return count
        same_day = any(part.has("one_day") and self.scopes.is_relevant(part) for part in self.answer.parts)
        return Count(1.0, count.grade, count.claims) if same_day else count


def joined_in(answer: Answer, often: list[Claim]) -> list[Claim]:
    """Two counts with no more than 'and' between them, of which the first is of some days only: they add up."""
    for first, second in pairwise(often):
        if first.frequency is None or second.frequency is None or second is not often[-1]:
            continue
        between = answer.reading.text[first.frequency.end : second.frequency.start]
        if _AND.fullmatch(between) and (first.form == "one_week" or {first.form, second.form} == _WHOLE_WEEKS):
            return [first, second]
    return []


def days_since(answer: Answer, part: Part) -> float | None:
    """How long ago it began: 'six days ago … every day since'; 'since Friday, constantly'."""
    sentence = answer.sentence(part)
    told = [f for other in sentence for f in other.frequencies]
    goes_on = any("since" in other.text for other in sentence)
    if goes_on and sentence[0].index:  # "Fine up to five days ago. Since then, every day."
        earlier = answer.sentence(answer.parts[sentence[0].index - 1])
        told += [f for other in earlier for f in other.frequencies if f.form == "ago"]
    found = [f.days for f in told if f.form in ("ago", "duration") and not f.negated]
    if found or not any(_SINCE.match(other.text) for other in sentence[1:]):
        return min(found, default=None)
    dated = any(f.form == "dates" for f in told)
    return _SINCE_A_DATE if dated else None


def _by_week(often: list[Claim]) -> list[Claim]:
    """The last count of each week."""
    return list({c.frequency.week: c for c in often if c.frequency and c.frequency.week}.values())


def _last_and_most_exact(often: list[Claim]) -> Claim:
    """The last word counts, unless an earlier one was surer or more exact."""
    chosen = often[-1]
    for claim in reversed(often[:-1]):
        surer = claim.weight > chosen.weight
        more_exact = claim.weight == chosen.weight and _PRECISION[claim.grade] > _PRECISION[chosen.grade]
        amount = chosen.form == "bare" and claim.form == "per_day" and claim.part.sentence == chosen.part.sentence
        if surer or more_exact or amount:  # "a packet a day, sometimes two"
            chosen = claim
    return chosen


def _last_day_count(often: list[Claim]) -> int:
    """The number of the last sentence that counts days; -2 for none."""
    return max((c.part.sentence for c in often if c.counts_days), default=-2)


def _is_per_day(claim: Claim, last_day_count: int) -> bool:
    """So many times on each of the days that the answer counts in this sentence, the one before or a later one."""
    return claim.frequency is not None and not claim.counts_days and last_day_count + 1 >= claim.part.sentence


def _in_one_week(claim: Claim) -> float:
    return claim.days / 2 if claim.form == "universal" else claim.days
