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
def support_scanner() -> Scanner:
    """Finds the cues that only support others."""
    return _cue_scanner("support")


@cache
def meaning_scanner() -> Scanner:
    """Finds the cues that mean something by themselves, and what changes their meaning."""
    beside = [name for name in _modifiers() if name not in (*APART, PANIC)]
    if not cues().keys().isdisjoint(beside):
        raise ValueError(f"cues and modifiers share the names {sorted(cues().keys() & set(beside))}")
    return Scanner.joined(_cue_scanner("stop", "flag", "core"), _modifier_scanner(*beside))


@cache
def apart_scanner() -> Scanner:
    """Finds what is said but not meant, and what a sentence may be about and nothing else."""
    return _modifier_scanner(*APART)


@cache
def panic_scanner() -> Scanner:
    return _modifier_scanner(PANIC)


APART = (
    *("idioms", "leaving", "parting", "refusing", "assuring", "reopening", "everyday", "ordinary_when"),
    *("others_deed", "trifles", "voice_order", "own_intent"),
)
PANIC = "panic"


def _cue_scanner(*levels: CueLevel) -> Scanner:
    """With the groups of all cue files; groups.toml has those that several of them use."""
    groups: dict[str, list[str]] = {}
    for table in _cue_files():
        groups |= table.get("groups", {})
    return Scanner({c.id: c.patterns for c in _cue_data() if c.level in levels}, groups)


def _modifier_scanner(*names: str) -> Scanner:
    tables = _modifiers()
    return Scanner({name: tables[name]["patterns"] for name in names}, load_table("modifiers.toml")["groups"])


@cache
def _modifiers() -> dict[str, Any]:
    data = {**load_table("modifiers.toml"), **load_table("idioms.toml")}
    return {name: table for name, table in data.items() if name != "groups"}


@cache
def small_words() -> frozenset[str]:
    """What may stand beside a wish to leave off without saying anything."""
    return frozenset(load_table("idioms.toml")["leaving"]["small"])


def compile_tables() -> None:
    """Compile everything now: otherwise the first messages of a process pay for it."""
    for scanner in (support_scanner(), meaning_scanner(), apart_scanner(), panic_scanner()):
        scanner.compile()
    answers()


@cache
def answers() -> dict[str, Patterns]:
    """How an answer to the item's question is affirmed or denied."""
    return {name: compile_patterns(entry["patterns"], {}) for name, entry in load_table("answers.toml").items()}
