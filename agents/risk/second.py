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
from agents.risk.message import Message
from agents.risk.parts import ECHO, Part, line_parts, parts, parts_of, told
from agents.risk.reader import Opinion
from agents.risk.verdict import Level, RiskVerdict, Span, shown
from instruments.profile import RiskFlags

RULE = "second-reader"
UNREAD = "second-reader-fault"
DOUBTED = "second-reader-doubts"
_SELF_HARM_ITEM = 11
_NOT_COUNTS = ("WORD", "DATE")
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
    if verdict.level == "stop" and not reader.is_inferred(verdict.rule or ""):
        if reader.is_beyond_doubt(message.reading.text):
            return verdict
    elif all(sentence.leaves_off for sentence in message.sentences):
        return verdict
    if verdict.level == "none" and item != _SELF_HARM_ITEM and _only_counts(message):
        return verdict
    try:
        if verdict.level == "none" and not verdict.cues and item != _SELF_HARM_ITEM and _is_everyday(message, item):
            return verdict
        heard = _heard(message, item, verdict.level)
        if verdict.level == "stop":
            return _doubted(verdict, heard, item)
        rest = _unrefused(message)
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


def _unrefused(message: Message) -> list[Part] | None:
    """Without sentences that only say what will not be done; None where all of them are to be read.

    "I'm not going to kill myself tonight" weighs like a plan; what takes it back stands beside it.
    """
    sentences = told(message)
    others = [sentence for sentence in sentences if not sentence.only_refuses]
    if len(others) == len(sentences) or line_parts(message) or any(other.has_apart("reopening") for other in others):
        return None
    return parts_of(others)


def _is_everyday(message: Message, item: int) -> bool:
    """Whether ordinary plans are all that it tells, beside what gives no worry."""
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
