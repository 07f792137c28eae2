"""A run's tables as rows for CSV files: numbers as they are, nothing where there is none."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from benchmark.runs.aggregate import Aggregate
from benchmark.runs.figures import CellFigures
from benchmark.runs.outcomes import METRICS
from benchmark.runs.statistics import Estimate, Interval
from benchmark.runs.tables import ORDER, Rows, unit_of
from storage.runs import Cell


def summary_rows(made: Aggregate) -> Rows:
    head = ["model", "mode", "figure", "unit", "value", "low", "high", "wilson_low", "wilson_high", "cells", "patients"]
    rows: Rows = [head]
    for group in made.groups:
        judged = {f"judge.{name}": found for name, found in group.judge.items()}
        for name, found in {**{n: group.estimates.get(n) for n in ORDER}, **judged, **group.further}.items():
            unit = unit_of(name) if name in ORDER else ""
            rows.append([group.model, group.mode, name, unit, *_estimate_cells(found)])
    return rows


def _estimate_cells(found: Estimate | None) -> list[Any]:
    if found is None:
        return [None] * 7
    return [found.value, *_pair(found.interval), *_pair(found.wilson), found.cells, found.patients]


def _pair(interval: Interval | None) -> tuple[float | None, float | None]:
    return (interval.low, interval.high) if interval else (None, None)


def outcome_rows(made: Aggregate) -> Rows:
    rows: Rows = []
    for group in made.groups:
        counts = group.outcomes.model_dump()
        rows = rows or [["model", "mode", *counts, "total_cost_usd", "judge_cost_usd"]]
        rows.append([group.model, group.mode, *counts.values(), group.total_cost_usd, group.judge_cost_usd])
    return rows


def difference_rows(made: Aggregate) -> Rows:
    head = [
        "figure",
        "mode",
        "first",
        "second",
        "difference",
        "low",
        "high",
        "patients",
        "higher",
        "lower",
        "equal",
        "p",
    ]
    rows: Rows = [head]
    for pair in made.pairs:
        d = pair.difference
        rows.append(
            [pair.metric, pair.mode, pair.first, pair.second, d.value, *_pair(d.interval), d.patients, d.higher,
             d.lower, d.equal, d.p]
        )  # fmt: skip
    return rows


def class_rows(made: Aggregate) -> Rows:
    rows: Rows = [["model", "mode", "class", "gold", "given", "hits", "f1", "low", "high"]]
    for group in made.groups:
        for row in group.classes:
            ends = (row.f1.value, *_pair(row.f1.interval)) if row.f1 else (None, None, None)
            rows.append([group.model, group.mode, row.name, row.gold, row.given, row.hits, *ends])
    return rows


def reliability_rows(made: Aggregate) -> Rows:
    rows: Rows = [["model", "mode", "of", "low", "high", "answers", "mean_confidence", "share_right"]]
    for group in made.groups:
        for kind, bins in group.reliability.items():
            rows += [
                [group.model, group.mode, kind, b.low, b.high, b.count, b.mean_confidence, b.accuracy] for b in bins
            ]
    return rows


def cell_rows(cells: Iterable[Cell]) -> Rows:
    """One row a cell: what statistics of one's own need."""
    rows: Rows = [["patient", "model", "mode", "repeat", "status", "outcome", *(m.name for m in METRICS), "error"]]
    for cell in cells:
        figures = CellFigures.model_validate(cell.figures) if cell.figures is not None else None
        values = [metric.of(figures) if figures else None for metric in METRICS]
        key = [cell.key.patient, cell.key.model, cell.key.mode, cell.key.repeat]
        rows.append([*key, cell.status, figures.outcome if figures else None, *values, cell.error])
    return rows
