"""What a reliability plot shows: how sure somebody was against how often it was so, with what chance alone may do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from benchmark.card import Card
from benchmark.metrics.base import Metric
from benchmark.metrics.calibration import Bin

FEWEST = 10
"""With fewer answers than this a plot would show chance, so there is none, and it is said why."""
KINDS = {"item_brier": "Item scores", "impression_brier": "Impressions"}


@dataclass(frozen=True)
class Curve:
    """`of` is what the confidences were given for."""

    of: str
    bins: tuple[Bin, ...]

    @property
    def count(self) -> int:
        return sum(one.count for one in self.bins)

    @property
    def can_be_drawn(self) -> bool:
        return self.count >= FEWEST

    @property
    def too_few(self) -> str:
        answers = f"{self.count} {'confidence' if self.count == 1 else 'confidences'}"
        return f"{self.of}: {answers}, too few to be drawn (fewer than {FEWEST})"


def curves(card: Card) -> tuple[Curve, ...]:
    """Of what the card was measured against; none where there is no gold."""
    return tuple(_curves(card.core.metrics))


def _curves(metrics: Iterable[Metric]) -> Iterator[Curve]:
    for metric in metrics:
        of = KINDS.get(metric.name.removeprefix("calibration."))
        if of is not None:
            yield Curve(of, tuple(Bin.model_validate(one) for one in metric.metadata["reliability"]))


def why_not_drawn(found: Sequence[Curve]) -> str:
    """Empty where there is something to draw."""
    if not found:
        return "There is no gold to hold confidences against, so there is no reliability plot."
    left_out = [curve.too_few for curve in found if not curve.can_be_drawn]
    return "" if len(left_out) < len(found) else f"No reliability plot: {'; '.join(left_out)}."


def chance(one: Bin) -> tuple[float, float]:
    """Wilson's 95 % interval of the share that was right, as if answers were independent."""
    from benchmark.runs.statistics import wilson  # scipy takes a second, which the page need not spend at its start

    found = wilson(round(one.accuracy * one.count), one.count)
    return (found.low, found.high) if found else (0.0, 1.0)


def ranged(one: Bin) -> str:
    return f"{one.low:.1f} to {'' if one.high >= 1 else 'below '}{one.high:.1f}"
