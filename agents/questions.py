"""What every question must keep to, whoever worded it: the PRD's rules for the interviewer, stated as code.

A rule that is broken is named in words that a model can use to mend its question.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files

from pydantic import BaseModel, ConfigDict, Field

from agents.phrases import any_of
from errors import RejectedOutput
from instruments.level1 import Item, level1

__all__ = [
    "Draft",
    "QuestionBrief",
    "check_draft",
    "check_follow_up",
    "check_question",
    "keeps_concepts",
    "quotes_item",
    "rules_broken",
]

_MARKUP = re.compile(r"[\n\r<>{}\[\]*#_`|\\]")


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class QuestionBrief(_Frozen):
    item: int = Field(ge=1, le=23)
    seed: int


class Draft(_Frozen):
    """An item's question, and the question that follows an unclear answer."""

    question: str
    follow_up: str


class _Forbidden(_Frozen):
    rule: str
    words: tuple[str, ...] = Field(min_length=1)


class _Rules(_Frozen):
    max_words: int
    longest_run: int
    window: tuple[str, ...]
    how_often: tuple[str, ...]
    forbidden: tuple[_Forbidden, ...]


def check_draft(brief: QuestionBrief, draft: Draft) -> Draft:
    """Both questions as they are, or RejectedOutput with the rule that one of them breaks."""
    item = level1().item(brief.item)
    check_question(item, draft.question)
    check_follow_up(item, draft.follow_up)
    if _words(draft.question) == _words(draft.follow_up):
        raise RejectedOutput("follow_up must not repeat the question")
    return draft


def check_question(item: Item, text: str) -> None:
    _check_common(item, "question", text)
    if missing := [group for group in item.concepts if not _keeps(group, text)]:
        raise RejectedOutput(f"question must keep the idea of: {' or '.join(missing[0])}")


def check_follow_up(item: Item, text: str) -> None:
    _check_common(item, "follow_up", text)
    if not any_of(_rules().how_often).search(text):
        raise RejectedOutput("follow_up must ask on how many days it was so")


def keeps_concepts(item: Item, text: str) -> bool:
    return all(_keeps(group, text) for group in item.concepts)


def _check_common(item: Item, name: str, text: str) -> None:
    _check_shape(name, text)
    _check_verbatim(item, name, text)
    if not any_of(_rules().window).search(text):
        raise RejectedOutput(f"{name} must say that it is about the past two weeks")
    for rule in rules_broken(text):
        raise RejectedOutput(f"{name} must not {rule}")


def _check_shape(name: str, text: str) -> None:
    if not text.strip():
        raise RejectedOutput(f"{name} must not be empty")
    if _MARKUP.search(text.strip()):
        raise RejectedOutput(f"{name} must be plain text on one line")
    if text.count("?") != 1 or not text.strip().endswith("?"):
        raise RejectedOutput(f"{name} must be exactly one question and end with its question mark")
    if len(text.split()) > _rules().max_words:
        raise RejectedOutput(f"{name} must have at most {_rules().max_words} words")


def _check_verbatim(item: Item, name: str, text: str) -> None:
    if quotes_item(item, text):
        raise RejectedOutput(f"{name} must paraphrase the item, not quote it")


def quotes_item(item: Item, text: str) -> bool:
    """Whether the item's own words stand in the text, whole or in a long run."""
    canonical, said = _words(item.text), f" {' '.join(_words(text))} "
    run = min(len(canonical), _rules().longest_run + 1)
    runs = (" ".join(canonical[at : at + run]) for at in range(len(canonical) - run + 1))
    return any(f" {words} " in said for words in runs)


def rules_broken(text: str) -> list[str]:
    """What the text does that no question may, by the names that the rules have."""
    return [forbidden.rule for forbidden in _rules().forbidden if any_of(forbidden.words).search(text)]


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9']+", text.lower().replace("’", "'"))


def _keeps(group: tuple[str, ...], text: str) -> bool:
    """A concept is a word or the beginning of one: `irrita` is in "irritable", `way` is not in "always"."""
    return any(re.search(rf"(?<!\w){re.escape(word)}", text.lower().replace("’", "'")) for word in group)


@cache
def _rules() -> _Rules:
    return _Rules.model_validate(tomllib.loads(files("agents").joinpath("question_rules.toml").read_text("utf-8")))
