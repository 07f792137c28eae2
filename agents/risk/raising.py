"""What cues add up to: a wish with the means at hand, an attempt with the wish still there, 'yes' with 'tonight'."""

from __future__ import annotations

from dataclasses import replace

from agents.language import Found
from agents.risk.message import Hit, Message, Sentence
from agents.risk.modifiers import is_denied_answer, lowered
from agents.risk.tables import Concern, Cue, answers

ITEM_CONCERNS: dict[int, Concern] = {11: "self_harm", 21: "substance", 23: "substance"}
_SIDES: tuple[tuple[Concern, tuple[Concern, ...]], ...] = (
    ("self", ("suicide", "self_harm", "voices")),
    ("other", ("violence", "voices")),
)
_DENIAL_WITHIN = 4  # words of a clause
_TOUCHING = 30  # how far a refused promise may stand from what is not promised


def answered(message: Message, item: int) -> list[Hit]:
    """An elliptical answer inherits the question."""
    if item not in ITEM_CONCERNS:
        return []
    affirmed = denied = None
    for sentence in message.sentences:
        affirmed = affirmed or _affirmation(sentence, item)
        denied = denied or _denial(sentence)
        if denied and not affirmed:
            return []
    if not affirmed or (denied and item != 11):
        return []
    if item != 11 and any(answers()["harmless"].search(sentence.plain) for sentence in message.sentences):
        return []
    return [affirmed]


def _affirmation(sentence: Sentence, item: int) -> Hit | None:
    if sentence.has("asked"):
        return None
    cue = Cue(f"item-{item}", ITEM_CONCERNS[item], "flag")
    denied = _denial(sentence)
    for found in answers()["affirmed"].finditer(sentence.words):
        hit = Hit(cue, found.start, found.end, sentence, "flag")
        if denied and denied.start <= found.start:
            return None
        if not sentence.marks("negators", hit.clause.start, found.start):
            return hit
    return None


def _denial(sentence: Sentence) -> Found | None:
    """A denial is said at the beginning of a clause: 'As I said, not once'. A quoted or a later word is none."""
    for found in answers()["denied"].finditer(sentence.words):
        clause = sentence.clauses[sentence.clause_index(found.start)]
        before = sentence.text[clause.start : found.start]
        if len(before.split()) <= _DENIAL_WITHIN and not before.endswith('"'):
            return found
    return None


def raised(message: Message, hits: list[Hit], item: int) -> list[Hit]:
    """The stops that no single cue makes. Words of safety after them hold them back, but not a refusal to promise."""
    found = _recent_attempts(hits) + _dated_yes(message, hits, item)
    asked = item == 11 and bool(message.sentences) and not is_denied_answer(message.sentences[0])
    for side, concerns in _SIDES:
        company = [h for h in hits if h.cue.concern in concerns and (h.affirmed or _is_core(h))]
        if company or (side == "self" and asked):
            found += _added_up(message, side, company, asked=asked and side == "self")
    found = [hit for hit in found if message.safe_until < hit.sentence.number]
    return found + _unpromised(hits) + _admitted(message, hits)


def _is_core(hit: Hit) -> bool:
    return hit.cue.level == "core" and "blocked" not in hit.applied


def _added_up(message: Message, side: Concern, company: list[Hit], *, asked: bool) -> list[Hit]:
    """Supports beside a flag or the item's own question need a weight of 1, beside cores and faint flags of 2."""
    needed = 1.0 if asked or any(h.affirmed and not h.cue.faint for h in company) else 2.0
    supports: dict[str, Hit] = {}
    for support in (hit for sentence in reversed(message.sentences) for hit in sentence.supports):
        if support.cue.concern in (side, "any") and support.cue.id not in supports and _counts(support, company):
            supports[support.cue.id] = support
    if sum(hit.cue.weight for hit in supports.values()) < needed:
        return []
    strongest = max(supports.values(), key=lambda h: (h.cue.weight, h.sentence.number))
    concern: Concern = "suicide" if side == "self" else "violence"
    cue = replace(strongest.cue, id=f"{side}-plan:{'+'.join(sorted(supports))}", concern=concern)
    return [replace(strongest, cue=cue, level="stop", applied=("raised",))]


def _counts(support: Hit, company: list[Hit]) -> bool:
    """A support must say more than the words it supports, and not be blocked itself."""
    beside = [hit for hit in company if hit.sentence is support.sentence]
    inside = any(hit.start <= support.start and support.end <= hit.end for hit in beside)
    apart = len(company) > len(beside) or any(hit.end <= support.start or support.end <= hit.start for hit in beside)
    return (apart or not inside) and "blocked" not in lowered(support).applied


def _unpromised(hits: list[Hit]) -> list[Hit]:
    """'I can't promise I won't kill myself': what cannot be ruled out is meant."""
    found = []
    for hit in hits:
        if hit.level != "flag" or hit.cue.passive or hit.cue.concern not in ("suicide", "self_harm", "violence"):
            continue
        marks = hit.sentence.marks("unpromised", hit.clause.start, hit.start)
        if (
            marks
            and 0 <= hit.start - marks[-1].end < _TOUCHING
            and not hit.sentence.marks("thought", marks[-1].end, hit.start)
        ):
            found.append(replace(hit, level="stop", applied=(*hit.applied, "unpromised")))
    return found


def _admitted(message: Message, hits: list[Hit]) -> list[Hit]:
    """'I'm not going to. The thought shows up, that's all.' The thought remains when only the intent is denied."""
    denied = [h for h in hits if "denied" in h.applied and h.cue.concern in ("suicide", "self_harm", "violence")]
    if not denied:
        return []
    for sentence in message.sentences:
        for mark in sentence.marks("admitted"):
            place = Hit(denied[0].cue, mark.start, mark.end, sentence, "flag")
            if not sentence.marks("negators", sentence.scope(place)[0], mark.start):
                return [replace(place, applied=("admitted",))]
    return []


def _recent_attempts(hits: list[Hit]) -> list[Hit]:
    found = []
    wish = any(h.affirmed and not h.cue.attempt and h.cue.concern == "suicide" for h in hits)
    for hit in hits:
        if not (hit.affirmed and hit.cue.attempt):
            continue
        start, end = hit.clause.start, hit.clause.end
        marks = hit.sentence.marks
        if marks("past", start, end):
            continue
        if marks("hours_ago", start, end) or (wish and marks("recent", start, end)):
            found.append(replace(hit, level="stop", applied=(*hit.applied, "recent")))
    return found


def _dated_yes(message: Message, hits: list[Hit], item: int) -> list[Hit]:
    yes = [h for h in hits if h.cue.id == "item-11"]
    if item != 11 or not yes:
        return []
    for sentence in message.sentences:
        for found in answers()["future"].finditer(sentence.words):
            hit = Hit(replace(yes[0].cue, id="item-11-dated"), found.start, found.end, sentence, "stop")
            if not sentence.marks("negators", hit.clause.start, hit.start):
                return [hit]
    return []
