"""Whether confidences mean what they say, where gold exists."""

from __future__ import annotations

from collections.abc import Sequence

from benchmark.metrics.accuracy import Gold
from benchmark.metrics.base import Metric, mean, rounded
from benchmark.snapshot import Snapshot
from instruments.level1 import item_number
from instruments.profile import Wire

BINS = 5
Sure = tuple[float, bool]
"""A confidence, and whether what it was said of is so."""


class Bin(Wire):
    """`low` belongs to the bin, `high` to the next one; the last bin has both ends."""

    low: float
    high: float
    count: int
    mean_confidence: float
    accuracy: float


def calibration(snapshot: Snapshot, gold: Gold | None) -> tuple[Metric, ...]:
    if gold is None:
        return ()
    metrics = [_brier("item_brier", "Brier score of item confidences", item_confidences(snapshot, gold))]
    if gold.impressions is not None:
        sure = impression_confidences(snapshot, gold.impressions)
        metrics.append(_brier("impression_brier", "Brier score of impressions", sure))
    return tuple(metrics)


def item_confidences(snapshot: Snapshot, gold: Gold) -> list[Sure]:
    """How sure the scorer was that its score is the right one, of the items that were answered."""
    scored = [response for response in snapshot.responses if not response.unanswered]
    return [
        (response.confidence, response.score == gold.scores[item_number(response.item_id)])
        for response in scored
        if response.confidence is not None and item_number(response.item_id) in gold.scores
    ]


def impression_confidences(snapshot: Snapshot, expected: Sequence[str]) -> list[Sure]:
    return [(one.confidence, one.name in expected) for one in snapshot.diagnosis.diagnoses]


def brier(sure: Sequence[Sure]) -> float | None:
    """The mean square between confidence and truth: 0 is best, 0.25 is a coin's."""
    return mean([(confidence - is_so) ** 2 for confidence, is_so in sure])


def reliability(sure: Sequence[Sure], bins: int = BINS) -> list[Bin]:
    """By confidence in bins of equal width; empty ones are left out."""
    groups: dict[int, list[Sure]] = {}
    for one in sure:
        groups.setdefault(min(int(one[0] * bins), bins - 1), []).append(one)
    return [_bin(number, groups[number], bins) for number in sorted(groups)]


def _bin(number: int, members: Sequence[Sure], bins: int) -> Bin:
    return Bin(
        low=round(number / bins, 4),
        high=round((number + 1) / bins, 4),
        count=len(members),
        mean_confidence=round(sum(confidence for confidence, _ in members) / len(members), 4),
        accuracy=round(sum(is_so for _, is_so in members) / len(members), 4),
    )


def _brier(name: str, label: str, sure: Sequence[Sure]) -> Metric:
    what = "mean square between confidence and truth; 0 is best, 0.25 is a coin's"
    return Metric(
        name=f"calibration.{name}",
        label=label,
        value=rounded(brier(sure)),
        unit="score, 0 to 1",
        n=len(sure),
        n_of="confidences",
        explanation=what if sure else "nothing was given with a confidence",
        metadata={"reliability": [one.to_json_dict() for one in reliability(sure)], "count": len(sure)},
    )
