"""The risk rules over JSON lines, for measuring them and for reading old transcripts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from agents.lines import answered_lines
from agents.risk.rules import check_risk


class _Line(BaseModel):
    model_config = ConfigDict(extra="ignore")

    id: str | int
    item: int | None = Field(None, ge=0, le=23)
    text: str


def check_lines(lines: Iterable[str]) -> Iterator[str]:
    """One answer a line."""
    return answered_lines(lines, _answer)


def _answer(given: Any) -> dict[str, object]:
    entry = _Line.model_validate(given)
    verdict = check_risk(entry.text, entry.item or 0)
    return {
        "id": entry.id,
        "level": verdict.level,
        "flags": [name for name, is_set in verdict.flags.to_json_dict().items() if is_set],
        "spans": [{"start": s.start, "end": s.end, "cue": s.cue} for s in verdict.spans],
        "rule": verdict.rule,
        "engine": verdict.engine,
    }
