"""What a risk check says of one message."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pydantic import BaseModel, ConfigDict

from instruments.profile import RiskFlags

Level = Literal["none", "flag", "stop"]
Engine = Literal["rules", "rules+reader", "rules+llm", "rules+reader+llm"]
MAX_SPANS = 8
RANK: dict[Level, int] = {"none": 0, "flag": 1, "stop": 2}


class Span(BaseModel):
    """Where in the patient's own text a cue stands, and which one."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    start: int
    end: int
    cue: str


def shown(spans: Iterable[Span]) -> tuple[Span, ...]:
    """What is shown to the therapist: the first few, and no stretch twice."""
    by_place: dict[tuple[int, int], Span] = {}
    for span in spans:
        by_place.setdefault((span.start, span.end), span)
    return tuple(by_place.values())[:MAX_SPANS]


class RiskVerdict(BaseModel):
    """`rule` decided the level; `cues` are the cues and modifiers that were applied, for the audit.

    `engine` names who decided: the second reader only where it changed the level, a model wherever it was heard.
    `tables` is the version of the tables and of the reader.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    level: Level
    flags: RiskFlags = RiskFlags()
    rule: str | None = None
    spans: tuple[Span, ...] = ()
    cues: tuple[str, ...] = ()
    engine: Engine = "rules"
    tables: str | None = None
    model: str | None = None
    model_level: Level | None = None
    prompt_version: str | None = None
    degraded: bool = False
    milliseconds: float = 0.0
