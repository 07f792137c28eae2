"""The item as it is stated decides: what is counted may not be what the item asks for."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from agents.language.frequency import Frequency
from agents.scoring.amounts import Amount, a_night, cigarettes, drinks
from agents.scoring.answer import Answer
from agents.scoring.claim import OWN, PLAIN, Claim
from agents.scoring.parts import Part
from agents.scoring.stretches import Stretches, beginning_in
from agents.scoring.tables import ABSENT, EXPLAINED, NEEDED, UNEXPLAINED, label

_ENOUGH_DRINKS = 4
_SAID = (("four_or_more", _ENOUGH_DRINKS), ("few_drinks", _ENOUGH_DRINKS - 1))
_RITUALS = 17
_FEW = 2
_ROUGH_LIMIT = 14
_DRANK = re.compile(r"\b(?:had|drank|drunk|sank|downed|necked) (?:about |around |maybe )?$")
_REACH = 400  # characters

Rule = Callable[[list[Claim], Answer, Answer | None], list[Claim]]


def as_stated(claims: list[Claim], answer: Answer, earlier: Answer | None) -> list[Claim]:
    """The claims as far as they are about the item; `earlier` is the first answer, when this is a follow-up's."""
    rule = _RULES.get(answer.item)
    return rule(claims, answer, earlier) if rule else claims


def _all_that_is_named(claims: list[Claim], answer: Answer, earlier: Answer | None) -> list[Claim]:
    """Item 4: short nights without the energy, or energy after full nights, are not it."""
    against = any(c.kind == "denied" and c.weight == OWN and not c.is_rest for c in claims)
    if earlier and not any(c.part.value > 0 for c in claims):
        against = against or any(part.value < 0 for part in earlier.parts)
    if against:
        told = [_denial(c) if c.kind == "often" else c for c in claims]
        return told if any(part.is_left_open for part in answer.parts) else [c for c in told if c.kind == "denied"]
    answers = any(part.has("yes") or part.is_bare for part in answer.parts[:2])
    if earlier or answers or any(part.has(label(answer.item, NEEDED)) for part in answer.parts):
        return claims
    return [replace(c, kind="affirmed") if c.kind == "often" else c for c in claims]  # of energy nothing is said


def _unexplained(claims: list[Claim], answer: Answer, earlier: Answer | None) -> list[Claim]:
    """Item 9: a pain whose cause is known does not count; another one in the same answer may."""
    explained = label(answer.item, EXPLAINED)
    parts = [*answer.parts, *(earlier.parts if earlier else ())]
    known = [part for part in parts if part.has(explained) and not _is_puzzling(part)]
    if not known:
        return claims
    puzzling = {part.sentence for part in answer.parts if _is_puzzling(part)}
    if not puzzling and any(map(_is_puzzling, parts)):
        return claims
    return [_denial(c) if c.part.sentence not in puzzling and _is_told(c) else c for c in claims]


def _is_puzzling(part: Part) -> bool:
    """'Don't know what caused it.'"""
    return part.has(label(part.item, UNEXPLAINED)) and not part.is_turned


def _is_told(claim: Claim) -> bool:
    return claim.kind == "often" or (claim.kind == "affirmed" and claim.weight == OWN)


def _four_drinks(claims: list[Claim], answer: Answer, earlier: Answer | None) -> list[Claim]:
    """Item 21: days with fewer than four drinks do not count."""
    amounts = _drunk(answer)
    measured = Stretches(amounts)
    counts = any(c.kind == "often" and c.form != "bare" for c in claims)
    claims = [
        c
        for c in claims
        if c.form != "bare" or not (measured.touch(c.begins, c.begins + 1) or (counts and _is_drunk(c)))
    ]
    if amounts and max(a.value for a in amounts) < _ENOUGH_DRINKS and not any(map(_is_told, claims)):
        return [*claims, Claim(answer.parts[0], "denied", OWN)]
    if not amounts and earlier:
        amounts = _drunk(earlier)
    most = max((a.value for a in amounts), default=None)
    return [_denial(c) if _is_told(c) and _is_too_little(_nearest(c, answer, amounts, most)) else c for c in claims]


def only_few_drinks(answer: Answer) -> bool:
    """Whether every amount that is told is less than the item asks for."""
    amounts = _drunk(answer)
    return bool(amounts) and max(amount.value for amount in amounts) < _ENOUGH_DRINKS


def _is_drunk(claim: Claim) -> bool:
    """'Once, at the wedding, I had seven.'"""
    return bool(_DRANK.search(claim.part.text[: claim.begins - claim.part.start]))


def four_drinks_in(answer: Answer, part: Part) -> bool | None:
    """Whether the clause tells of four drinks or more; None where it tells no amount."""
    told = [a.value for a in _drunk(answer) if part.start <= a.start < part.end]
    return min(told) >= _ENOUGH_DRINKS if told else None


def _drunk(answer: Answer) -> list[Amount]:
    said = [(found, number) for name, number in _SAID for part in answer.parts for found in part.marks.get(name, [])]
    known = [*drinks(answer), *a_night(answer), *(Amount(found.start, found.end, number) for found, number in said)]
    return sorted(known, key=lambda amount: amount.start)


def _is_too_little(drinks_at_once: float | None) -> bool:
    return drinks_at_once is not None and drinks_at_once < _ENOUGH_DRINKS


def _nearest(claim: Claim, answer: Answer, amounts: list[Amount], most: float | None) -> float | None:
    """The nearest amount of the clause, else the largest of its sentence, else of the whole answer."""
    at = claim.begins
    near = beginning_in(amounts, max(claim.part.start, at - _REACH), min(claim.part.end, at + _REACH))
    if near:
        ends = claim.frequency.end if claim.frequency else at
        return min(near, key=lambda amount: max(at - amount.end, amount.start - ends)).value
    sentence = answer.sentence(claim.part)
    around = beginning_in(amounts, max(sentence[0].start, at - _REACH), min(sentence[-1].end, at + _REACH))
    return max((amount.value for amount in around), default=most)


def _cigarettes(claims: list[Claim], answer: Answer, _earlier: Answer | None) -> list[Claim]:
    """Item 22: one cigar, and no day named, is one day."""
    smoked = cigarettes(answer)
    if not smoked or any(c.kind == "vague" or (c.kind == "often" and _counts_already(c)) for c in claims):
        return claims
    first = smoked[0]
    part = max((p for p in answer.parts if p.start <= first.start), key=lambda p: p.start)
    kept = [c for c in claims if c.kind != "affirmed" and c.form != "dates"]
    if any(c.part is part and c.kind == "denied" for c in kept) or first.value > _ROUGH_LIMIT:
        return claims
    frequency = Frequency(first.start, first.end, first.value, "count" if first.value <= _FEW else "rough")
    return sorted([*kept, Claim(part, "often", OWN, first.value, frequency.grade, frequency)], key=lambda c: c.at)


def _counts_already(claim: Claim) -> bool:
    return claim.form != "dates" or claim.is_complement


def _not_as_prescribed(claims: list[Claim], answer: Answer, earlier: Answer | None) -> list[Claim]:
    """Item 23: what is taken as prescribed does not count, nor what no doctor need prescribe."""
    parts = [*(earlier.parts if earlier else ()), *answer.parts]
    kept = {part.sentence for part in answer.parts if _is_as_prescribed(part)}
    wholly = any(map(_is_as_prescribed, parts)) and not any(p.is_beyond or p.has("leftover", "rest") for p in parts)
    return [
        _denial(c)
        if c.kind == "often" and not c.part.is_beyond and (wholly or c.part.sentence in kept or _is_harmless(c.part))
        else c
        for c in claims
    ]


def _more_than_ordinary(claims: list[Claim], answer: Answer, _earlier: Answer | None) -> list[Claim]:
    """Item 17: what everybody does, or what one is paid for, may be no ritual at all: it is asked about."""
    ordinary = {part.sentence for part in answer.parts if part.has("ordinary")}
    return [replace(c, kind="affirmed") if c.kind == "often" and c.part.sentence in ordinary else c for c in claims]


def _is_as_prescribed(part: Part) -> bool:
    return part.value < 0 and not part.is_turned and part.has(label(part.item, ABSENT))


def _is_harmless(part: Part) -> bool:
    """'Vitamins every morning'; not 'coffee and a line of coke'."""
    return part.has("harmless") and part.value <= 0


def _denial(claim: Claim) -> Claim:
    return replace(claim, kind="denied", days=0.0, weight=max(claim.weight, PLAIN), is_rest=False, is_complement=False)


_RULES: dict[int, Rule] = {
    4: _all_that_is_named,
    9: _unexplained,
    _RITUALS: _more_than_ordinary,
    21: _four_drinks,
    22: _cigarettes,
    23: _not_as_prescribed,
}
AS_STATED = frozenset(_RULES) - {_RITUALS}
"""Items with a rule of their own by which what was counted may come to nothing."""
