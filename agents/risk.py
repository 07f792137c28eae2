"""The risk check: a pure function that reads every message of a patient before anything else does."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Literal

from pydantic import BaseModel, ConfigDict

from instruments.profile import RiskFlags

Level = Literal["none", "flag", "stop"]


class RiskVerdict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    level: Level
    flags: RiskFlags = RiskFlags()
    rule: str | None = None


class _Cue(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    rule: str
    level: Level
    flags: tuple[str, ...]
    phrases: tuple[str, ...]


@cache
def _cues() -> tuple[tuple[re.Pattern[str], _Cue], ...]:
    data = tomllib.loads(files("agents").joinpath("risk.toml").read_text("utf-8"))
    cues = [_Cue.model_validate(cue) for cue in data["cues"]]
    return tuple((re.compile(r"\b(?:" + "|".join(map(re.escape, c.phrases)) + r")\b", re.I), c) for c in cues)


def check_risk(text: str, item: int) -> RiskVerdict:  # noqa: ARG001
    """Cues are listed from the highest level down, so the first that is found decides."""
    readable = text.replace("’", "'")
    for pattern, cue in _cues():
        if pattern.search(readable):
            return RiskVerdict(level=cue.level, flags=RiskFlags(**dict.fromkeys(cue.flags, True)), rule=cue.rule)
    return RiskVerdict(level="none")
