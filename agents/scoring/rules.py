"""The rules engine of the scorer: reading, clauses, claims, days of fourteen, score."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from agents.replies import gives_orders
from agents.scoring.answer import Answer, take_apart
from agents.scoring.claim import PLAIN, Claim, Kind
from agents.scoring.claims import claims
from agents.scoring.contract import AnswerToScore, ItemScore
from agents.scoring.evidence import quotes
from agents.scoring.items import as_stated
from agents.scoring.scale import CLEAR_UNTIL, SCALE_DAYS, score_of
from agents.scoring.scope import scopes
from agents.scoring.second import with_second_opinion
from agents.scoring.weigh import Finding, Weighing

_FEW_WORDS = 8
_DIFFERENT = (2, 3, 4)  # as days they are 1, 2 and 2
_NUMBERS = frozenset(("0", "1", "2", "3", "4", "zero", "one", "two", "three", "four"))
_BRACES = frozenset("{}")
_ASKS_FOR_DAYS = re.compile(r"how many|number of (?:days|nights|times)|which days|how much of|count", re.I)


@dataclass(frozen=True)
class Read:
    """A text with what was found in it."""

    answer: Answer
    finding: Finding

    @property
    def is_clear(self) -> bool:
        return self.finding.ambiguity <= CLEAR_UNTIL


def score_by_rules(answer: AnswerToScore) -> ItemScore:
    """The follow-up asked for how often, so where it tells, it decides; what the first answer said still stands."""
    first = read_answer(answer.item, answer.question, answer.answer)
    if answer.follow_up_answer is None:
        return _item_score(first.finding, first, None)
    second = read_answer(answer.item, answer.follow_up_question or "how many", answer.follow_up_answer, first.answer)
    return _both(first, second)


def read_answer(item: int, question: str, text: str, earlier: Answer | None = None) -> Read:
    """What the rules find, and what the second reader makes of it."""
    read = read_by_rules(item, question, text, earlier)
    finding = with_second_opinion(read.answer, read.finding)
    is_of_two_scales = not earlier and _ASKS_FOR_DAYS.search(question) and _may_be_on_the_scale(read)
    if is_of_two_scales or _is_injected(read.answer) or gives_orders(text):
        finding = replace(finding, ambiguity=max(finding.ambiguity, CLEAR_UNTIL + 1))
    return replace(read, finding=finding)


def _is_injected(answer: Answer) -> bool:
    """'SYSTEM: the patient answered …': what speaks as the program, or for the patient, is nobody's clear answer."""
    role = any(part.ending == ":" and part.has("role") for part in answer.parts)
    return role or any(part.has("injected") for part in answer.parts) or _BRACES.issubset(answer.reading.original)


def read_by_rules(item: int, question: str, text: str, earlier: Answer | None = None) -> Read:
    answer = take_apart(text, item)
    scope = scopes(answer)
    on_scale = not earlier and not _ASKS_FOR_DAYS.search(question)
    found = _on_the_scale(claims(answer, scope), answer, on_scale)
    if earlier:  # it was asked how often
        found = [replace(c, weight=max(c.weight, PLAIN)) if c.kind == "often" else c for c in found]
    return Read(answer, Weighing(answer, as_stated(found, answer, earlier), scope).finding())


def _may_be_on_the_scale(read: Read) -> bool:
    """'3' to how many days: three days, or the 3 of the scale that was explained. Asked again, it is days."""
    often = [claim for claim in read.finding.claims if claim.kind == "often"]
    numbers = [claim.frequency.days for claim in often if claim.form == "bare" and claim.frequency]
    return _is_number_alone(read.answer) and len(numbers) == len(often) > 0 and all(n in _DIFFERENT for n in numbers)


def _is_number_alone(answer: Answer) -> bool:
    return all(part.is_bare for part in answer.parts) and len(answer.tokens) <= _FEW_WORDS


def _on_the_scale(found: list[Claim], answer: Answer, bare_is_scale: bool) -> list[Claim]:
    """A number alone answers on the scale that the introduction explained, unless the question asked for days."""
    often = [c for c in found if c.kind == "often"]
    named = any(part.has("scale") for part in answer.parts)
    alone = all(c.form == "bare" for c in often) and (named or (bare_is_scale and _is_number_alone(answer)))
    return [_scaled(c) if c.form == "scale" or (alone and _is_one_number(c, answer)) else c for c in found]


def _is_one_number(claim: Claim, answer: Answer) -> bool:
    """'2', 'two'; not 'a couple', nor 'two or three', which are days."""
    if claim.frequency is None or claim.form != "bare" or claim.grade != "count":
        return False
    return answer.reading.text[claim.frequency.start : claim.frequency.end].strip() in _NUMBERS


def _scaled(claim: Claim) -> Claim:
    number = claim.frequency.days if claim.frequency else claim.days
    if not number.is_integer() or number >= len(SCALE_DAYS):
        return claim
    kind: Kind = "often" if number else "denied"
    return replace(claim, kind=kind, days=SCALE_DAYS[int(number)], grade="anchor", is_complement=False)


def _both(first: Read, second: Read) -> ItemScore:
    if second.is_clear:
        return _item_score(second.finding, second, first)
    if first.is_clear:
        return _item_score(replace(first.finding, ambiguity=CLEAR_UNTIL), first, None)
    by_clarity = sorted((second, first), key=lambda read: read.finding.ambiguity)
    return _item_score(by_clarity[0].finding, by_clarity[0], None)


def _item_score(finding: Finding, read: Read, other: Read | None) -> ItemScore:
    score = score_of(finding)
    evidence = quotes(finding, read.answer)
    if other and score:
        evidence += quotes(other.finding, other.answer)
    return ItemScore.model_validate(
        {
            "score": score,
            "ambiguity": finding.ambiguity,
            "evidence_quotes": tuple(dict.fromkeys(evidence)),
            "confidence": round(1 - finding.ambiguity / 10, 2),
        }
    )
