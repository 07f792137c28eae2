"""The DSM-5 Level-1 Cross-Cutting Symptom Measure: 23 items in 13 domains, read from `level1.json`."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

Score = Literal[0, 1, 2, 3, 4]


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Anchor(_Data):
    score: Score
    label: str
    meaning: str


class Item(_Data):
    number: int = Field(ge=1, le=23)
    text: str
    topic: str
    """What it is about in a few words. The trained readers have learned from these: other words need new training."""
    concepts: tuple[tuple[str, ...], ...]
    """A paraphrase must keep every concept: at least one wording of each group."""

    @property
    def id(self) -> str:
        return item_id(self.number)


class Domain(_Data):
    name: str
    threshold: Score
    level2: str | None
    items: tuple[Item, ...]


class Level1(_Data):
    title: str
    notice: str
    window_days: int
    scale: tuple[Anchor, ...]
    domains: tuple[Domain, ...]

    @model_validator(mode="after")
    def _complete(self) -> Level1:
        numbers = [item.number for domain in self.domains for item in domain.items]
        if numbers != list(range(1, 24)):
            raise ValueError(f"items must be 1 to 23 in order, got {numbers}")
        if [anchor.score for anchor in self.scale] != [0, 1, 2, 3, 4]:
            raise ValueError("the scale must have the anchors 0 to 4 in order")
        return self

    @property
    def items(self) -> tuple[Item, ...]:
        return tuple(item for domain in self.domains for item in domain.items)

    def item(self, number: int) -> Item:
        return self.items[number - 1]

    def domain_of(self, number: int) -> Domain:
        return next(d for d in self.domains if any(i.number == number for i in d.items))


def item_id(number: int) -> str:
    return f"L1-{number:02d}"


def item_number(identifier: str) -> int:
    return int(identifier.removeprefix("L1-"))


@cache
def level1() -> Level1:
    return Level1.model_validate_json(files("instruments").joinpath("level1.json").read_text("utf-8"))
