"""The benchmark's metrics: small pure functions of a snapshot, each with a typed result."""

from __future__ import annotations

from benchmark.metrics.accuracy import Gold, accuracy, gold_of
from benchmark.metrics.base import Metric
from benchmark.metrics.calibration import calibration
from benchmark.metrics.conversation import conversation
from benchmark.metrics.cost import cost
from benchmark.metrics.explainability import explainability
from benchmark.metrics.protocol import protocol
from benchmark.snapshot import Snapshot

__all__ = ["VERSION", "Gold", "Metric", "deterministic", "gold_of"]

VERSION = "4"
"""Goes up whenever a metric gives another figure for the same snapshot."""


def deterministic(snapshot: Snapshot, gold: Gold | None = None) -> tuple[Metric, ...]:
    """All that can be had at once and is the same each time; with gold, also how near the truth it is."""
    truth = gold or gold_of(snapshot)
    return (
        *conversation(snapshot),
        *protocol(snapshot),
        *explainability(snapshot),
        *accuracy(snapshot, truth),
        *calibration(snapshot, truth),
        *cost(snapshot),
    )
