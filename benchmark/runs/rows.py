"""A run's tables as rows for CSV files: numbers as they are, nothing where there is none."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from benchmark.judge import CRITERIA
from benchmark.reliability import chance
from benchmark.runs.aggregate import Aggregate
from benchmark.runs.figures import CellFigures
from benchmark.runs.outcomes import METRICS
from benchmark.runs.statistics import Estimate, Interval, rounded
from benchmark.runs.tables import ORDER, Rows, reliability_of, unit_of
from storage.runs import Cell

_CI = ("ci95_low", "ci95_high")
"""Bootstrap over patients."""
_WILSON = ("wilson95_low", "wilson95_high")
_MADE_BY = {
    "metrics_version": "metrics",
    "benchmark_sha256": "benchmark",
    "code_version": "code",
    "source_sha256": "source",
    "prompts": "prompts",
    "library": "library",
    "embedding_model": "embedding",
    "temperature": "temperature",
    "judge_version": "judge",
}
"""What a column is called, and where it stands in a cell's provenance."""


def summary_rows(made: Aggregate) -> Rows:
    rows: Rows = [["model", "mode", "figure", "unit", "value", *_CI, *_WILSON, "interviews", "patients"]]
    for group in made.groups:
        judged = {f"judge.{name}": found for name, found in group.judge.items()}
        for name, found in {**{n: group.estimates.get(n) for n in ORDER}, **judged, **group.further}.items():
            rows.append([group.model, group.mode, name, unit_of(name), *_estimate_cells(found)])
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
    counts = ["patients", "patients_higher", "patients_lower", "patients_equal", "sign_test_p"]
    rows: Rows = [["figure", "unit", "mode", "first", "second", "difference", *_CI, *counts]]
    for pair in made.pairs:
        d = pair.difference
        of = (pair.metric, unit_of(pair.metric), pair.mode, pair.first, pair.second)
        rows.append([*of, d.value, *_pair(d.interval), d.patients, d.higher, d.lower, d.equal, d.p])
    return rows


def class_rows(made: Aggregate) -> Rows:
    rows: Rows = [["model", "mode", "class", "gold", "gold_patients", "given", "hits", "f1", *_CI]]
    for group in made.groups:
        for row in group.classes:
            ends = (row.f1.value, *_pair(row.f1.interval)) if row.f1 else (None, None, None)
            rows.append([group.model, group.mode, row.name, row.gold, row.patients, row.given, row.hits, *ends])
    return rows


def reliability_rows(made: Aggregate) -> Rows:
    rows: Rows = [["model", "mode", "of", "from", "to", "answers", "mean_confidence", "share_right", *_WILSON]]
    for group in made.groups:
        for kind, bins in reliability_of(group):
            rows += [
                [group.model, group.mode, kind, b.low, b.high, b.count, b.mean_confidence, b.accuracy, *chance(b)]
                for b in bins
            ]
    return rows


def cell_rows(cells: Iterable[Cell]) -> Rows:
    """One row a cell: what statistics of one's own need."""
    rows: Rows = [
        [
            "patient",
            "model",
            "mode",
            "repeat",
            "status",
            "outcome",
            *(m.name for m in METRICS),
            "patient_model",
            "patient_asked",
            "patient_by_script",
            "snapshot",
            *_MADE_BY,
            "judge_status",
            *(f"judge_{criterion}" for criterion in CRITERIA),
            "judge_cost_usd",
            "error",
        ]
    ]
    for cell in cells:
        figures = CellFigures.model_validate(cell.figures) if cell.figures is not None else None
        values = [_rounded(metric.of(figures)) if figures else None for metric in METRICS]
        key = [cell.key.patient, cell.key.model, cell.key.mode, cell.key.repeat]
        outcome = figures.outcome if figures else None
        made = [*_played(figures), *_made_by(figures), *_judged(figures)]
        rows.append([*key, cell.status, outcome, *values, *made, cell.error])
    return rows


def _made_by(figures: CellFigures | None) -> list[Any]:
    made = figures.provenance if figures else None
    return [figures.snapshot if figures else None, *(getattr(made, name, None) for name in _MADE_BY.values())]


def _judged(figures: CellFigures | None) -> list[Any]:
    judge = figures.judge if figures else None
    if judge is None:
        return [None] * (len(CRITERIA) + 2)
    return [
        judge.status,
        *((judge.scores or {}).get(one) for one in CRITERIA),
        judge.spent.cost_usd if judge.spent else None,
    ]


def _played(figures: CellFigures | None) -> list[Any]:
    who = figures.patient if figures else None
    return [who.model, who.asked, who.by_script] if who else [None] * 3


def _rounded(value: float | None) -> float | None:
    return None if value is None else rounded(value)
