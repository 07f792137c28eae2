"""What the second reader may change: it raises, and it doubts a stop that was only inferred. It clears nothing."""

from __future__ import annotations

import logging
import re
from dataclasses import replace

from agents.language.tagging import tagged
from agents.risk import reader
from agents.risk.message import Message, Sentence
from agents.risk.modifiers import is_denied_answer
from agents.risk.reader import Opinion
from agents.risk.verdict import RiskVerdict, Span
from instruments.profile import RiskFlags

RULE = "second-reader"
UNREAD = "second-reader-fault"
DOUBTED = "second-reader-doubts"
_SELF_HARM_ITEM = 11
_NOT_COUNTS = ("WORD", "DATE")
_MOST_SENTENCES = 12  # that are looked at for the gravest
_TOGETHER = 3  # sentences in a stretch
_MANY = 60  # sentences
_LONG = 400  # characters of a sentence
_ENDS = " .!?…,;:-"
_ECHO = 6  # words
_OWN = re.compile(r"i(?:'|$)")
_MARKUP = re.compile(r"[<>{}]+")
_SETTING = re.compile(r"[\w.-]+=\S*")  # of markup: 'src=x'
_REPEATED = re.compile(r"\b(\w[\w' ]{0,40}?)(?:[ ,]+\1\b){3,}")  # nobody has taught it what a stuck key means
log = logging.getLogger("crosscut.safety")


def with_second_opinion(verdict: RiskVerdict, message: Message, item: int) -> RiskVerdict:
    """An explicit stop needs none, nor does a bare count or who would rather stop the conversation.

    A reader that fails leaves the rules, marked degraded.
    """
    explicit = verdict.level == "stop" and not reader.is_inferred(verdict.rule or "")
    if explicit or all(sentence.leaves_off for sentence in message.sentences):
        return verdict
    if verdict.level == "none" and item != _SELF_HARM_ITEM and _only_counts(message):
        return verdict
    try:
        opinion = _read(message, item)
    except Exception as error:
        log.critical("the second reader failed on a message: %s", type(error).__name__)
        return verdict.model_copy(update={"degraded": True, "cues": (*verdict.cues, UNREAD)})
    if verdict.level == "stop":
        return _doubted(verdict, opinion)
    return _raised(verdict, message, item, opinion)


def _only_counts(message: Message) -> bool:
    """'Nearly every day.' tells how often and nothing else."""
    return all(token.tag not in _NOT_COUNTS for token in tagged(message.reading.text))


def _read(message: Message, item: int) -> Opinion:
    """The gravest opinion of any stretch. More sentences only add stretches, so what stands beside hides nothing."""
    opinions = [reader.opinion(text, item) for text in stretches(message)]
    return replace(max(opinions, key=lambda o: o.stop), risk=max(o.risk for o in opinions))


def stretches(message: Message) -> list[str]:
    """Every sentence, every two and every three in a row; of a very long message, only every other three."""
    parts = _parts(message)
    if len(parts) > _MANY:
        spans = [(at, at + size) for at in range(len(parts)) for size in (1, 2)]
        spans += [(at, at + _TOGETHER) for at in range(0, len(parts), _TOGETHER - 1)]
    else:
        sizes = range(1, _TOGETHER + 1)
        spans = [(at, at + size) for at in range(len(parts)) for size in sizes if at + size <= len(parts)]
    return list(dict.fromkeys(". ".join(parts[start:end]) for start, end in spans))


def _parts(message: Message) -> list[str]:
    """The sentences without what ends them, and without the signs of markup; one that goes on for long is cut."""
    pieces = [piece.strip(_ENDS) for sentence in _told(message) for piece in _unmarked(sentence.plain)]
    found = [text[at : at + _LONG] for text in pieces for at in range(0, len(text), _LONG)]
    return [_REPEATED.sub(r"\1", text) for text in found] or [message.reading.text]


def _unmarked(text: str) -> list[str]:
    return [_SETTING.sub("", piece) for piece in _MARKUP.split(text)] if _MARKUP.search(text) else [text]


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


def _doubted(verdict: RiskVerdict, opinion: Opinion) -> RiskVerdict:
    if opinion.stop > reader.limits().doubt_inferred:
        return verdict
    return verdict.model_copy(update={"level": "flag", "cues": (*verdict.cues, DOUBTED)})


def _raised(verdict: RiskVerdict, message: Message, item: int, opinion: Opinion) -> RiskVerdict:
    limits = reader.limits()
    needed = limits.stop_from_none if verdict.level == "none" else limits.stop_from_flag
    if opinion.stop > needed:
        level = "stop"
    elif verdict.level == "none" and opinion.risk > limits.flag_from_none and not _only_asks(message):
        level = "flag"
    else:
        return verdict
    return verdict.model_copy(
        update={
            "level": level,
            "rule": RULE,
            "flags": verdict.flags | _flags(opinion),
            "spans": verdict.spans or _spans(message, item),
            "cues": (*verdict.cues, RULE),
        }
    )


def _only_asks(message: Message) -> bool:
    """'What do you mean?' says nothing of the patient, whatever the question was about."""
    return all("?" in sentence.ending for sentence in message.sentences)


def _flags(opinion: Opinion) -> RiskFlags:
    """The concerns that the reader is sure of, or else the likeliest one."""
    likeliest = max(opinion.concerns, key=lambda concern: opinion.concerns[concern])
    found = {c for c, odds in opinion.concerns.items() if odds > reader.limits().concern} | {likeliest}
    return RiskFlags(
        suicidality_mentioned="suicide" in found,
        self_harm_ideation="self_harm" in found,
        violence_risk="violence" in found,
        substance_abuse_signal="substance" in found,
    )


def _spans(message: Message, item: int) -> tuple[Span, ...]:
    """The reader names no words, so the therapist is shown the sentence that weighs most by itself."""
    sentences = message.sentences[:_MOST_SENTENCES]
    gravest = (
        max(sentences, key=lambda s: reader.opinion(s.plain.strip(_ENDS), item).risk)
        if len(sentences) > 1
        else sentences[0]
    )
    start, end = message.reading.span(gravest.offset, gravest.offset + len(gravest.plain))
    return (Span(start=start, end=end, cue=RULE),)
