"""The patient of a benchmark: a model words what a persona has to tell, and code keeps it to that.

What is true is settled before anybody is asked, so the ground truth stays known whoever words it. The rules' answer is
the one that the persona's script has.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from agents.contract import Agent, Budget, json_agent
from agents.models import ChatClient
from agents.phrases import any_of
from agents.prompts import Prompt, as_data
from errors import RejectedOutput
from instruments.disorders import disorders
from instruments.level1 import level1

__all__ = ["PATIENT", "Manner", "PatientBrief", "Utterance", "check_utterance", "patient"]

PATIENT = "patient"
"""The agent under which its calls are accounted for; they are nobody's cost who interviews."""
Manner = Literal["clear", "vague", "rambling", "off_topic"]

_MARKUP = re.compile(r"[\n\r<>{}\[\]*#_`|\\]")
_NUMBERS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen",
)  # fmt: skip
_COUNT = re.compile(  # neither the window itself ("the last fourteen days") nor a rate
    r"(?<!last )(?<!past )(?<!these )(?<!the )(?<!of )(?<!in )(?<!over )"
    rf"\b(\d+|{'|'.join(_NUMBERS)}) (?:days|nights|evenings|mornings)\b(?! (?:a|per|each|every|in the|of the) week)",
    re.IGNORECASE,
)
_WINDOW = 14


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PatientBrief(_Frozen):
    """`truth` may be told. `scripted` is the persona's prepared answer, which no model sees."""

    item: int = Field(ge=1, le=23)
    days: int = Field(ge=0, le=_WINDOW)
    manner: Manner
    style: str
    age_band: str
    about: str = ""
    truth: tuple[str, ...] = ()
    question: str
    said_before: str = ""
    scripted: str


class Utterance(_Frozen):
    """What the patient says, and on how many days it then was so."""

    answer: str
    days: int = Field(ge=0, le=_WINDOW)


class _Forbidden(_Frozen):
    rule: str
    words: tuple[str, ...] = Field(min_length=1)


class _Rules(_Frozen):
    max_words: int
    styles: dict[str, str]
    manners: dict[Manner, str]
    forbidden: tuple[_Forbidden, ...]


def patient(client: ChatClient | None, budget: Budget, prompt: Prompt | None = None) -> Agent[PatientBrief, Utterance]:
    return json_agent(
        PATIENT,
        _by_script,
        Utterance,
        _variables,
        client=client,
        budget=budget,
        checks=(check_utterance,),
        prompt=prompt,
    )


def check_utterance(brief: PatientBrief, said: Utterance) -> Utterance:
    """The answer without blanks around it, or RejectedOutput with the rule that it breaks."""
    text = said.answer.strip()
    _check_shape(brief, text)
    _check_truth(brief, said.days, text)
    told = " ".join(brief.truth)
    for forbidden in _rules().forbidden:
        found = any_of(forbidden.words).findall(text)
        if [phrase for phrase in found if phrase.lower() not in told.lower()]:
            raise RejectedOutput(f"answer must not {forbidden.rule}")
    if any_of(_disorder_names()).search(text):
        raise RejectedOutput("answer must not name a disorder")
    return Utterance(answer=text, days=said.days)


def _check_shape(brief: PatientBrief, text: str) -> None:
    if not any(sign.isalnum() for sign in text):
        raise RejectedOutput("answer must not be empty")
    if _MARKUP.search(text):
        raise RejectedOutput("answer must be plain text on one line")
    if len(text.split()) > _rules().max_words:
        raise RejectedOutput(f"answer must have at most {_rules().max_words} words")
    if _plain(brief.question) and _plain(brief.question) in _plain(text):
        raise RejectedOutput("answer must not repeat the question")


def _check_truth(brief: PatientBrief, days: int, text: str) -> None:
    if days != brief.days:
        raise RejectedOutput(f"days must be {brief.days}, which is what is true of this patient")
    counts = {_number(found) for found in _COUNT.findall(text)}
    if counts and brief.days not in counts:
        raise RejectedOutput(f"answer must name no other number of days than {brief.days}")


def _number(found: str) -> int:
    return int(found) if found.isdigit() else _NUMBERS.index(found.lower())


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


def _by_script(brief: PatientBrief) -> Utterance:
    return Utterance(answer=brief.scripted, days=brief.days)


def _variables(brief: PatientBrief) -> dict[str, str]:
    rules = _rules()
    return {
        "age_band": brief.age_band,
        "about": brief.about,
        "style": rules.styles[brief.style],
        "item_text": level1().item(brief.item).text,
        "days": str(brief.days),
        "truth": "\n".join(f"- {fact}" for fact in brief.truth) or "- (nothing more)",
        "manner": rules.manners[brief.manner],
        "question": as_data("question", brief.question),
        "said_before": as_data("said before", brief.said_before),
    }


@cache
def _disorder_names() -> tuple[str, ...]:
    return tuple(disorder.name for disorder in disorders().disorders)


@cache
def _rules() -> _Rules:
    return _Rules.model_validate(tomllib.loads(files("agents").joinpath("patient_rules.toml").read_text("utf-8")))
