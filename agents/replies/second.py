"""Cues first; the second reader may find something else in what they take for an answer."""

from __future__ import annotations

import logging
import tomllib
from functools import cache
from importlib.resources import files

from agents.language import read
from agents.replies import reader
from agents.replies.rules import Reply, longest_reply, read_by_rules

log = logging.getLogger("crosscut.replies")


def read_reply(text: str, *, item: int = 0, paused: bool = False) -> Reply:
    """Read a message that replies to `item`; `paused` when the conversation had been left off before it."""
    reply = read_by_rules(text, item=item, paused=paused)
    plain = read(text).text
    if reply.kind != "answer" or len(plain.split()) > longest_reply():
        return reply
    try:
        likely = reader.likely(plain, item, paused=paused)
    except Exception as error:
        log.error("the second reader failed on a reply: %s", type(error).__name__)
        return reply
    kind = max(likely, key=lambda name: likely[name])
    if kind == "answer" or likely[kind] < _limits()[kind] or (kind == "ready" and not paused):
        return reply
    return Reply(kind)


@cache
def _limits() -> dict[str, float]:
    return tomllib.loads(files("agents.replies").joinpath("reader.toml").read_text("utf-8"))
