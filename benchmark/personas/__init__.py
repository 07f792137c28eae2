"""Synthetic patients: gold scores, a way of speaking and an expected impression, one JSON file each.

They are invented, and none has a name. `days` beside a text says on how many of the last fourteen days it was so.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from errors import InputError, NotFoundError
from instruments.level1 import Score, level1
from instruments.profile import SessionStatus

ITEMS = range(1, 24)
IDEATION = 11
Style = Literal["plain", "terse", "chatty", "guarded", "formal", "casual", "learner"]
_LAST_DAY: tuple[tuple[int, Score], ...] = ((0, 0), (2, 1), (7, 2), (11, 3), (14, 4))


def score_of(days: int) -> Score:
    """The form's anchor for so many of the last fourteen days."""
    for last, score in _LAST_DAY:
        if 0 <= days <= last:
            return score
    raise ValueError(f"days must be 0 to 14, got {days}")


def days_of(score: Score) -> list[int]:
    """Every number of days that means this score."""
    return [days for days in range(15) if score_of(days) == score]


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Said(Frozen):
    """Words with the days for which they are true; both ends mean the same score."""

    days: tuple[int, int]
    text: str = Field(min_length=1)

    @model_validator(mode="after")
    def _one_score(self) -> Said:
        first, last = self.days
        if first > last or score_of(first) != score_of(last):
            raise ValueError(f"days {self.days} of {self.text!r} do not mean one score")
        return self

    @property
    def score(self) -> Score:
        return score_of(self.days[0])


class Impression(Frozen):
    name: str
    category: str


class Persona(Frozen):
    """`impression` is none for the healthy; `also` names what a comorbid patient has besides."""

    id: str = Field(pattern=r"^[a-z]+(-[a-z]+)*$")
    description: str
    age_band: str
    style: Style
    main_domain: str | None = None
    scores: dict[int, Score]
    impression: Impression | None = None
    also: tuple[Impression, ...] = ()
    outcome: Literal[SessionStatus.COMPLETED, SessionStatus.TERMINATED] = SessionStatus.COMPLETED
    stop_at: int | None = Field(default=None, ge=1, le=23)
    stop_words: tuple[str, ...] = ()
    passive_ideation: bool = False
    facts: dict[int, tuple[str, ...]] = {}
    answers: dict[int, tuple[Said, ...]] = {}
    """Whole answers, for items where the common phrases would not be what this patient says."""

    @model_validator(mode="after")
    def _scored(self) -> Persona:
        if list(self.scores) != list(ITEMS):
            raise ValueError(f"scores must be of items 1 to 23 in order, got {list(self.scores)}")
        for item, answers in self.answers.items():
            if any(said.score != self.scores[item] for said in answers):
                raise ValueError(f"an answer to item {item} does not mean its score, {self.scores[item]}")
        if stray := sorted({*self.facts, *self.answers} - {*ITEMS}):
            raise ValueError(f"facts or answers to items {stray}, which the measure does not have")
        return self

    @model_validator(mode="after")
    def _consistent(self) -> Persona:
        stops = self.outcome is SessionStatus.TERMINATED
        if stops != (self.stop_at is not None) or stops != bool(self.stop_words):
            raise ValueError(f"outcome {self.outcome.value!r} does not fit stop_at {self.stop_at} and its words")
        if self.passive_ideation and (stops or self.scores[IDEATION] == 0):
            raise ValueError("passive ideation means a score on item 11 and no stop")
        if self.scores[IDEATION] and not (stops or self.passive_ideation):
            raise ValueError("a score on item 11 needs passive_ideation or a stop")
        if (self.impression is None) != (self.main_domain is None) or (self.also and not self.impression):
            raise ValueError("impression and main_domain go together, and `also` needs both")
        if self.main_domain not in {None, *(domain.name for domain in level1().domains)}:
            raise ValueError(f"no domain is called {self.main_domain!r}")
        return self


@cache
def load_personas() -> dict[str, Persona]:
    """Every persona by its id, in the order of ids."""
    entries = sorted(files(__name__).iterdir(), key=lambda entry: entry.name)
    found = [read_persona(e.name, e.read_text("utf-8")) for e in entries if e.name.endswith(".json")]
    return {one.id: one for one in found}


def read_persona(file_name: str, content: str) -> Persona:
    try:
        one = Persona.model_validate_json(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the whole"
        raise InputError(f"{file_name} is not a persona: {place}: {first['msg']}") from None
    if file_name != f"{one.id}.json":
        raise InputError(f"{file_name} holds the persona {one.id!r}; the file's name must be its id")
    return one


def persona(identifier: str) -> Persona:
    try:
        return load_personas()[identifier]
    except KeyError:
        known = ", ".join(load_personas())
        raise NotFoundError(f"there is no persona {identifier!r}; choose one of {known}") from None
