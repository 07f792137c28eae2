"""A second reader beside the rules: a small encoder that has learned from labelled turns what no cue table can list.

`python -m tools.train risk` makes it (`reader.onnx`). What it may change is decided in `agents/risk/second.py`.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from pydantic import BaseModel, ConfigDict

from agents.language.encoder import Encoder
from agents.risk.tables import Concern
from instruments.level1 import level1

CONCERNS: tuple[Concern, ...] = ("suicide", "self_harm", "violence", "substance")
_ENCODER = Encoder("agents.risk")


class Limits(BaseModel):
    """How sure the second reader must be, in log-odds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    stop_from_none: float
    stop_from_flag: float
    flag_from_none: float
    substance_from_none: float
    concern: float
    doubt_inferred: float
    doubt_said: float


class _Tables(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    limits: Limits
    inferred: tuple[str, ...]
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


def is_beyond_doubt(text: str) -> bool:
    """Whether a text names the act in so plain words that no opinion may lower a stop."""
    return _plainest().search(text) is not None


@cache
def _plainest() -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(_tables().beyond_doubt)})\b")


def topic(item: int) -> str:
    """What the item's question was about."""
    return level1().item(item).topic if item else ""


def forget() -> None:
    _ENCODER.forget()


def opinion(text: str, item: int) -> Opinion:
    """What the reader makes of a short stretch of text, as answer to the item's question."""
    none, flag, stop, *concerns = _ENCODER.read(topic(item), text)
    return Opinion(
        stop=stop - float(np.logaddexp(none, flag)),
        risk=float(np.logaddexp(flag, stop)) - none,
        concerns=dict(zip(CONCERNS, concerns, strict=True)),
    )
