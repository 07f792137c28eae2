"""What a risk check says of one message."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from instruments.profile import RiskFlags

Level = Literal["none", "flag", "stop"]
RANK: dict[Level, int] = {"none": 0, "flag": 1, "stop": 2}


class Span(BaseModel):
    """Where in the patient's own text a cue stands, and which one."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    start: int
    end: int
    cue: str


class RiskVerdict(BaseModel):
    """`rule` decided the level; `cues` are the cues and modifiers that were applied, for the audit."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    level: Level
    flags: RiskFlags = RiskFlags()
    rule: str | None = None
    spans: tuple[Span, ...] = ()
    cues: tuple[str, ...] = ()
    engine: Literal["rules", "rules+llm"] = "rules"
    model: str | None = None
    model_level: Level | None = None
    prompt_version: str | None = None
    degraded: bool = False
    milliseconds: float = 0.0
