"""The risk rules over JSON lines, for measuring them and for reading old transcripts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agents.risk.rules import check_risk


class _Line(BaseModel):
    model_config = ConfigDict(extra="ignore")

    id: str | int
    item: int | None = Field(None, ge=0, le=23)
    text: str


def check_lines(lines: Iterable[str]) -> Iterator[str]:
    """One answer a line; a line that cannot be read is answered with an error, and the rest go on."""
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield json.dumps(_answer(number, line), ensure_ascii=False)


def _answer(number: int, line: str) -> dict[str, object]:
    try:
        entry = _Line.model_validate_json(line)
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        return {"id": None, "error": f"line {number}: {'.'.join(map(str, first['loc'])) or 'JSON'}: {first['msg']}"}
    verdict = check_risk(entry.text, entry.item or 0)
    return {
        "id": entry.id,
        "level": verdict.level,
        "flags": [name for name, is_set in verdict.flags.to_json_dict().items() if is_set],
        "spans": [{"start": s.start, "end": s.end, "cue": s.cue} for s in verdict.spans],
        "rule": verdict.rule,
        "engine": verdict.engine,
    }
