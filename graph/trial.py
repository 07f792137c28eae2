"""One tiny real call to whatever plays a role, for whoever sets an installation up."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial

from agents import background
from agents.models import ModelFactory
from errors import CrosscutError
from rag.embedding import embedder
from settings import RULES, Settings

_SECONDS = 15.0
_LONGEST_SHOWN = 80


@dataclass(frozen=True)
class Tried:
    """`error` is empty when it answered."""

    said: str
    seconds: float
    error: str = ""


def try_model(settings: Settings, role: str) -> Tried:
    started = time.monotonic()
    try:
        said = _vector(settings) if role == "embedding" else _word(settings, role)
    except CrosscutError as error:
        return Tried("", time.monotonic() - started, str(error))
    return Tried(said, time.monotonic() - started)


def _vector(settings: Settings) -> str:
    made = embedder(settings)
    (vector,) = made.embed(["a calm day"])
    return f"{made.model} gave {len(vector)} numbers"


def _word(settings: Settings, role: str) -> str:
    if settings.models[role] == RULES:
        return "The embedded rules answer by themselves; there is nothing to call."
    factory = ModelFactory(settings)
    try:
        client = factory.chat(role)
        assert client is not None  # noqa: S101  # the rules were dealt with
        answer = background.run(partial(client.complete, "Answer with one word.", "Are you there?", seconds=_SECONDS))
    finally:
        factory.close()
    return f"{answer.model} answered: {answer.text.strip()[:_LONGEST_SHOWN]}"
