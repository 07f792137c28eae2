"""The rule engine: cues found in clauses, lowered by what stands around them, raised by what they add up to."""

from __future__ import annotations

import logging
import re
import unicodedata
from collections.abc import Sequence

from agents.language import Reading, is_readable, read, readable_part, tags
from agents.language.reading import hidden, parted
from agents.risk import reader
from agents.risk.foreign import Language, languages, named_danger, unaccented
from agents.risk.message import Hit, Message
from agents.risk.modifiers import lowered
from agents.risk.raising import answered, raised
from agents.risk.second import with_second_opinion
from agents.risk.tables import Concern, compile_tables
from agents.risk.verdict import RANK, Level, RiskVerdict, Span, shown
from agents.risk.version import version
from agents.risk.voices import commanded
from instruments.profile import RiskFlags

FAULT = "engine-fault"
UNREADABLE = "unreadable"
_MAX_CUES = 16
_ALL_QUOTED = re.compile(r'\s*(?:"[^"]*"[\s.!?,]*)+|\s*"[^"]*')
_LETTERED = re.compile(r"[^\W\d_]\d|\d[^\W\d_]")  # "n0pe" is English once it is mended
_AROUND = 120  # characters on each side of a cue that are quoted with it at most
_EDGES = " \t\n,;:-—"
_SUMS = ("raised", "recent")
_DATED = "item-11-dated"
_COMPANY: dict[str, tuple[Concern, ...]] = {"other-plan": ("violence", "voices")}
_OWN: tuple[Concern, ...] = ("suicide", "self_harm", "voices")
log = logging.getLogger("crosscut.safety")


def warm_up() -> None:
    """Load and compile all that a check needs, before a patient waits for it."""
    compile_tables()
    languages()
    version()
    reader.warm_up()
    check_risk("I am well.")


def check_risk(text: str, item: int = 0) -> RiskVerdict:
    """Read one message; `item` is the number of the item being asked, 0 for none. Pure, and linear in the text.

    A fault of the engine itself must not let a message pass: it is a flag, marked degraded.
    """
    try:
        verdicts = [_judged(one, item) for one in dict.fromkeys((text, parted(text)))]
        return max(verdicts, key=lambda verdict: RANK[verdict.level]).model_copy(update={"tables": version()})
    except Exception as error:
        log.critical("the risk rules failed on a message: %s", type(error).__name__)
        return RiskVerdict(level="flag", rule=FAULT, cues=(FAULT,), degraded=True)


def _judged(text: str, item: int) -> RiskVerdict:
    reading = _spoken(read(text))
    named = named_danger(unaccented(reading.text))
    foreign = _foreign(reading, list(named)) if named else None
    if foreign is not None:
        return foreign
    if not reading.text.strip():
        return RiskVerdict(level="none")
    message = Message(reading)
    hits = [lowered(hit) for sentence in message.sentences for hit in sentence.cues()]
    hits += answered(message, item)
    hits += raised(message, hits, item)
    verdict = _verdict(reading, hits)
    english = _english(reading, [reading.span(*place) for places in named.values() for place in places])
    if english == text:
        return with_second_opinion(verdict, message, item)
    if english:
        verdict = with_second_opinion(verdict, Message(read(english)), item)
    return _with_wish(_with_unreadable(verdict), reading, list(named))


def _spoken(reading: Reading) -> Reading:
    """Without its quotation marks where all of it stands between them: then it is the patient who speaks."""
    if not _ALL_QUOTED.fullmatch(reading.text):
        return reading
    return reading.replaced([(*mark.span(), " ") for mark in re.finditer('"', reading.text)])


def _with_unreadable(verdict: RiskVerdict) -> RiskVerdict:
    """What nobody can read is a flag at least, and takes nothing from what was read beside it."""
    marked = verdict.model_copy(update={"cues": (*verdict.cues, UNREADABLE)})
    return marked if verdict.level != "none" else marked.model_copy(update={"level": "flag", "rule": UNREADABLE})


def _with_wish(verdict: RiskVerdict, reading: Reading, named: list[Language]) -> RiskVerdict:
    """A wish to die in another language is named to the therapist, beside what else was found."""
    wishes = [(language.name, language.wished(unaccented(reading.text))) for language in named]
    spans = tuple(_foreign_span(reading, f"{name} wish", match) for name, match in wishes if match)
    if not spans:
        return verdict
    return verdict.model_copy(
        update={
            "flags": verdict.flags | _flags_of("suicide", active=False),
            "spans": shown((*verdict.spans, *spans)),
            "cues": (*verdict.cues, *(span.cue for span in spans)),
        }
    )


def _english(reading: Reading, named: list[tuple[int, int]]) -> str:
    """The original text, or as much of it as can be read, with the rest blanked; empty if that is nothing.

    Where danger is named in another language, denied or told of, may be too short to be told from English.
    """
    if not named and reading.original.isascii() and "<" not in reading.original and is_readable(reading.original):
        return reading.original
    chars = list(reading.original)
    for start, end in named:
        chars[start:end] = " " * (end - start)
    seen = _visible(reading.original)
    visible = "".join(chars[place] for place in seen)
    if not named and (is_readable(visible) or (_LETTERED.search(visible) and is_readable(reading.text))):
        return reading.original
    kept = readable_part(visible)
    if not kept:
        return ""
    for place, char in zip(seen, kept, strict=True):
        chars[place] = char
    return "".join(chars)


def _visible(text: str) -> Sequence[int]:
    """The places of what is seen on a page: no tags, and no character without a look."""
    places: Sequence[int] = range(len(text))
    if not text.isascii():
        places = [place for place in places if unicodedata.category(text[place]) != "Cf"]
    unseen = [*((start, end) for start, end, _ in tags(text)), *hidden(text)]
    left_out = {place for start, end in unseen for place in range(start, end)}
    return [place for place in places if place not in left_out] if left_out else places


def _foreign(reading: Reading, named: list[Language]) -> RiskVerdict | None:
    text = unaccented(reading.text)
    for language in named:
        found = language.danger(text)
        if found is not None:
            return _foreign_stop(reading, language.name, *found)
    return None


def _foreign_stop(reading: Reading, name: str, concern: Concern, match: re.Match[str]) -> RiskVerdict:
    span = _foreign_span(reading, f"{name} {concern}", match)
    flags = _flags_of(concern, active=True)
    return RiskVerdict(level="stop", flags=flags, rule=f"language:{name}", spans=(span,), cues=(span.cue,))


def _foreign_span(reading: Reading, cue: str, match: re.Match[str]) -> Span:
    start, end = reading.span(*match.span())
    return Span(start=start, end=end, cue=cue)


def _verdict(reading: Reading, hits: list[Hit]) -> RiskVerdict:
    affirmed = [hit for hit in hits if hit.affirmed]
    if not affirmed:
        return RiskVerdict(level="none", cues=_applied(hits))
    # the second reader may doubt an inferred stop, never one that is surer beside it
    top = max(affirmed, key=lambda h: (RANK[h.level], reader.firmness(h.cue.id)))
    flags = RiskFlags()
    for hit in affirmed:
        flags = flags | _flags(hit)
    spans = shown(_span(reading, hit) for hit in _quoted(hits, top.level))
    return RiskVerdict(level=top.level, flags=flags, rule=top.cue.id, spans=spans, cues=_applied(hits))


def _quoted(hits: list[Hit], level: Level) -> list[Hit]:
    """What made the level; for a stop that was put together, also what it was put together from."""
    quoted = [hit for hit in hits if hit.level == level]
    sums = [hit.cue.id.partition(":")[0] for hit in quoted if level == "stop" and _is_sum(hit)]
    company = {concern for name in sums for concern in _COMPANY.get(name, _OWN)}
    return quoted + [hit for hit in hits if hit.cue.concern in company and _is_hint(hit)]


def _is_sum(hit: Hit) -> bool:
    return hit.cue.id == _DATED or any(name in hit.applied for name in _SUMS)


def _is_hint(hit: Hit) -> bool:
    return hit.level == "flag" or (hit.cue.level == "core" and "blocked" not in hit.applied)


def _applied(hits: list[Hit]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(":".join((hit.cue.id, *hit.applied)) for hit in hits))[:_MAX_CUES]


def _span(reading: Reading, hit: Hit) -> Span:
    offset = hit.sentence.offset
    start, end = _clause(hit)
    start, end = reading.span(offset + start, offset + end)
    return Span(start=start, end=end, cue=hit.cue.id)


def _clause(hit: Hit) -> tuple[int, int]:
    """A cue with the clause in which it stands: "nearly" tells a therapist nothing. Of a long one, what is nearest."""
    text = hit.sentence.plain
    start, end = min(hit.start, hit.clause.start), max(hit.end, hit.clause.end)
    if start < hit.start - _AROUND:
        space = text.find(" ", hit.start - _AROUND, hit.start)
        start = space if space >= 0 else hit.start
    if end > hit.end + _AROUND:
        end = max(text.rfind(" ", hit.end, hit.end + _AROUND), hit.end)
    before, after = text[start : hit.start], text[hit.end : end]
    return hit.start - len(before.lstrip(_EDGES)), hit.end + len(after.rstrip(_EDGES))


def _flags(hit: Hit) -> RiskFlags:
    if hit.cue.concern == "voices":
        return _flags_of(commanded(hit) or "violence", active=True)
    found = _flags_of(hit.cue.concern, active=not (hit.cue.passive or hit.cue.attempt))
    if hit.cue.attempt and "overdos" in hit.words:
        found = found | RiskFlags(substance_abuse_signal=True)
    return found


def _flags_of(concern: Concern, *, active: bool) -> RiskFlags:
    return RiskFlags(
        suicidality_mentioned=concern == "suicide",
        self_harm_ideation=concern == "self_harm" or (concern == "suicide" and active),
        violence_risk=concern == "violence",
        substance_abuse_signal=concern == "substance",
    )
