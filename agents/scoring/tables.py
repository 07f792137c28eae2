"""The scorer's tables: what items are about, and the words that tell who, when and whether."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files

from pydantic import BaseModel, ConfigDict

from agents.language import Scanner

_CONTRACTED = re.compile(r"\b(ca|could|do|did|does|is|was|are|were|have|has|had|would|wo|should)n't\b")
_SHORT = re.compile(r"\b(i|it|that|there|they|we|he|she)'(m|s|ve|re|d)\b")
_LONG = {"m": "am", "s": "is", "ve": "have", "re": "are", "d": "would"}
_FULL = {"ca": "can", "wo": "will"}
PRESENT, ABSENT, NAME, EVENT = "present", "absent", "name", "event"
EXPLAINED, UNEXPLAINED, NEUTRAL, NEEDED = "explained", "unexplained", "neutral", "needed"

_SIDES = (PRESENT, ABSENT, EXPLAINED, UNEXPLAINED, NEUTRAL, NEEDED, EVENT)


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Topic(_Strict):
    """What an item is about; `both_sides`: the item needs all that it names."""

    present: tuple[str, ...]
    absent: tuple[str, ...]
    unexplained: tuple[str, ...] = ()
    explained: tuple[str, ...] = ()
    neutral: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()
    name: tuple[str, ...] = ()
    event: tuple[str, ...] = ()
    related: tuple[int, ...] = ()
    both_sides: bool = False


class Topics(_Strict):
    groups: dict[str, tuple[str, ...]]
    items: dict[int, Topic]


class Cues(_Strict):
    groups: dict[str, tuple[str, ...]]
    tables: dict[str, tuple[str, ...]]
    words: dict[str, str]


class Measures(_Strict):
    """How much one of something is; for what is `filled`, its contents tell. `nothing`: what does not count at all."""

    nothing: tuple[str, ...] = ()
    filled: tuple[str, ...]
    each: dict[str, float]
    contents: dict[str, float]


class AllMeasures(_Strict):
    drinks: Measures
    tobacco: Measures


@cache
def measures() -> AllMeasures:
    return AllMeasures.model_validate(_table("measures.toml"))


@cache
def topics() -> Topics:
    """Every table under topics/."""
    groups: dict[str, object] = {}
    items: dict[str, object] = {}
    folder = files("agents.scoring").joinpath("topics")
    for name in sorted(file.name for file in folder.iterdir() if file.name.endswith(".toml")):
        table = tomllib.loads(folder.joinpath(name).read_text("utf-8"))
        groups |= table.get("groups", {})
        items |= table.get("items", {})
    return Topics.model_validate({"groups": groups, "items": items})


@cache
def cues() -> Cues:
    return Cues.model_validate(_table("cues.toml"))


@cache
def fillers() -> frozenset[str]:
    return frozenset(cues().words["filler"].split())


@cache
def before_person() -> frozenset[str]:
    return frozenset(cues().words["before_person"].split())


@cache
def cue_scanner() -> Scanner:
    """What is looked for in every answer: the cues by their names, and the names of all symptoms."""
    named = {label(number, NAME): topic.name for number, topic in topics().items.items()}
    return _scanner({**cues().tables, **named})


@cache
def topic_scanner(item: int) -> Scanner:
    """One item's own words; most answers are read for one item only, so the others' are left alone."""
    topic = topics().items[item]
    return _scanner({label(item, side): getattr(topic, side) for side in _SIDES})


def _scanner(tables: dict[str, tuple[str, ...]]) -> Scanner:
    groups = {**topics().groups, **cues().groups}
    spelled = {name: _spelled_out(patterns) for name, patterns in tables.items()}
    return Scanner(spelled, {name: _spelled_out(patterns) for name, patterns in groups.items()})


def _spelled_out(patterns: tuple[str, ...]) -> tuple[str, ...]:
    """Whoever writes "didn't" in a table also means "did not", and with "it's" also "it is"."""
    negated = (_CONTRACTED.sub(lambda verb: f"({verb[0]}|{_FULL.get(verb[1], verb[1])} not)", p) for p in patterns)
    return tuple(_SHORT.sub(lambda word: f"({word[0]}|{word[1]} {_LONG[word[2]]})", pattern) for pattern in negated)


def label(item: int, side: str) -> str:
    return f"{item}/{side}"


def _table(name: str) -> dict[str, object]:
    return tomllib.loads(files("agents.scoring").joinpath(name).read_text("utf-8"))
