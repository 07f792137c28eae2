"""A second reader beside the rules: a small encoder that has learned from labelled turns what no cue table can list.

Its vectors are the embedded MiniLM's; its three layers (`reader.onnx`) were trained by `python -m tools.train_reader`.
What its opinion may change is decided in `agents/risk/second.py`.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
import onnxruntime
from pydantic import BaseModel, ConfigDict

from agents.language import wordpieces
from agents.risk.tables import Concern

CONCERNS: tuple[Concern, ...] = ("suicide", "self_harm", "violence", "substance")
_LEVELS = 3  # none, flag, stop; the concerns follow
LONGEST = 160  # pieces: what it was trained on
_MODEL = "reader.onnx"


class Limits(BaseModel):
    """How sure the second reader must be, in log-odds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    stop_from_none: float
    stop_from_flag: float
    flag_from_none: float
    concern: float
    doubt_inferred: float


class _Tables(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    limits: Limits
    inferred: tuple[str, ...]
    topics: tuple[str, ...]


@dataclass(frozen=True)
class Opinion:
    """Log-odds that a message is a stop, that it is at least a flag, and that a concern is in it."""

    stop: float
    risk: float
    concerns: dict[Concern, float]


@cache
def _tables() -> _Tables:
    return _Tables.model_validate(tomllib.loads(files("agents.risk").joinpath("reader.toml").read_text("utf-8")))


def limits() -> Limits:
    return _tables().limits


def is_inferred(rule: str) -> bool:
    """Whether a stop of this rule was put together from hints rather than said."""
    return rule.partition(":")[0] in _tables().inferred


def topic(item: int) -> str:
    """What the item's question was about."""
    return _tables().topics[item]


@cache
def _session() -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # messages are short: threads would cost more than they bring
    model = files("agents.risk").joinpath(_MODEL).read_bytes()
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def opinion(text: str, item: int) -> Opinion:
    """What the reader makes of a short stretch of text, as answer to the item's question."""
    encoded = wordpieces.tokenizer().encode(topic(item), text)
    return _opinion(encoded.ids[:LONGEST], encoded.type_ids[:LONGEST])


def _opinion(pieces: list[int], segments: list[int]) -> Opinion:
    vectors = wordpieces.vectors(pieces, segments)[np.newaxis]
    (outputs,) = _session().run(None, {"vectors": vectors})
    none, flag, stop, *concerns = (float(value) for value in outputs[0])
    return Opinion(
        stop=stop - float(np.logaddexp(none, flag)),
        risk=float(np.logaddexp(flag, stop)) - none,
        concerns=dict(zip(CONCERNS, concerns, strict=True)),
    )
