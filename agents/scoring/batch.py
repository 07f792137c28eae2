"""The rules scorer over JSON lines, for measuring it and for scoring answers from elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from pydantic import ConfigDict, ValidationError

from agents.scoring.contract import AnswerToScore
from agents.scoring.rules import score_by_rules

FOLLOW_UP_FROM = 5
"""The interview's default: from this ambiguity on it asks once more."""


class _Line(AnswerToScore):
    model_config = ConfigDict(extra="ignore")

    id: str | int


def score_lines(lines: Iterable[str], follow_up_from: int = FOLLOW_UP_FROM) -> Iterator[str]:
    """One answer a line; a line that cannot be read is answered with an error, and the rest go on."""
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield json.dumps(_answer(number, line, follow_up_from), ensure_ascii=False)


def _answer(number: int, line: str, follow_up_from: int) -> dict[str, object]:
    try:
        asked = _Line.model_validate_json(line)
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        return {
            "id": _id_of(line),
            "error": f"line {number}: {'.'.join(map(str, first['loc'])) or 'JSON'}: {first['msg']}",
        }
    score = score_by_rules(asked)
    return {
        "id": asked.id,
        "score": score.score,
        "ambiguity": score.ambiguity,
        "evidenceQuotes": list(score.evidence_quotes),
        "confidence": score.confidence,
        "needsFollowUp": asked.follow_up_answer is None and score.ambiguity >= follow_up_from,
        "engine": "rules",
    }


def _id_of(line: str) -> str | int | None:
    """So that an error can be put beside its answer; None where the line tells no id."""
    try:
        found = json.loads(line)
    except ValueError:
        return None
    told = found.get("id") if isinstance(found, dict) else None
    return told if isinstance(told, str | int) and not isinstance(told, bool) else None
