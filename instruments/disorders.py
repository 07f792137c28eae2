"""The disorders that impressions may name and what tells them apart, read from `disorders.json`.

Required domains are those that the Level-1 measure must have reached; where a disorder shows itself in one of several,
it has none and its features decide. Weights say how typical a high score of an item is, not how severe it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from instruments.level1 import level1

Text = Annotated[str, Field(min_length=1)]
Weight = Annotated[float, Field(gt=0, le=1)]
ItemNumber = Annotated[int, Field(ge=1, le=23)]
Role = Literal["required", "typical", "against"]


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Feature(_Data):
    """Something that patients tell and the measure does not ask, with ways in which they say it."""

    id: Annotated[str, Field(pattern=r"^[a-z]+(_[a-z]+)*$")]
    description: Text
    wordings: tuple[Text, ...] = Field(min_length=12, max_length=25)


class Sign(_Data):
    """A feature as one disorder has it."""

    id: Text
    role: Role


class Neighbour(_Data):
    """A disorder that is easily mistaken for this one; in `difference`, "there" is the neighbour and "here" is this."""

    name: Text
    difference: Text


class Disorder(_Data):
    name: Text
    category: Text
    required_domains: tuple[Text, ...]
    supporting_domains: tuple[Text, ...]
    item_weights: dict[ItemNumber, Weight] = Field(min_length=1)
    criteria: tuple[Text, ...] = Field(min_length=6, max_length=12)
    """What a patient would report, each in a few words."""
    features: tuple[Sign, ...]
    adjacent: tuple[Neighbour, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _consistent(self) -> Disorder:
        where = f"in {self.name!r}"
        _refuse_repeats(f"domain {where}", (*self.required_domains, *self.supporting_domains))
        _refuse_repeats(f"feature {where}", (sign.id for sign in self.features))
        _refuse_repeats(f"neighbour {where}", (self.name, *(other.name for other in self.adjacent)))
        known = {domain.name: {item.number for item in domain.items} for domain in level1().domains}
        _refuse_unknown(f"domain {where}", (*self.required_domains, *self.supporting_domains), known)
        for name in self.required_domains:
            if known[name].isdisjoint(self.item_weights):
                raise ValueError(f"no item of the required domain {name!r} has a weight {where}")
        return self

    def features_of(self, role: Role) -> tuple[str, ...]:
        return tuple(sign.id for sign in self.features if sign.role == role)


class Disorders(_Data):
    notice: Text
    features: tuple[Feature, ...]
    disorders: tuple[Disorder, ...]

    @model_validator(mode="after")
    def _linked(self) -> Disorders:
        names = [disorder.name for disorder in self.disorders]
        ids = [feature.id for feature in self.features]
        used = [sign.id for disorder in self.disorders for sign in disorder.features]
        _refuse_repeats("disorder", names)
        _refuse_repeats("feature", ids)
        _refuse_repeats("wording", (plain(text) for feature in self.features for text in feature.wordings))
        _refuse_unknown("feature", used, ids)
        _refuse_unknown("disorder", (other.name for one in self.disorders for other in one.adjacent), names)
        if unused := sorted(set(ids) - set(used)):
            raise ValueError(f"no disorder uses the features {unused}")
        return self

    @property
    def categories(self) -> tuple[str, ...]:
        """Each once, in the order of the disorders."""
        return tuple(dict.fromkeys(disorder.category for disorder in self.disorders))

    def disorder(self, name: str) -> Disorder:
        return next(disorder for disorder in self.disorders if disorder.name == name)

    def feature(self, identifier: str) -> Feature:
        return next(feature for feature in self.features if feature.id == identifier)


def plain(text: str) -> str:
    """A wording without case and punctuation, so that two spellings of one sentence count as the same."""
    return " ".join("".join(c if c.isalnum() else " " for c in text.lower().replace("'", "")).split())


def _refuse_repeats(what: str, values: Iterable[str]) -> None:
    if twice := sorted(value for value, times in Counter(values).items() if times > 1):
        raise ValueError(f"{what} named twice: {twice}")


def _refuse_unknown(what: str, values: Iterable[str], known: Iterable[str]) -> None:
    if strange := sorted(set(values) - set(known)):
        raise ValueError(f"unknown {what}: {strange}")


@cache
def disorders() -> Disorders:
    return Disorders.model_validate_json(files("instruments").joinpath("disorders.json").read_text("utf-8"))
