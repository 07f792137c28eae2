"""Reports that do not say whose they are, in an order that nobody can guess."""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files

from pydantic import BaseModel, ConfigDict

from agents.impressions.rules import limitations_of
from benchmark.comparison.replay import Case
from instruments.tools import Diagnosis, Impression, ReportSection
from settings import RULES

Pair = tuple[str, str]
_QUOTE = re.compile(r"(<quote>.*?</quote>)", re.DOTALL)
_VERSION = r"(?:[-‑–/:\s]?\d[\w-]*(?:\.[\w-]+)*|[-‑–/:][\w-]+)*"
_NUMBER = r"(?:[-‑–/:]?\d[\w.]*|\s\d+\.\d+)"
"""Behind an everyday word: "it cohered 3 times" is no version."""
_TELLING = re.compile(r"\w[-.:/]\w|\d")


class _Hidden(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    shown: str
    names: tuple[str, ...]
    everyday: tuple[str, ...]
    sizes: tuple[str, ...]
    selves: tuple[str, ...]


@cache
def _hidden() -> _Hidden:
    text = files("benchmark.comparison").joinpath("hidden.toml").read_text("utf-8")
    return _Hidden.model_validate(tomllib.loads(text))


def drawn(pairs: Sequence[Pair], seed: int) -> Pair:
    """The pair to vote on next, as left and right: by the seed alone, so that a stored ballot can be checked."""
    chance = random.Random(seed)  # noqa: S311  # a fair order, not a secret
    first, second = chance.choice(pairs)
    return (first, second) if chance.random() < 0.5 else (second, first)


def blinded(case: Case, diagnosis: Diagnosis, models: Iterable[str]) -> tuple[ReportSection, ...]:
    """The report on this diagnosis without a word on who formed it, nor on who held the interview.

    Limitations are those that hold for every engine: the others differ between a model and the rules.
    """
    mask = _Mask(models)
    masked = diagnosis.model_copy(
        update={
            "summary": mask(diagnosis.summary),
            "diagnoses": tuple(_masked(one, mask) for one in diagnosis.diagnoses),
            "limitations": limitations_of(case.call, by_rules=False),
        }
    )
    nobody = replace(case, engines=dict.fromkeys(case.engines, _hidden().shown))
    return nobody.report(masked, _hidden().shown)


def _masked(one: Impression, mask: _Mask) -> Impression:
    return one.model_copy(update={"name": mask(one.name), "steps": tuple(map(mask, one.steps))})


class _Mask:
    """Takes names of engines out of prose; what a patient said stays as it was said."""

    def __init__(self, models: Iterable[str]) -> None:
        hidden = _hidden()
        ids = {part for model in models for part in _parts(model)} - set(hidden.everyday)
        capitals = [shown for word in hidden.everyday for shown in (word.capitalize(), word.upper())]
        sizes = rf"(?:\s(?i:{_any_of(hidden.sizes)})\b)*"
        telling = rf"(?:(?i:{_any_of((*ids, *hidden.names))})|{_any_of(capitals)}){_VERSION}{sizes}"
        numbered = rf"(?i:{_any_of(hidden.everyday)}){_NUMBER}{_VERSION}{sizes}"
        self._pattern = re.compile(rf"(?<!\w)(?:{telling}|{numbered}|(?i:{_any_of(hidden.selves)})s?)(?!\w)")

    def __call__(self, text: str) -> str:
        parts = _QUOTE.split(text)
        return "".join(part if at % 2 else self._pattern.sub(_hidden().shown, part) for at, part in enumerate(parts))


def _any_of(words: Iterable[str]) -> str:
    """The longest first, so that none is taken for its beginning."""
    return "|".join(map(re.escape, sorted(words, key=lambda word: (-len(word), word))))


def _parts(model: str) -> set[str]:
    """What gives a model away: its id, its maker, and its name unless that is an everyday word such as `small`."""
    if model == RULES:
        return set()
    maker, _, name = model.partition("/")
    return {model, maker, name} if _TELLING.search(name) else {model, maker}
