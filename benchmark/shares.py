"""What the charts of a card show: how far each metric and each group of them has come."""

from __future__ import annotations

from benchmark.card import Card
from benchmark.thresholds import Limit

_WORTH = {"PASS": 1.0, "WARN": 0.5, "FAIL": 0.0}


def group_scores(card: Card) -> dict[str, float]:
    """By group of metrics: a pass counts one, a warning half, a failure nothing; groups without grades are left out."""
    groups: dict[str, list[float]] = {}
    for metric in card.metrics:
        if metric.grade:
            groups.setdefault(metric.group, []).append(_WORTH[metric.grade])
    return {group: sum(worth) / len(worth) for group, worth in groups.items()}


def reached(value: float, limit: Limit) -> float:
    """1 where the limit is met; below it, how much of the way."""
    if limit.grade(value) == "PASS":
        return 1.0
    near, far = (value, limit.passes) if limit.better == "higher" else (limit.passes, value)
    return max(0.0, near / far) if far else 0.0
