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

from agents.grounding import fold
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
        ours = _ours(text)
        for forbidden in _rules().forbidden:
            if _has(ours, _with_names(forbidden.words), _of_the_measure()):
                raise RejectedOutput(f"the answer must not {forbidden.rule}")
        if mode != "diagnostic" and names_a_disorder(text, mode):
            raise RejectedOutput(f"in mode {mode} the answer must not name a disorder")


def names_a_disorder(text: str, mode: DiagnosticMode) -> bool:
    """Whether a text has the label of a disorder; where categories may be named, these are no labels."""
    exempt = (*disorders().categories, *_of_the_measure()) if mode == "categorical" else _of_the_measure()
    return _has(_ours(text), (*_names(), *_rules().labels.words), exempt)


def named_in(text: str, names: Iterable[str]) -> list[str]:
    """Those of the names that a text has; a category that begins with the name of a disorder does not name it."""
    ours, categories = _ours(text), disorders().categories
    return [name for name in names if _has(ours, (f"{name}*",), tuple(one for one in categories if one != name))]


def _ours(text: str) -> str:
    """Without the patient's words and the tags, and in one spelling: a line break does not hide a phrase."""
    return fold(_TAG.sub("", _QUOTE.sub(" ", text)))


def _has(text: str, phrases: tuple[str, ...], exempt: tuple[str, ...]) -> bool:
    """Whether a phrase stands there that is no part of an exempt one: Depression is a domain, major depression not."""
    allowed = [found.span() for found in any_of(_longest_first(exempt)).finditer(text)]
    return any(
        not any(start <= found.start() and found.end() <= end for start, end in allowed)
        for found in any_of(_longest_first(phrases)).finditer(text)
    )


@cache
def _longest_first(phrases: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(phrases, key=len, reverse=True))


@cache
def _with_names(phrases: tuple[str, ...]) -> tuple[str, ...]:
    """The phrases, with each disorder's name in the place of `{disorder}`."""
    return tuple(dict.fromkeys(phrase.replace("{disorder}", name) for phrase in phrases for name in _names()))


@cache
def _of_the_measure() -> tuple[str, ...]:
    domains = level1().domains
    titles = [title for domain in domains for title in (domain.level2, domain.name) if title]
    items = [text for domain in domains for item in domain.items for text in (item.text.rstrip("?"), item.topic)]
    return tuple(sorted({*titles, *items, level1().title}))


@cache
def _names() -> tuple[str, ...]:
    """In the plural as well."""
    return tuple(f"{disorder.name}*" for disorder in disorders().disorders)


@cache
def _rules() -> _Rules:
    text = files("agents.impressions").joinpath("language.toml").read_text("utf-8")
    return _Rules.model_validate(tomllib.loads(text))
