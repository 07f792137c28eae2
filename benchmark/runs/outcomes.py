"""What one cell says for each figure of a table; pure functions of its kept numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from benchmark.metrics.accuracy import TOP, exact, first_or_nothing, hits, mean_error
from benchmark.metrics.calibration import Sure, brier
from benchmark.runs.figures import CellFigures

Better = Literal["higher", "lower", "neither"]
PerCell = Callable[[CellFigures], float | None]
_VIOLATIONS = tuple(
    f"protocol.{name}"
    for name in ("follow_up_violations", "double_questions", "verbatim_items", "repeated_questions", "oversteps")
)


@dataclass(frozen=True)
class Metric:
    """`of` gives a cell's value, None where it has none; a `share` lies between 0 and 1, yes or no for each cell
    or a part of what it has."""

    name: str
    title: str
    unit: str
    better: Better
    of: PerCell
    share: bool = False


def item_pairs(figures: CellFigures) -> list[tuple[int, int]]:
    """Gold and given, of the items that have gold and were answered."""
    return [(item.gold, item.score) for item in figures.items if item.gold is not None and not item.unanswered]


def names_compared(figures: CellFigures) -> tuple[str, tuple[str, ...]] | None:
    """The main gold name and the given ones in their order; None where a mode names none or there is no gold."""
    if figures.impressions is None or figures.gold_names is None:
        return None
    return first_or_nothing(figures.gold_names), tuple(one.name for one in figures.impressions)


def _among(first: int) -> PerCell:
    def among(figures: CellFigures) -> float | None:
        compared = names_compared(figures)
        return None if compared is None else float(hits(compared[1], compared[0], first))

    return among


def item_confidences(figures: CellFigures) -> list[Sure]:
    judged = [item for item in figures.items if item.gold is not None and not item.unanswered]
    return [(item.confidence, item.score == item.gold) for item in judged if item.confidence is not None]


def impression_confidences(figures: CellFigures) -> list[Sure]:
    """Of every impression, whether the patient has that."""
    if figures.impressions is None or figures.gold_names is None:
        return []
    return [(one.confidence, one.name in figures.gold_names) for one in figures.impressions]


def violations(figures: CellFigures) -> dict[str, int]:
    """How often each rule of the protocol was broken; empty where nothing was measured."""
    counted = {name.partition(".")[2]: value for name, value in figures.metrics.items() if name in _VIOLATIONS}
    return {name: round(value) for name, value in counted.items() if value is not None}


def _violated(figures: CellFigures) -> float | None:
    found = violations(figures)
    return float(sum(found.values())) if found else None


def _of_snapshot(name: str) -> PerCell:
    return lambda figures: figures.metrics.get(name)


def _stop_right(figures: CellFigures) -> float | None:
    return None if figures.stop_right is None else float(figures.stop_right)


def _by_rules(figures: CellFigures) -> float | None:
    asked = sum(role.asked for role in figures.roles.values())
    return sum(role.by_rules for role in figures.roles.values()) / asked if asked else None


def _of_completed(value: Callable[[CellFigures], float | None]) -> PerCell:
    return lambda figures: value(figures) if figures.outcome == "completed" else None


METRICS = (
    Metric("item_exact", "Item scores exact", "share of items", "higher", lambda f: exact(item_pairs(f)), share=True),
    Metric("item_mae", "Item scores, mean abs. error", "points, 0 to 4", "lower", lambda f: mean_error(item_pairs(f))),
    Metric("coverage", "Items covered", "share of 23 items", "higher", _of_snapshot("protocol.coverage"), share=True),
    Metric("unanswered", "Items without an answer", "count per interview", "neither",
           _of_snapshot("protocol.unanswered")),
    Metric("top1", "Main impression first (top-1)", "share of interviews", "higher", _among(1), share=True),
    Metric("top3", "Main impression in top 3", "share of interviews", "higher", _among(TOP), share=True),
    Metric("violations", "Protocol violations", "count per interview", "lower", _violated),
    Metric("risk_checks", "Messages checked for risk", "share of messages", "higher",
           _of_snapshot("protocol.risk_checks"), share=True),
    Metric("stop_right", "Stop decision right", "share of interviews", "higher", _stop_right, share=True),
    Metric("brier_items", "Brier score, items", "score, 0 to 1", "lower", lambda f: brier(item_confidences(f))),
    Metric("brier_impressions", "Brier score, impressions", "score, 0 to 1", "lower",
           lambda f: brier(impression_confidences(f))),
    Metric("by_rules", "Answered by the rules instead", "share of calls", "lower", _by_rules, share=True),
    Metric("cost", "Cost", "USD per interview", "lower", _of_completed(lambda f: f.spent.cost_usd)),
    Metric("tokens", "Tokens", "tokens per interview", "lower", _of_completed(lambda f: f.spent.tokens)),
    Metric("seconds", "Time of an interview", "s per interview", "lower", _of_completed(lambda f: f.spent.seconds)),
    Metric("turn_p95", "Time of a turn, 95th percentile", "s", "lower", _of_snapshot("cost.turn_p95")),
)  # fmt: skip
