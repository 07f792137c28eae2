"""Steps of the interview and rules of the risk check in words, each with its own name in smaller type."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from agents.risk import Level
from agents.risk.tables import cues
from ui.workspace.markup import text

_ITEM = re.compile(r"item-\d+(-dated)?")


def steps(nodes: Iterable[str]) -> str:
    """What led to a checkpoint."""
    names = list(nodes)
    return _with_name(", ".join(_words("nodes", name) for name in names), " + ".join(names))


def rule_told(rule: str, level: Level) -> str:
    """What a rule stands for; behind its colon stand hints, or a language."""
    name, _, more = rule.partition(":")
    words = _words("rules", "item" if _ITEM.fullmatch(name) else name)
    if level == "flag" and (cue := cues().get(name)) and cue.level == "stop":
        words = f"{words}; {_words('levels', level)}"
    return _with_name(f"{words} {more}" if name == "language" else words, rule)


def _with_name(words: str, name: str) -> str:
    return f"{text(words)} <small>{text(name)}</small>"


def _words(kind: str, name: str) -> str:
    return _known()[kind].get(name, name.replace("-", " ").replace("_", " ").lower())


@cache
def _known() -> dict[str, dict[str, str]]:
    return tomllib.loads(files("ui.workspace").joinpath("words.toml").read_text("utf-8"))
