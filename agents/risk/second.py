"""What the second reader may change: it raises, and it may doubt a stop of the rules, to a flag. It clears nothing."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

from agents.language.sentences import joined
from agents.language.tagging import may_only_count, tagged
from agents.risk import reader
from agents.risk.message import Message, Sentence
from agents.risk.modifiers import REPORTED, is_lone_no, lowered
from agents.risk.parts import ECHO, Part, line_parts, parts, parts_of, told
from agents.risk.reader import Opinion
from agents.risk.verdict import Level, RiskVerdict, Span, shown
from instruments.profile import RiskFlags

RULE = "second-reader"
UNREAD = "second-reader-fault"
DOUBTED = "second-reader-doubts"
_SELF_HARM_ITEM = 11
_MEANS = "core-means-self"
_WILLING = ("obedience", "commitment", "preparation")
_LEAD = 12  # characters: "I'm going to" before the words of a cue
_NOT_COUNTS = ("WORD", "DATE", "UNSURE")
_QUESTION = re.compile(
    r"\s*(?:(?:and|but|so|sorry|ok|okay|um|hm+|wait|well),? )*(?:what|which|who|whose|when|where|why|how|do|does|did"
    r"|don't|doesn't|is|are|was|were|am|isn't|aren't|can|could|should|would|will|have|has|had|may|might|must"
    r"|you mean|meaning|pardon|in|at|on|like|as in|or)\b"
)
log = logging.getLogger("crosscut.safety")


class _Heard(NamedTuple):
    """The sentences of a message, its lines where they stand for sentences, and what the reader makes of all their
    stretches, each sentence first. More sentences only add stretches, so what stands beside hides nothing."""

    sentences: list[Part]
    lines: list[Part]
    opinions: list[Opinion]

    @property
    def stretches(self) -> list[str]:
        told = ([part.text for part in shown] for shown in (self.sentences, self.lines))
        return list(dict.fromkeys(text for sentences in told for text in joined(sentences)))


def with_second_opinion(verdict: RiskVerdict, message: Message, item: int) -> RiskVerdict:
    """A stop in the plainest words needs none, nor does a bare count or who would rather stop the conversation.

    A reader that fails leaves the rules, marked degraded.
    """
    if verdict.level == "stop":
        if reader.is_beyond_doubt(verdict.rule or "", message.reading.text):
            return verdict
    elif all(sentence.leaves_off for sentence in message.sentences) or _denies_and_parts(verdict, message):
        return verdict
    if verdict.level == "none" and item != _SELF_HARM_ITEM and _only_counts(message):
        return verdict
    try:
        if verdict.level == "none" and item != _SELF_HARM_ITEM and _is_everyday(verdict, message, item):
            return verdict
        heard = _heard(message, item, verdict.level)
        if verdict.level == "stop":
            return _doubted(verdict, heard, item)
        rest = _ones_own(message)
        firm = heard.opinions if rest is None else _opinions(rest, item, verdict.level)
    except Exception as error:
        log.critical("the second reader failed on a message: %s", type(error).__name__)
        return verdict.model_copy(update={"degraded": True, "cues": (*verdict.cues, UNREAD)})
    return _raised(verdict, message, heard, firm)


def _only_counts(message: Message) -> bool:
    """'Nearly every day.' tells how often and nothing else."""
    text = message.reading.text
    return may_only_count(text) and all(token.tag not in _NOT_COUNTS for token in tagged(text))


def _heard(message: Message, item: int, known: Level) -> _Heard:
    """Who breaks lines may leave the full stops out, so lines are read as sentences too."""
    sentences, lines = parts(message), line_parts(message)
    return _Heard(sentences, lines, _opinions(sentences, item, known) + _opinions(lines, item, known))


def _opinions(sentences: Sequence[Part], item: int, known: Level) -> list[Opinion]:
    return reader.opinions([part.text for part in sentences], item, known)


def _denies_and_parts(verdict: RiskVerdict, message: Message) -> bool:
    """'No. See you tomorrow.': beside a plain no, a day belongs to the leave that is taken. A goodbye may be more."""
    if verdict.level != "none" or verdict.cues or "bye" in message.reading.text:
        return False
    return all(is_lone_no(sentence) or sentence.says_only("leaving", "parting") for sentence in message.sentences)


def _ones_own(message: Message) -> list[Part] | None:
    """Without sentences that only say what will not be done, or what others do or say; None where all are to be read.

    "I'm not going to kill myself tonight" weighs like a plan, and so does another's; what takes it back stands beside.
    """
    sentences = told(message)
    others = [sentence for sentence in sentences if not _is_unmeant(sentence)]
    if len(others) == len(sentences) and len(sentences) == 1 and _only_orders(sentences[0]):
        others = []
    if len(others) == len(sentences) or line_parts(message) or any(other.has_apart("reopening") for other in others):
        return None
    return parts_of(others)


def _is_unmeant(sentence: Sentence) -> bool:
    return sentence.only_refuses or sentence.has_apart("trifles") or _is_of_others(sentence)


def _is_of_others(sentence: Sentence) -> bool:
    """Whether it tells of somebody else's deed or words, and of no intent of one's own beside them."""
    words = [hit for hit in map(lowered, sentence.cues()) if REPORTED in hit.applied]
    if not words and not sentence.has_apart("others_deed"):
        return False
    return all(any(hit.start - _LEAD <= own.start < hit.end for hit in words) for own in sentence.said("own_intent"))


def _only_orders(sentence: Sentence) -> bool:
    """'The voices tell me to do it', and not a word of what the patient will do."""
    orders = sentence.has_apart("voice_order") and any(hit.cue.concern == "voices" for hit in sentence.cues())
    willing = sentence.has_apart("own_intent") or any(hit.cue.id in _WILLING for hit in sentence.supports)
    return orders and not willing


def _is_everyday(verdict: RiskVerdict, message: Message, item: int) -> bool:
    """Whether ordinary plans, or medicine taken, are all that it tells, beside what gives no worry."""
    if any(cue != _MEANS for cue in verdict.cues):
        return False
    sentences = told(message)
    others = [sentence for sentence in sentences if not sentence.is_everyday]
    if len(others) == len(sentences) or line_parts(message):
        return False
    needed = reader.limits().stop_from_none
    found = _opinions(parts_of(others), item, "none")
    return not any(opinion.stop > needed or _is_flagged(opinion) for opinion in found)


def _doubted(verdict: RiskVerdict, heard: _Heard, item: int) -> RiskVerdict:
    """What was said takes more to doubt than what was put together from hints, and only the thorough reader may."""
    limits = reader.limits()
    limit = limits.doubt_inferred if reader.is_inferred(verdict.rule or "") else limits.doubt_said
    if any(opinion.stop > limits.doubt_asked for opinion in heard.opinions):
        return verdict
    if any(reader.thorough(text, item).stop > limit for text in heard.stretches):
        return verdict
    return verdict.model_copy(update={"level": "flag", "engine": "rules+reader", "cues": (*verdict.cues, DOUBTED)})


def _raised(verdict: RiskVerdict, message: Message, heard: _Heard, firm: list[Opinion]) -> RiskVerdict:
    """To a flag by any opinion, to a stop by the `firm` ones."""
    limits = reader.limits()
    needed = limits.stop_from_none if verdict.level == "none" else limits.stop_from_flag
    stops = [opinion for opinion in firm if opinion.stop > needed]
    flagged = [opinion for opinion in heard.opinions if _is_flagged(opinion)]
    level: Level
    if stops:
        level = "stop"
    elif verdict.level == "none" and flagged and not _only_asks(message):
        level = "flag"
    else:
        return verdict
    return verdict.model_copy(
        update={
            "level": level,
            "rule": RULE,
            "engine": "rules+reader",
            "flags": reduce(lambda flags, opinion: flags | _flags(opinion), stops + flagged, verdict.flags),
            "spans": shown((_span(message, heard, level), *verdict.spans)),
            "cues": (*verdict.cues, RULE),
        }
    )


def _is_flagged(opinion: Opinion) -> bool:
    limits = reader.limits()
    is_substance = opinion.likeliest == "substance"
    return opinion.risk > (limits.substance_from_none if is_substance else limits.flag_from_none)


def _only_asks(message: Message) -> bool:
    """'What do you mean?' says nothing of the patient, whatever the question was about. Statements may end so, too."""
    return all("?" in sentence.ending and _is_question(sentence.plain) for sentence in message.sentences)


def _is_question(text: str) -> bool:
    return _QUESTION.match(text) is not None or len(text.split()) <= ECHO


def _flags(opinion: Opinion) -> RiskFlags:
    """The concerns that the reader is sure of, or else the likeliest one."""
    found = {c for c, odds in opinion.concerns.items() if odds > reader.limits().concern} | {opinion.likeliest}
    return RiskFlags(
        suicidality_mentioned="suicide" in found,
        self_harm_ideation="self_harm" in found,
        violence_risk="violence" in found,
        substance_abuse_signal="substance" in found,
    )


def _span(message: Message, heard: _Heard, level: Level) -> Span:
    """The reader names no words, so the therapist is shown the sentence that weighs most by itself."""
    alone = zip(heard.sentences, heard.opinions, strict=False)  # of longer stretches there are more
    gravest, _ = max(alone, key=lambda one: _weight(one[1], level))
    start, end = message.reading.span(gravest.start, gravest.end)
    return Span(start=start, end=end, cue=RULE)


def _weight(opinion: Opinion, level: Level) -> tuple[bool, float]:
    """Drink needs surer words than danger, so that the higher odds are not always what was flagged."""
    return (True, opinion.stop) if level == "stop" else (_is_flagged(opinion), opinion.risk)
