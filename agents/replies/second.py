"""Cues first; the second reader may find something else in the reply where it is sure of it."""

from __future__ import annotations

import logging
import re
import tomllib
from functools import cache
from importlib.resources import files

from agents.faults import reader_failed
from agents.language import read
from agents.language.frequency import Frequency, frequencies
from agents.language.readable import everyday_words
from agents.replies import reader
from agents.replies.rules import (
    Reply,
    ReplyKind,
    denies,
    lasts,
    longest_reply,
    read_by_rules,
    sentences_of,
    stays_away,
    topic_of,
    went_back,
)

_YES = re.compile(r"(?:yes|yeah|yep|yup|aye|yea)\b")
_WORD = re.compile(r"[\w']+")
_BESIDE = 7  # words
_OUTRIGHT = 4  # words: the cues know the short ways of saying it, and what goes back names what it goes back to
log = logging.getLogger("crosscut.replies")


def read_reply(text: str, *, item: int = 0, paused: bool = False) -> Reply:
    """Read a message that replies to `item`; `paused` when the conversation had been left off before it."""
    reply = read_by_rules(text, item=item, paused=paused)
    plain = read(text).text.strip()
    words = len(plain.split())
    if paused and stays_away(plain) and not any(map(_is_count, frequencies(plain))):
        return Reply("pause", distressed=reply.distressed)
    if reply.kind == "pause" and reply.answers and words <= _BESIDE:
        return reply  # 'every day. I have to go'
    said_outright = reply.kind != "answer" and (words <= _OUTRIGHT or bool(reply.about) or reply.distressed)
    if said_outright or reply.kind not in reader.KINDS or words > longest_reply():
        return reply
    try:
        likely = reader.likely(plain, item, paused=paused)
    except Exception as error:
        log.error("the second reader failed on a reply: %s", type(error).__name__)
        reader_failed("replies")
        return reply
    kind = max(likely, key=lambda name: likely[name])
    if kind == reply.kind or likely[kind] < _limits()[kind] or not _may_be(kind, plain, paused=paused):
        return reply
    meant = read(text)
    if kind == "earlier":
        return went_back(meant, sentences_of(meant, item), item)
    if kind == "question":
        return Reply(kind, topic=topic_of(sentences_of(meant, item)))
    return Reply(kind, answers=kind == "answer")


def _may_be(kind: ReplyKind, text: str, *, paused: bool) -> bool:
    """A yes and a count stay answers whatever is said beside them, a plain no is no refusal, and whoever speaks of
    their life asks for no break; nobody comes back who was not away.
    """
    if (kind == "ready" and not paused) or (kind == "refusal" and denies(text)) or (kind == "pause" and lasts(text)):
        return False
    if kind == "refusal" and everyday_words().isdisjoint(_WORD.findall(text)):
        return False  # the reader has learned English: of other words it knows nothing
    return kind in ("answer", "earlier") or not (_YES.match(text) or any(map(_is_count, frequencies(text))))


def _is_count(frequency: Frequency) -> bool:
    return frequency.grade in ("count", "anchor") and frequency.form not in ("ago", "within", "dates")


@cache
def _limits() -> dict[str, float]:
    return tomllib.loads(files("agents.replies").joinpath("reader.toml").read_text("utf-8"))
