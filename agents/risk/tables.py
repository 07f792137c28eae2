"""The cue tables, compiled once."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from agents.language import Patterns, Scanner, compile_patterns

Concern = Literal["suicide", "self_harm", "violence", "voices", "substance", "bystander", "self", "other", "any"]
CueLevel = Literal["stop", "flag", "core", "support"]


class _CueData(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    concern: Concern
    level: CueLevel
    patterns: tuple[str, ...]
    weight: float = 0.0
    inherent: bool = False
    passive: bool = False
    attempt: bool = False
    only_now: bool = False
    faint: bool = False


@dataclass(frozen=True)
class Cue:
    id: str
    concern: Concern
    level: CueLevel
    inherent: bool = False
    passive: bool = False
    attempt: bool = False
    only_now: bool = False
    faint: bool = False
    weight: float = 0.0


@cache
def load_table(name: str) -> dict[str, Any]:
    """Read once and shared: whoever gets it leaves it as it is."""
    return tomllib.loads(files("agents.risk").joinpath(name).read_text("utf-8"))


@cache
def _cue_files() -> tuple[dict[str, Any], ...]:
    """Every table under cues/, in order of name: a new one needs no other change."""
    folder = files("agents.risk").joinpath("cues")
    return tuple(
        load_table(f"cues/{name}") for name in sorted(f.name for f in folder.iterdir() if f.name.endswith(".toml"))
    )


@cache
def _cue_data() -> tuple[_CueData, ...]:
    found = [_CueData.model_validate(entry) for table in _cue_files() for entry in table.get("cues", ())]
    if len({entry.id for entry in found}) < len(found):
        raise ValueError(f"two cues have the same id among {sorted(entry.id for entry in found)}")
    return tuple(found)


@cache
def cues() -> dict[str, Cue]:
    """The cues by their id."""
    return {c.id: Cue(**c.model_dump(exclude={"patterns"})) for c in _cue_data()}


@cache
def cue_scanner(*, supports: bool) -> Scanner:
    """Finds cues that mean something by themselves, or those that only support others."""
    chosen = {c.id: c.patterns for c in _cue_data() if (c.level == "support") == supports}
    return Scanner(chosen, _cue_groups())


def _cue_groups() -> dict[str, list[str]]:
    """The groups of all cue files; groups.toml has those that several of them use."""
    found: dict[str, list[str]] = {}
    for table in _cue_files():
        found |= table.get("groups", {})
    return found


@cache
def modifier_scanner(*names: str) -> Scanner:
    """Finds what changes the meaning of a cue; without names, all the modifiers that are read beside a cue."""
    data = {**load_table("modifiers.toml"), **load_table("idioms.toml")}
    groups = data.pop("groups")
    chosen = names or tuple(name for name in data if name not in _READ_APART)
    return Scanner({name: data[name]["patterns"] for name in chosen}, groups)


_BESIDE = ("assuring", "ordinary_when")  # read only with those that they may stand beside
_ALONE = ("leaving", "parting", "panic", "safety", "refusing", "reopening", "everyday")
_READ_APART = ("idioms", *_ALONE, *_BESIDE)


@cache
def small_words() -> frozenset[str]:
    """What may stand beside a wish to leave off without saying anything."""
    return frozenset(load_table("idioms.toml")["leaving"]["small"])


def compile_tables() -> None:
    """Compile everything now: otherwise the first messages of a process pay for it."""
    for scanner in (
        cue_scanner(supports=False),
        cue_scanner(supports=True),
        modifier_scanner(),
        modifier_scanner("idioms", "leaving"),
        modifier_scanner("idioms", "leaving", "parting"),
        modifier_scanner("leaving", "parting"),
        modifier_scanner("refusing", "assuring"),
        modifier_scanner("everyday", "ordinary_when"),
        *map(modifier_scanner, _ALONE),
    ):
        scanner.compile()
    answers()


@cache
def answers() -> dict[str, Patterns]:
    """How an answer to the item's question is affirmed or denied."""
    return {name: compile_patterns(entry["patterns"], {}) for name, entry in load_table("answers.toml").items()}
