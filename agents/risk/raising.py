"""What cues add up to: a wish with the means at hand, an attempt with the wish still there, 'yes' with 'tonight'."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace

from agents.language import Found, Words
from agents.risk.message import Hit, Message, Sentence
from agents.risk.modifiers import is_denied_answer, lowered
from agents.risk.tables import Concern, Cue, answers
from agents.risk.verdict import Level
from agents.risk.voices import commanded

ITEM_CONCERNS: dict[int, Concern] = {11: "self_harm", 21: "substance", 23: "substance"}
_SIDES: tuple[tuple[Concern, tuple[Concern, ...]], ...] = (
    ("self", ("suicide", "self_harm", "voices")),
    ("other", ("violence", "voices")),
)
_JOINING: dict[str, Level] = {"core-join-dead": "stop", "core-be-with-dead": "flag"}
_TAKING, _BLOW, _LIES_THERE, _DONE = "core-taking-along", "violence-blow", "violence-lies-there", "self-done"
_ATTEMPT = "suicide-attempt"
_DENIAL_WITHIN = 4  # words of a clause
_WORD = re.compile(r"(?<![\w'])\w")
_TEMPORAL = re.compile(
    r"\b(?:when|once|after|before|while|until|till|(?:as )?soon as|by the time|the (?:minute|moment|second))\b"
)
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
    meant = _joining_the_dead(message, hits) + _taking_along(message, hits)
    hits = [*hits, *meant]
    found = _recent_attempts(hits) + _done_to_oneself(message, hits) + _just_done(message, hits)
    found += _laughed_off(hits) + _dated_yes(message, hits, item)
    asked = item == 11 and bool(message.sentences) and not is_denied_answer(message.sentences[0])
    for side, concerns in _SIDES:
        company = [h for h in hits if h.cue.concern in concerns and (h.affirmed or _is_core(h))]
        if company or (side == "self" and asked):
            found += _added_up(message, side, company, asked=asked and side == "self")
    found = [hit for hit in found if message.safe_until < hit.sentence.number]
    return meant + found + _unpromised(hits) + _admitted(message, hits)


def _is_core(hit: Hit) -> bool:
    return hit.cue.level == "core" and "blocked" not in hit.applied


def _added_up(message: Message, side: Concern, company: list[Hit], *, asked: bool) -> list[Hit]:
    """Supports beside a flag or the item's own question need a weight of 1, beside cores and faint flags of 2."""
    needed = 1.0 if asked or any(h.affirmed and not h.cue.faint for h in company) else 2.0
    supports: dict[str, Hit] = {}
    spoken: dict[int, list[Hit]] = defaultdict(list)
    for hit in company:
        spoken[hit.sentence.number].append(hit)
    for support in (hit for sentence in reversed(message.sentences) for hit in sentence.supports):
        if support.cue.concern in (side, "any") and support.cue.id not in supports:
            beside = spoken.get(support.sentence.number, [])
            if _counts(support, beside, elsewhere=len(company) > len(beside)):
                supports[support.cue.id] = support
    if sum(hit.cue.weight for hit in supports.values()) < needed:
        return []
    strongest = max(supports.values(), key=lambda h: (h.cue.weight, h.sentence.number))
    cue = replace(strongest.cue, id=f"{side}-plan:{'+'.join(sorted(supports))}", concern=_meant(side, company))
    return [replace(strongest, cue=cue, level="stop", applied=("raised",))]


def _meant(side: Concern, company: list[Hit]) -> Concern:
    """A voice counts on both sides, and where nothing else is said its order tells who is in danger."""
    ordered = commanded(company[0]) if company and all(hit.cue.concern == "voices" for hit in company) else None
    return ordered or ("suicide" if side == "self" else "violence")


def _counts(support: Hit, beside: list[Hit], *, elsewhere: bool) -> bool:
    """A support must say more than the words it supports, in its own sentence or elsewhere, and not be blocked."""
    inside = any(hit.start <= support.start and support.end <= hit.end for hit in beside)
    apart = elsewhere or any(hit.end <= support.start or support.end <= hit.start for hit in beside)
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
        if not (hit.affirmed and hit.cue.attempt) or hit.cue.concern == "violence":
            continue
        start, end = hit.clause.start, hit.clause.end
        marks = hit.sentence.marks
        if marks("past", start, end):
            continue
        if marks("hours_ago", start, end) or (wish and marks("recent", start, end)):
            found.append(replace(hit, level="stop", applied=(*hit.applied, "recent")))
    return found


def _done_to_oneself(message: Message, hits: list[Hit]) -> list[Hit]:
    """What kills, told as done, is of now where nothing says that it was outlived, or when else it was."""
    done = [hit for hit in hits if hit.affirmed and not hit.applied and _is_done(hit)]
    if not done or any(sentence.has("outlived") or sentence.has("past") for sentence in message.sentences):
        return []
    return [replace(hit, cue=replace(hit.cue, id=_DONE), level="stop", applied=("recent",)) for hit in done]


def _is_done(hit: Hit) -> bool:
    """'Half an hour ago I took an overdose.'"""
    overdosed = hit.cue.id == _ATTEMPT and "overdos" in hit.words and hit.sentence.has("hours_ago")
    return overdosed or hit.cue.id == _DONE


def _just_done(message: Message, hits: list[Hit]) -> list[Hit]:
    """A grave deed of which nobody says that it was long ago is one of now; a blow, when the victim lies there."""
    if any(sentence.has("atoned") for sentence in message.sentences):
        return []
    lies_there = any(sentence.has("victim_state") for sentence in message.sentences)
    played = any(sentence.has("games") or sentence.has("play_fights") for sentence in message.sentences)
    found = []
    for hit in hits:
        if hit.cue.concern != "violence" or not (hit.cue.attempt and hit.affirmed) or hit.applied:
            continue
        if hit.sentence.has("past") or (hit.cue.id == _BLOW and not lies_there):
            continue
        if lies_there and not played:
            found.append(replace(hit, cue=replace(hit.cue, id=_LIES_THERE), level="stop", applied=("recent",)))
        elif lies_there or any(hit.sentence.has(mark) for mark in ("hours_ago", "just_now")):
            found.append(replace(hit, level="stop", applied=("recent",)))
        elif not played:
            undated = replace(hit.cue, id=f"{hit.cue.id}-undated")
            found.append(replace(hit, cue=undated, level="stop", applied=("recent",)))
    return found


def _laughed_off(hits: list[Hit]) -> list[Hit]:
    """'I'm going to kill him lol' is taken at its word, but the second reader may doubt it."""
    return [
        replace(hit, cue=replace(hit.cue, id="violence-laughed-off"), level="stop", applied=("taken at its word",))
        for hit in hits
        if hit.cue.id == "violence-intent" and hit.applied == ("joke",) and not hit.sentence.has("some_day")
    ]


def _joining_the_dead(message: Message, hits: list[Hit]) -> list[Hit]:
    """'I'm following him tonight' is a walk, unless the one who is followed has died."""
    joining = [hit for hit in hits if hit.cue.id in _JOINING and _is_core(hit)]
    if not joining or not any(sentence.has("mourned") for sentence in message.sentences):
        return []
    return [replace(hit, level=_JOINING[hit.cue.id], applied=("mourned",)) for hit in joining]


def _taking_along(message: Message, hits: list[Hit]) -> list[Hit]:
    """'I'll take my children with me', and nowhere a place that one comes back from: out of life, with them."""
    if any(sentence.has("journey") for sentence in message.sentences):
        return []
    found = [hit for hit in hits if hit.cue.id == _TAKING and _is_core(hit)]
    own = [replace(hit, cue=replace(hit.cue, concern="suicide"), level="flag", applied=("alone",)) for hit in found]
    return own + [replace(hit, level="stop", applied=("alone",)) for hit in found]


def _dated_yes(message: Message, hits: list[Hit], item: int) -> list[Hit]:
    yes = [h for h in hits if h.cue.id == "item-11"]
    if item != 11 or not yes:
        return []
    for sentence in message.sentences:
        for found in answers()["future"].finditer(sentence.words):
            hit = Hit(replace(yes[0].cue, id="item-11-dated"), found.start, found.end, sentence, "stop")
            if not sentence.marks("negators", hit.clause.start, hit.start) and _dates_the_answer(hit):
                return [hit]
    return []


def _dates_the_answer(hit: Hit) -> bool:
    """'Tonight', 'I'm doing it tonight'; not 'the crisis team rings me tonight', which has a date of its own."""
    text, clause = hit.sentence.text, hit.clause
    after = "" if _TEMPORAL.match(text, hit.start) else _TEMPORAL.split(text[hit.end : clause.end])[0]
    beside = Words(f"{text[clause.start : hit.start]} {after}")
    if answers()["doing"].search(beside.text):
        return True
    rest = beside.text
    for place in answers()["beside_date"].finditer(beside):
        rest = rest[: place.start] + " " * (place.end - place.start) + rest[place.end :]
    return not _WORD.search(rest)
