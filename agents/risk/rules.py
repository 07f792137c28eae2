"""The rule engine: cues found in clauses, lowered by what stands around them, raised by what they add up to."""

from __future__ import annotations

import logging
import re
import unicodedata

from agents.language import Reading, is_readable, read
from agents.risk.message import Hit, Message
from agents.risk.modifiers import lowered
from agents.risk.raising import answered, raised
from agents.risk.second import with_second_opinion
from agents.risk.tables import Concern, compile_tables, languages
from agents.risk.verdict import RANK, RiskVerdict, Span
from instruments.profile import RiskFlags

FAULT = "engine-fault"
_MAX_SPANS = 8
_MAX_CUES = 16
log = logging.getLogger("crosscut.safety")
_TO_DIE = re.compile(r"yourself|myself|jump|die|end|step in front|dead")
_TO_HURT_ONESELF = re.compile(r"\bcut\b|hurt (?:your|my)self|burn")


def warm_up() -> None:
    """Load and compile all that a check needs, before a patient waits for it."""
    compile_tables()
    check_risk("I am well.")


def check_risk(text: str, item: int = 0) -> RiskVerdict:
    """Read one message; `item` is the number of the item being asked, 0 for none. Pure, and linear in the text.

    A fault of the engine itself must not let a message pass: it is a flag, marked degraded.
    """
    try:
        return _judged(text, item)
    except Exception as error:
        log.critical("the risk rules failed on a message: %s", type(error).__name__)
        return RiskVerdict(level="flag", rule=FAULT, cues=(FAULT,), degraded=True)


def _judged(text: str, item: int) -> RiskVerdict:
    reading = read(text)
    foreign = _foreign(reading)
    if foreign is not None:
        return foreign
    if not reading.text.strip():
        return RiskVerdict(level="none")
    message = Message(reading)
    hits = [lowered(hit) for sentence in message.sentences for hit in sentence.cues()]
    hits += answered(message, item)
    hits += raised(message, hits, item)
    verdict = _verdict(reading, hits)
    if not is_readable(_visible(text)):
        unread = RiskVerdict(level="flag", rule="unreadable", cues=("unreadable",))
        return unread if verdict.level == "none" else verdict
    return with_second_opinion(verdict, message, item)


def _visible(text: str) -> str:
    return text if text.isascii() else "".join(char for char in text if unicodedata.category(char) != "Cf")


def _foreign(reading: Reading) -> RiskVerdict | None:
    text = reading.text
    for language in languages():
        if not language.may_occur(text):
            continue
        found: tuple[tuple[Concern, re.Match[str] | None], ...]
        found = (("suicide", language.suicide.search(text)), ("violence", language.violence.search(text)))
        for concern, match in found:
            if match:
                return _foreign_stop(reading, language.name, concern, match)
    return None


def _foreign_stop(reading: Reading, name: str, concern: Concern, match: re.Match[str]) -> RiskVerdict:
    start, end = reading.span(*match.span())
    span = Span(start=start, end=end, cue=f"{name} {concern}")
    flags = _flags_of(concern, active=True)
    return RiskVerdict(level="stop", flags=flags, rule=f"language:{name}", spans=(span,), cues=(span.cue,))


def _verdict(reading: Reading, hits: list[Hit]) -> RiskVerdict:
    affirmed = [hit for hit in hits if hit.affirmed]
    if not affirmed:
        return RiskVerdict(level="none", cues=_applied(hits))
    top = max(affirmed, key=lambda h: RANK[h.level])
    flags = RiskFlags()
    for hit in affirmed:
        flags = flags | _flags(hit)
    spans = tuple(_span(reading, hit) for hit in affirmed if hit.level == top.level)[:_MAX_SPANS]
    return RiskVerdict(level=top.level, flags=flags, rule=top.cue.id, spans=spans, cues=_applied(hits))


def _applied(hits: list[Hit]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(":".join((hit.cue.id, *hit.applied)) for hit in hits))[:_MAX_CUES]


def _span(reading: Reading, hit: Hit) -> Span:
    offset = hit.sentence.offset
    start, end = reading.span(offset + hit.start, offset + hit.end)
    return Span(start=start, end=end, cue=hit.cue.id)


def _flags(hit: Hit) -> RiskFlags:
    if hit.cue.concern == "voices":
        return _flags_of(_commanded(hit.words), active=True)
    found = _flags_of(hit.cue.concern, active=not (hit.cue.passive or hit.cue.attempt))
    if hit.cue.attempt and "overdos" in hit.words:
        found = found | RiskFlags(substance_abuse_signal=True)
    return found


def _commanded(words: str) -> Concern:
    if _TO_DIE.search(words):
        return "suicide"
    return "self_harm" if _TO_HURT_ONESELF.search(words) else "violence"


def _flags_of(concern: Concern, *, active: bool) -> RiskFlags:
    return RiskFlags(
        suicidality_mentioned=concern == "suicide",
        self_harm_ideation=concern == "self_harm" or (concern == "suicide" and active),
        violence_risk=concern == "violence",
        substance_abuse_signal=concern == "substance",
    )
