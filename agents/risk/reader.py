"""A second reader beside the rules: two encoders that have learned from labelled turns what no cue table can list.

The thorough one (`reader.onnx`, six layers) takes milliseconds for each stretch of a message, so the quick one
(`quick.onnx`) reads first: it has learned to say what the thorough one says, and where it is sure, nobody else is
asked. `python -m tools.train risk` makes them. What they may change is decided in `agents/risk/second.py`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from pydantic import BaseModel, ConfigDict

from agents.language.encoder import Encoder
from agents.language.sentences import SentenceEncoder, joined
from agents.risk.tables import Concern
from agents.risk.verdict import Level
from instruments.level1 import level1

CONCERNS: tuple[Concern, ...] = ("suicide", "self_harm", "violence", "substance")
_QUICK = SentenceEncoder("agents.risk")
_THOROUGH = Encoder("agents.risk")


class Limits(BaseModel):
    """How sure the second reader must be, in log-odds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    stop_from_none: float
    stop_from_flag: float
    flag_from_none: float
    substance_from_none: float
    concern: float
    doubt_asked: float
    doubt_inferred: float
    doubt_said: float


class _Unsure(BaseModel):
    """Log-odds of a stop, and of any risk, between which the quick reader's word is not taken.

    Nor is it for a risk that is none of the four concerns.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    stop: tuple[float, float]
    risk: tuple[float, float]

    def of_stop(self, opinion: Opinion) -> bool:
        return self.stop[0] < opinion.stop < self.stop[1]

    def of_risk(self, opinion: Opinion) -> bool:
        return opinion.risk > self.risk[0] and not self.is_surely_risk(opinion)

    def is_surely_risk(self, opinion: Opinion) -> bool:
        return opinion.risk >= self.risk[1] and opinion.concerns[opinion.likeliest] >= limits().concern


class _Tables(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    limits: Limits
    unsure: _Unsure
    inferred: tuple[str, ...]
    certain: tuple[str, ...]
    beyond_doubt: tuple[str, ...]


@dataclass(frozen=True)
class Opinion:
    """Log-odds that a message is a stop, that it is at least a flag, and that a concern is in it."""

    stop: float
    risk: float
    concerns: dict[Concern, float]

    @property
    def likeliest(self) -> Concern:
        return max(self.concerns, key=lambda concern: self.concerns[concern])


@cache
def _tables() -> _Tables:
    return _Tables.model_validate(tomllib.loads(files("agents.risk").joinpath("reader.toml").read_text("utf-8")))


def limits() -> Limits:
    return _tables().limits


def is_inferred(rule: str) -> bool:
    """Whether a stop of this rule was put together from hints rather than said."""
    return rule.partition(":")[0] in _tables().inferred


def firmness(rule: str) -> int:
    """How hard a stop of this rule is to doubt: it was put together, was said, or is being done."""
    return 2 if rule in _tables().certain else int(not is_inferred(rule))


def is_beyond_doubt(rule: str, text: str) -> bool:
    """Whether a stop is of what is being done, or its text names the act in the plainest words: nobody doubts it."""
    sure = firmness(rule)
    return sure == 2 or (sure == 1 and _plainest().search(text) is not None)


@cache
def _plainest() -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(_tables().beyond_doubt)})\b")


def opinions(sentences: Sequence[str], item: int, known: Level = "none") -> list[Opinion]:
    """What the reader makes of every stretch of some sentences, as answer to the item's question.

    In the order of `stretches`: first of each sentence by itself. `known` is what the rules have found: the thorough
    reader is not asked about a stop, nor of a flag about anything less than a stop, nor beside what is sure already.
    """
    found = [_opinion(*row) for row in _QUICK.read(sentences, item).tolist()] if sentences else []
    texts = joined(sentences)
    for number in _worth_asking(found, known):
        found[number] = thorough(texts[number], item)
        if found[number].stop >= _tables().unsure.stop[1]:
            break
    return found


def _worth_asking(found: list[Opinion], known: Level) -> list[int]:
    """The stretches of which the thorough reader's word could change something, the gravest first."""
    unsure = _tables().unsure
    if known == "stop" or any(opinion.stop >= unsure.stop[1] for opinion in found):
        return []
    is_open = known == "none" and not any(unsure.is_surely_risk(opinion) for opinion in found)
    asked = [n for n, opinion in enumerate(found) if unsure.of_stop(opinion) or (is_open and unsure.of_risk(opinion))]
    return sorted(asked, key=lambda number: -found[number].stop)


def thorough(text: str, item: int) -> Opinion:
    """What six layers make of one stretch."""
    none, flag, stop, *concerns = _THOROUGH.read(topic(item), text)
    return _opinion(stop - float(np.logaddexp(none, flag)), float(np.logaddexp(flag, stop)) - none, *concerns)


def topic(item: int) -> str:
    """What the item's question was about."""
    return level1().item(item).topic if item else ""


def warm_up() -> None:
    """Load both, before a patient waits for them."""
    opinions(["I am well"], 0)
    thorough("I am well", 0)


def forget() -> None:
    _THOROUGH.forget()


def _opinion(stop: float, risk: float, *concerns: float) -> Opinion:
    return Opinion(stop, risk, dict(zip(CONCERNS, concerns, strict=True)))
