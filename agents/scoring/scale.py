"""Days of fourteen on the form's scale."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agents.scoring.weigh import Finding

CLEAR_UNTIL = 4
NOTHING_FROM = 8
BEST_FIT = 2
SCALE_DAYS = (0.0, 1.5, 5.0, 10.0, 14.0)
"""Days that stand for a score."""
_LIMITS = ((0, 0), (2, 1), (7, 2), (11, 3))


def score_of_days(days: float) -> int:
    whole = max(round(days), 1) if days else 0
    return next((score for limit, score in _LIMITS if whole <= limit), len(_LIMITS))


def score_of(finding: Finding) -> int:
    if finding.ambiguity >= NOTHING_FROM:
        return 0
    return BEST_FIT if finding.days is None else score_of_days(finding.days)
