"""What one cell says for each figure of a table; pure functions of its kept numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from benchmark.runs.figures import CellFigures, ItemFigure
from instruments.level1 import level1

Better = Literal["higher", "lower", "neither"]
PerCell = Callable[[CellFigures], float | None]
NO_IMPRESSION = "(no impression)"
"""The class of the healthy, and of whoever is given none."""
_TOP = 3


@dataclass(frozen=True)
class Metric:
    """`of` gives a cell's value, None where it has none; a `share` of cells is yes or no for each."""

    name: str
    title: str
    unit: str
    better: Better
    of: PerCell
    share: bool = False


def judged_items(figures: CellFigures) -> list[ItemFigure]:
    return [item for item in figures.items if item.gold is not None]


def _exact(figures: CellFigures) -> float | None:
    return _mean([item.score == item.gold for item in judged_items(figures)])


def _absolute_error(figures: CellFigures) -> float | None:
    return _mean([abs(item.score - item.gold) for item in judged_items(figures) if item.gold is not None])


def _coverage(figures: CellFigures) -> float | None:
    return len(figures.items) / len(level1().items) if figures.outcome == "completed" else None


def names_compared(figures: CellFigures) -> tuple[str, tuple[str, ...]] | None:
    """The main gold name and the given ones in their order; None where a mode names none or there is no gold."""
    if figures.impressions is None or figures.gold_names is None:
        return None
    gold = figures.gold_names[0] if figures.gold_names else NO_IMPRESSION
    return gold, tuple(one.name for one in figures.impressions) or (NO_IMPRESSION,)


def _among(first: int) -> PerCell:
    def among(figures: CellFigures) -> float | None:
        compared = names_compared(figures)
        return None if compared is None else float(compared[0] in compared[1][:first])

    return among


def item_confidences(figures: CellFigures) -> list[tuple[float, bool]]:
    return [(item.confidence, item.score == item.gold) for item in judged_items(figures) if item.confidence is not None]


def impression_confidences(figures: CellFigures) -> list[tuple[float, bool]]:
    """Of the first impression, whether it is the one."""
    compared = names_compared(figures)
    if compared is None or not figures.impressions:
        return []
    return [(figures.impressions[0].confidence, compared[0] == compared[1][0])]


def _brier(pairs: Sequence[tuple[float, bool]]) -> float | None:
    return _mean([(confidence - right) ** 2 for confidence, right in pairs])


def _violations(figures: CellFigures) -> float | None:
    return float(sum(figures.protocol.values())) if figures.outcome == "completed" and figures.protocol else None


def _stop_right(figures: CellFigures) -> float | None:
    return None if figures.stop_right is None else float(figures.stop_right)


def _by_rules(figures: CellFigures) -> float | None:
    asked = sum(role.asked for role in figures.roles.values())
    return sum(role.by_rules for role in figures.roles.values()) / asked if asked else None


def _of_completed(value: Callable[[CellFigures], float | None]) -> PerCell:
    return lambda figures: value(figures) if figures.outcome == "completed" else None


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


METRICS = (
    Metric("item_exact", "Item exact", "share of items", "higher", _exact),
    Metric("item_mae", "Item MAE", "points", "lower", _absolute_error),
    Metric("coverage", "Coverage", "share of 23 items", "higher", _coverage),
    Metric("top1", "Top-1", "share of interviews", "higher", _among(1), share=True),
    Metric("top3", "Top-3", "share of interviews", "higher", _among(_TOP), share=True),
    Metric("violations", "Protocol violations", "per interview", "lower", _violations),
    Metric("stop_right", "Stop decision right", "share of interviews", "higher", _stop_right, share=True),
    Metric("brier_items", "Brier, items", "0–1", "lower", lambda f: _brier(item_confidences(f))),
    Metric("brier_impressions", "Brier, first impression", "0–1", "lower", lambda f: _brier(impression_confidences(f))),
    Metric("by_rules", "Answered by the rules instead", "share of calls", "lower", _by_rules),
    Metric("cost", "Cost", "USD per interview", "lower", _of_completed(lambda f: f.spent.cost_usd)),
    Metric("tokens", "Tokens", "per interview", "lower",
           _of_completed(lambda f: float(f.spent.prompt_tokens + f.spent.completion_tokens))),
    Metric("seconds", "Time", "s per interview", "lower", _of_completed(lambda f: f.spent.seconds)),
)  # fmt: skip
