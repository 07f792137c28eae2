"""The interviewer words an item's question and its possible follow-up; code checks both before anybody sees them."""

from __future__ import annotations

import random
import re
import tomllib
from functools import cache
from importlib.resources import files

from pydantic import BaseModel, ConfigDict, Field

from agents.contract import Agent, Budget, json_agent
from agents.models import ChatClient
from errors import RejectedOutput
from instruments.level1 import Item, level1

MAX_QUESTION_WORDS = 60


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class QuestionBrief(_Frozen):
    item: int = Field(ge=1, le=23)
    seed: int


class Draft(_Frozen):
    question: str
    follow_up: str


class _ItemWords(_Frozen):
    number: int
    topic: str
    questions: tuple[str, ...] = Field(min_length=1)


class _Wordings(_Frozen):
    intro: str
    closing: str
    acknowledgements: tuple[str, ...] = Field(min_length=2)
    follow_ups: tuple[str, ...] = Field(min_length=1)
    items: tuple[_ItemWords, ...] = Field(min_length=23, max_length=23)


@cache
def _wordings() -> _Wordings:
    return _Wordings.model_validate(tomllib.loads(files("agents").joinpath("wordings.toml").read_text("utf-8")))


def intro_text() -> str:
    return _wordings().intro.strip()


def closing_text() -> str:
    return _wordings().closing


def acknowledgement(seed: int, turn: int) -> str:
    """A short neutral phrase, never the same one twice in a row."""
    phrases = _wordings().acknowledgements
    offset = random.Random(seed).randrange(len(phrases))  # noqa: S311  # wording, not secrets
    return phrases[(offset + turn) % len(phrases)]


def word_by_rules(brief: QuestionBrief) -> Draft:
    words = _wordings()
    item = words.items[brief.item - 1]
    choice = random.Random(f"{brief.seed}:{brief.item}")  # noqa: S311  # wording, not secrets
    return Draft(
        question=choice.choice(item.questions), follow_up=choice.choice(words.follow_ups).format(topic=item.topic)
    )


def interviewer(client: ChatClient | None, budget: Budget) -> Agent[QuestionBrief, Draft]:
    return json_agent(
        "interviewer", word_by_rules, Draft, _variables, client=client, budget=budget, checks=(check_draft,)
    )


def _variables(brief: QuestionBrief) -> dict[str, str]:
    item = level1().item(brief.item)
    return {
        "item_number": str(item.number),
        "item_text": item.text,
        "concepts": "; ".join(" or ".join(group) for group in item.concepts),
    }


def check_draft(brief: QuestionBrief, draft: Draft) -> Draft:
    """The PRD's rules on a question, stated so that a model can mend its answer."""
    item = level1().item(brief.item)
    for name, text in (("question", draft.question), ("follow_up", draft.follow_up)):
        _check_shape(name, text)
    _check_verbatim(item, draft.question)
    for group in item.concepts:
        if not any(word in draft.question.lower() for word in group):
            raise RejectedOutput(f"question must keep the idea of: {' or '.join(group)}")
    return draft


def _check_shape(name: str, text: str) -> None:
    if not text.strip():
        raise RejectedOutput(f"{name} must not be empty")
    if text.count("?") != 1 or not text.strip().endswith("?"):
        raise RejectedOutput(f"{name} must be exactly one question and end with its question mark")
    if len(text.split()) > MAX_QUESTION_WORDS:
        raise RejectedOutput(f"{name} must have at most {MAX_QUESTION_WORDS} words")


def _check_verbatim(item: Item, question: str) -> None:
    if _letters(item.text) in _letters(question):
        raise RejectedOutput("question must paraphrase the item, not quote it")


def _letters(text: str) -> str:
    return " ".join(re.findall(r"[a-z']+", text.lower()))
