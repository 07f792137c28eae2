"""What the words of an impression must keep to, whoever wrote them: the PRD's rules and those of the mode, as code.

A rule that is broken is named in words that a model can use to mend its answer.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from pydantic import BaseModel, ConfigDict, Field

from agents.phrases import any_of
from errors import RejectedOutput
from instruments.disorders import disorders
from instruments.level1 import level1
from instruments.tools import DiagnosticMode

_QUOTE = re.compile(r"<quote>.*?</quote>", re.DOTALL)
_TAG = re.compile(r"</?\w+>")


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class _Forbidden(_Frozen):
    rule: str
    words: tuple[str, ...] = Field(min_length=1)


class _Labels(_Frozen):
    words: tuple[str, ...]


class _Rules(_Frozen):
    forbidden: tuple[_Forbidden, ...]
    labels: _Labels


def check_language(mode: DiagnosticMode, texts: Iterable[str]) -> None:
    """Raises RejectedOutput with the rule that one of the texts breaks."""
    for text in texts:
        ours = _without_exempt(text)
        for forbidden in _rules().forbidden:
            if any_of(forbidden.words).search(ours):
                raise RejectedOutput(f"the answer must not {forbidden.rule}")
        if mode != "diagnostic" and names_a_disorder(text, mode):
            raise RejectedOutput(f"in mode {mode} the answer must not name a disorder")


def names_a_disorder(text: str, mode: DiagnosticMode) -> bool:
    """Whether a text has the label of a disorder; where categories may be named, these are no labels."""
    ours = _without_exempt(text)
    if mode == "categorical":
        ours = any_of(disorders().categories).sub(" ", ours)
    return bool(any_of(_names()).search(ours) or any_of(_rules().labels.words).search(ours))


def _without_exempt(text: str) -> str:
    """Without the patient's words and the measure's own names."""
    return any_of(_of_the_measure()).sub(" ", _TAG.sub("", _QUOTE.sub(" ", text)))


@cache
def _of_the_measure() -> tuple[str, ...]:
    domains = level1().domains
    titles = [title for domain in domains for title in (domain.level2, domain.name) if title]
    items = [text for domain in domains for item in domain.items for text in (item.text.rstrip("?"), item.topic)]
    return tuple(sorted({*titles, *items, level1().title}, key=len, reverse=True))


@cache
def _names() -> tuple[str, ...]:
    return tuple(disorder.name for disorder in disorders().disorders)


@cache
def _rules() -> _Rules:
    text = files("agents.impressions").joinpath("language.toml").read_text("utf-8")
    return _Rules.model_validate(tomllib.loads(text))
