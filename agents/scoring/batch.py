"""The rules scorer over JSON lines, for measuring it and for scoring answers from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from pydantic import ConfigDict

from agents.lines import answered_lines
from agents.scoring.contract import AnswerToScore
from agents.scoring.rules import score_by_rules

FOLLOW_UP_FROM = 5
"""The interview's default: from this ambiguity on it asks once more."""


class _Line(AnswerToScore):
    model_config = ConfigDict(extra="ignore")

    id: str | int


def score_lines(lines: Iterable[str], follow_up_from: int = FOLLOW_UP_FROM) -> Iterator[str]:
    """One answer a line."""
    return answered_lines(lines, partial(_answer, follow_up_from))


def _answer(follow_up_from: int, given: Any) -> dict[str, object]:
    asked = _Line.model_validate(given)
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
