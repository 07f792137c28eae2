"""What the second reader may change: it raises, and it may doubt a stop of the rules, to a flag. It clears nothing."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, reduce
from itertools import repeat

from agents.language.reading import read
from agents.language.tagging import tagged
from agents.risk import reader
from agents.risk.message import Message, Sentence
from agents.risk.modifiers import is_denied_answer
from agents.risk.reader import Opinion
from agents.risk.verdict import Level, RiskVerdict, Span, shown
from instruments.profile import RiskFlags

RULE = "second-reader"
UNREAD = "second-reader-fault"
DOUBTED = "second-reader-doubts"
_SELF_HARM_ITEM = 11
_NOT_COUNTS = ("WORD", "DATE")
_TOGETHER = 3  # sentences in a stretch
_FEW = 24  # stretches that are not worth several threads
_CORES = min(os.cpu_count() or 1, 8)
_LONG = 400  # characters of a sentence
_LAP = 100  # of them that are read again with what follows
_LONGEST_WORD = 40  # a wall of signs has no place to be cut at
_ENDS = " .!?…,;:-"
_ECHO = 6  # words
_QUESTION = re.compile(
    r"\s*(?:(?:and|but|so|sorry|ok|okay|um|hm+|wait|well),? )*(?:what|which|who|whose|when|where|why|how|do|does|did"
    r"|don't|doesn't|is|are|was|were|am|isn't|aren't|can|could|should|would|will|have|has|had|may|might|must"
    r"|you mean|meaning|pardon|in|at|on|like|as in|or)\b"
)
_OWN = re.compile(r"i(?:'|$)")
_MARKUP = re.compile(r"[<>{}]+")
_LINE = re.compile(r"\s*\n\s*(?=[A-Z]|(?:i|im|i'm|ive|i've|ill|i'll|id|i'd|he|she|they|we|my)\b)")
_SETTING = re.compile(r"[\w.-]+=\S*")  # of markup: 'src=x'
_REPEATED = re.compile(r"\b(\w[\w' ]{0,40}?)(?:[ ,]+\1\b){3,}")  # nobody has taught it what a stuck key means
log = logging.getLogger("crosscut.safety")


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
        opinions = _opinions(stretches(message), item)
        firm = opinions if (rest := _unrefused(message)) is None else _opinions(rest, item)
    except Exception as error:
        log.critical("the second reader failed on a message: %s", type(error).__name__)
        return verdict.model_copy(update={"degraded": True, "cues": (*verdict.cues, UNREAD)})
    if verdict.level == "stop":
        return _doubted(verdict, opinions)
    return _raised(verdict, message, item, opinions, firm)


def _only_counts(message: Message) -> bool:
    """'Nearly every day.' tells how often and nothing else."""
    return all(token.tag not in _NOT_COUNTS for token in tagged(message.reading.text))


def _opinions(texts: list[str], item: int) -> list[Opinion]:
    """One for each stretch. More sentences only add stretches, so what stands beside hides nothing.

    The encoder lets go of the interpreter while it reads, so a long message is read by all cores at once.
    """
    if len(texts) <= _FEW:
        return [reader.opinion(text, item) for text in texts]
    return list(_pool().map(reader.opinion, texts, repeat(item)))


@cache
def _pool() -> ThreadPoolExecutor:
    """One for the whole process: several long messages at once share the cores instead of fighting for them."""
    return ThreadPoolExecutor(_CORES, thread_name_prefix="reader")


os.register_at_fork(after_in_child=_pool.cache_clear)  # a child has none of its parent's threads


def stretches(message: Message) -> list[str]:
    """Every sentence, every two and every three in a row; the same of its lines, where lines stand for sentences."""
    parts = [part.text for part in _parts(_told(message))] or [message.reading.text]
    return list(dict.fromkeys([*_joined(parts), *_joined(_line_parts(message))]))


def _joined(parts: list[str]) -> list[str]:
    sizes = range(1, _TOGETHER + 1)
    spans = [(at, at + size) for at in range(len(parts)) for size in sizes if at + size <= len(parts)]
    return [". ".join(parts[start:end]) for start, end in spans]


def _unrefused(message: Message) -> list[str] | None:
    """The stretches without sentences that only say what will not be done; None where all of them are to be read.

    "I'm not going to kill myself tonight" weighs like a plan; what takes it back stands beside it.
    """
    told = _told(message)
    others = [sentence for sentence in told if not sentence.only_refuses]
    if len(others) == len(told) or _line_parts(message) or any(other.has_apart("reopening") for other in others):
        return None
    return list(dict.fromkeys(_joined([part.text for part in _parts(others)])))


def _is_everyday(message: Message, item: int) -> bool:
    """Whether ordinary plans are all that it tells, beside what gives no worry."""
    told = _told(message)
    others = [sentence for sentence in told if not sentence.is_everyday]
    if len(others) == len(told) or _line_parts(message):
        return False
    texts = _joined([part.text for part in _parts(others)])
    needed = reader.limits().stop_from_none
    return not any(opinion.stop > needed or _is_flagged(opinion) for opinion in _opinions(texts, item))


def _line_parts(message: Message) -> list[str]:
    """Who breaks lines often leaves the full stops out; a line that goes on in the next one is no sentence."""
    lines = _LINE.split(message.reading.original) if "\n" in message.reading.original else []
    return [part.text for line in lines if len(lines) > 1 for part in _parts(_told(Message(read(line))))]


@dataclass(frozen=True)
class _Part:
    """A piece of a message as it is read, and where in the message it stands."""

    text: str
    start: int
    end: int


def _parts(sentences: Iterable[Sentence]) -> list[_Part]:
    """The sentences without what ends them, and without the signs of markup; one that goes on for long is cut."""
    return [
        _Part(_REPEATED.sub(r"\1", text[first:last]), start + first, min(start + last, end))
        for sentence in sentences
        for start, end, text in _pieces(sentence)
        for first, last in _cut(text)
    ]


def _cut(text: str) -> Iterator[tuple[int, int]]:
    """Between words, and each with the last words of the one before: what is said across a cut is read whole."""
    at = 0
    while len(text) - at > _LONG:
        end = max(text.rfind(" ", at, at + _LONG), at + _LONG - _LONGEST_WORD)
        yield at, end
        at = max(text.rfind(" ", at, end - _LAP), end - _LAP - _LONGEST_WORD) + 1
    if at < len(text):
        yield at, len(text)


def _pieces(sentence: Sentence) -> Iterator[tuple[int, int, str]]:
    """What stands between the signs of markup: where, and as it is read."""
    for start, end in _unmarked(sentence.plain):
        raw = sentence.plain[start:end]
        text = (raw if (start, end) == (0, len(sentence.plain)) else _SETTING.sub("", raw)).strip(_ENDS)
        lead = len(raw) - len(raw.lstrip(_ENDS))
        yield sentence.offset + start + lead, sentence.offset + start + len(raw.rstrip(_ENDS)), text


def _unmarked(text: str) -> list[tuple[int, int]]:
    signs = [sign.span() for sign in _MARKUP.finditer(text)]
    return list(zip([0, *(end for _, end in signs)], [*(start for start, _ in signs), len(text)], strict=True))


def _told(message: Message) -> list[Sentence]:
    """Without wishes to stop the conversation, and without the question asked back: 'Hurt myself? No!'"""
    told: list[Sentence] = []
    for sentence in reversed(message.sentences):
        denied = bool(told) and is_denied_answer(told[-1])
        if not sentence.leaves_off and not (denied and _asks_back(sentence)):
            told.append(sentence)
    return told[::-1]


def _asks_back(sentence: Sentence) -> bool:
    words = sentence.plain.split()
    return "?" in sentence.ending and len(words) <= _ECHO and not any(_OWN.match(word) for word in words)


def _doubted(verdict: RiskVerdict, opinions: list[Opinion]) -> RiskVerdict:
    """What was said takes more to doubt than what was put together from hints."""
    limits = reader.limits()
    limit = limits.doubt_inferred if reader.is_inferred(verdict.rule or "") else limits.doubt_said
    if any(opinion.stop > limit for opinion in opinions):
        return verdict
    return verdict.model_copy(update={"level": "flag", "engine": "rules+reader", "cues": (*verdict.cues, DOUBTED)})


def _raised(
    verdict: RiskVerdict, message: Message, item: int, opinions: list[Opinion], firm: list[Opinion]
) -> RiskVerdict:
    """To a flag by any opinion, to a stop by the `firm` ones."""
    limits = reader.limits()
    needed = limits.stop_from_none if verdict.level == "none" else limits.stop_from_flag
    stops = [opinion for opinion in firm if opinion.stop > needed]
    flagged = [opinion for opinion in opinions if _is_flagged(opinion)]
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
            "spans": shown((_span(message, item, level), *verdict.spans)),
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
    return _QUESTION.match(text) is not None or len(text.split()) <= _ECHO


def _flags(opinion: Opinion) -> RiskFlags:
    """The concerns that the reader is sure of, or else the likeliest one."""
    found = {c for c, odds in opinion.concerns.items() if odds > reader.limits().concern} | {opinion.likeliest}
    return RiskFlags(
        suicidality_mentioned="suicide" in found,
        self_harm_ideation="self_harm" in found,
        violence_risk="violence" in found,
        substance_abuse_signal="substance" in found,
    )


def _span(message: Message, item: int, level: Level) -> Span:
    """The reader names no words, so the therapist is shown the sentence that weighs most by itself.

    Each has been read before, so this costs nothing more.
    """
    parts = _parts(_told(message)) or [_Part(message.reading.text, 0, len(message.reading.text))]
    gravest = max(parts, key=lambda part: _weight(reader.opinion(part.text, item), level))
    start, end = message.reading.span(gravest.start, gravest.end)
    return Span(start=start, end=end, cue=RULE)


def _weight(opinion: Opinion, level: Level) -> tuple[bool, float]:
    """Drink needs surer words than danger, so that the higher odds are not always what was flagged."""
    return (True, opinion.stop) if level == "stop" else (_is_flagged(opinion), opinion.risk)
