"""A run's tables as Markdown, as CSV rows and for the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rich.table import Table

from benchmark.runs.aggregate import KAPPA, MACRO_F1, Aggregate, Group
from benchmark.runs.figures import CellFigures
from benchmark.runs.outcomes import METRICS, Better
from benchmark.runs.statistics import CONFIDENCE, RESAMPLES, Difference, Estimate, Interval
from storage.runs import Cell

Rows = list[list[Any]]
NOTHING = "–"
_ARROW = {"higher": " ↑", "lower": " ↓", "neither": ""}
_DECIMALS = {"USD per interview": 4, "s per interview": 1, "per interview": 2}
_THREE = 3

_TITLES: dict[str, tuple[str, str, Better]] = {
    **{metric.name: (metric.title, metric.unit, metric.better) for metric in METRICS},
    KAPPA: ("Item κ, quadratic weights", "−1–1", "higher"),
    MACRO_F1: ("Macro-F1, first impression", "0–1", "higher"),
}
ORDER = (
    "item_exact", "item_mae", KAPPA, "coverage", "top1", "top3", MACRO_F1, "stop_right", "violations", "brier_items",
    "brier_impressions", "by_rules", "cost", "tokens", "seconds",
)  # fmt: skip


def title_of(metric: str) -> str:
    """With its unit, and an arrow to where it is better."""
    title, unit, better = _TITLES[metric]
    return f"{title} ({unit}){_ARROW[better]}"


def short_title(metric: str) -> str:
    title, _, better = _TITLES[metric]
    return f"{title}{_ARROW[better]}"


def unit_of(metric: str) -> str:
    return _TITLES[metric][1]


def markdown(made: Aggregate) -> str:
    """The whole report. Nothing in it tells when it was made: the same cells give the same text."""
    parts = [_head(made)]
    for number, mode in enumerate(_modes(made), start=1):
        groups = [group for group in made.groups if group.mode == mode]
        parts += _of_mode(made, mode, groups, number)
    parts.append(_notes(made))
    return "\n\n".join(part for part in parts if part) + "\n"


def _head(made: Aggregate) -> str:
    spec = made.spec
    who = f"answers of {spec['answers']}" if spec["answers"] else f"personas: {_listed(spec['personas'])}"
    partial = "" if made.is_whole else f"\n\n**Not finished: {made.ended:,} of {made.cells:,} cells have ended.**"
    return (
        f"# {_cell(made.name)}\n\n{made.cells:,} cells · {_cell(who)} · {spec['repeats']} repeats · "
        f"seed {spec['seed']}{partial}"
    )


def _listed(personas: Any) -> str:
    return personas if isinstance(personas, str) else ", ".join(personas)


def _modes(made: Aggregate) -> list[str]:
    return list(dict.fromkeys(group.mode for group in made.groups))


def _of_mode(made: Aggregate, mode: str, groups: Sequence[Group], number: int) -> Iterator[str]:
    yield f"## Mode: {mode}"
    yield _captioned(f"Table {number}.1", "What became of the interviews.", _outcome_rows(groups))
    caption = "Mean over interviews with 95 % confidence interval (bootstrap over patients)."
    yield _captioned(f"Table {number}.2", caption, _estimate_rows(groups))
    pairs = _pair_rows(made, mode)
    if len(pairs) > 1:
        caption = "Paired differences, first minus second model, on the patients that both had."
        yield _captioned(f"Table {number}.3", caption, pairs)
    classes = _class_rows(groups)
    if len(classes) > 1:
        caption = "F1 of the first impression by class, with 95 % confidence interval."
        yield _captioned(f"Table {number}.4", caption, classes)
    reliable = _reliability_rows(groups)
    if len(reliable) > 1:
        caption = "Reliability: how often answers given with a confidence in this range were right."
        yield _captioned(f"Table {number}.5", caption, reliable)
    shares = _share_rows(groups)
    if len(shares) > 1:
        caption = "Shares with the interval that heeds repeats, and Wilson's, which takes interviews for independent."
        yield _captioned(f"Table {number}.6", caption, shares)
    trouble = _trouble_rows(groups)
    if len(trouble) > 1:
        caption = "Failed interviews, answers that the rules gave instead of the model, and protocol violations."
        yield _captioned(f"Table {number}.7", caption, trouble)


def _outcome_rows(groups: Sequence[Group]) -> Rows:
    rows: Rows = [
        ["Model", "Cells", "Completed", "Stopped for safety", "Failed", "Not run", "Stops: right / missed / wrong"]
    ]
    for group in groups:
        o = group.outcomes
        stops = f"{o.stops_right} / {o.stops_missed} / {o.stops_wrong}"
        rows.append([group.model, o.cells, o.completed, o.stopped, o.failed, o.waiting, stops])
    return rows


def _estimate_rows(groups: Sequence[Group]) -> Rows:
    rows: Rows = [["", *(group.model for group in groups)]]
    for name in ORDER:
        found = [group.estimates.get(name) for group in groups]
        if any(found):
            rows.append([title_of(name), *(_said(one, _TITLES[name][1]) for one in found)])
    for criterion in sorted({name for group in groups for name in group.judge}):
        said = [_said(group.judge.get(criterion), "1–5") for group in groups]
        rows.append([f"Judge: {criterion} (1–5) ↑", *said])
    if any(group.outcomes.unscored for group in groups):
        rows.append(["Judge: unscored (interviews)", *(str(group.outcomes.unscored) for group in groups)])
    rows.append(["Interviews / patients measured", *(_counted(group) for group in groups)])
    return rows


def _counted(group: Group) -> str:
    seconds = group.estimates.get("seconds")
    return f"{seconds.cells} / {seconds.patients}" if seconds else "0 / 0"


def _pair_rows(made: Aggregate, mode: str) -> Rows:
    rows: Rows = [["Figure", "Models", "Difference", "Patients", "Higher / lower / equal", "Sign test p"]]
    for pair in made.pairs:
        if pair.mode == mode:
            d, unit = pair.difference, _TITLES[pair.metric][1]
            ways = f"{d.higher} / {d.lower} / {d.equal}"
            models = f"{pair.first} − {pair.second}"
            rows.append([title_of(pair.metric), models, _said(d, unit, signed=True), d.patients, ways, _p(d.p)])
    return rows


def _class_rows(groups: Sequence[Group]) -> Rows:
    named = [group for group in groups if group.classes]
    rows: Rows = [["Class", "Gold", *(f"{group.model}: F1" for group in named)]]
    for name in sorted({row.name for group in named for row in group.classes}):
        found = [next((row for row in group.classes if row.name == name), None) for group in named]
        gold = max((row.gold for row in found if row), default=0)
        said = [f"{_said(row.f1, '0–1')} (given {row.given})" if row else NOTHING for row in found]
        rows.append([name, gold, *said])
    return rows


def _reliability_rows(groups: Sequence[Group]) -> Rows:
    rows: Rows = [["Model", "Of", "Confidence", "Answers", "Mean confidence", "Share right"]]
    for group in groups:
        for kind, bins in group.reliability.items():
            for b in bins:
                last = "]" if b.high >= 1 else ")"
                ranged = f"[{b.low:.1f}, {b.high:.1f}{last}"
                rows.append([group.model, kind, ranged, b.count, f"{b.confidence:.3f}", f"{b.right:.3f}"])
    return rows


def _share_rows(groups: Sequence[Group]) -> Rows:
    rows: Rows = [["Figure", "Model", "Share", "Clustered by patient", "Wilson", "Interviews", "Patients"]]
    for metric in (metric for metric in METRICS if metric.share):
        for group in groups:
            found = group.estimates.get(metric.name)
            if found is not None:
                ends = (_ends(found.interval, _THREE), _ends(found.wilson, _THREE))
                rows.append([metric.title, group.model, f"{found.value:.3f}", *ends, found.cells, found.patients])
    return rows


def _trouble_rows(groups: Sequence[Group]) -> Rows:
    rows: Rows = [["Model", "What", "Count"]]
    for group in groups:
        rows += [[group.model, f"failed: {reason}", count] for reason, count in group.failures.items()]
        for role in group.roles:
            if role.by_rules:
                kinds = ", ".join(f"{kind} {count}×" for kind, count in role.failures.items())
                rows.append([group.model, f"{role.role}: by the rules ({kinds})", f"{role.by_rules} of {role.asked}"])
        rows += [[group.model, f"violation: {name}", count] for name, count in group.violations.items() if count]
        if group.outcomes.unpriced:
            rows.append([group.model, "interviews with a call of unknown price", group.outcomes.unpriced])
    return rows


def _notes(made: Aggregate) -> str:
    return (
        f"---\n\n*Intervals: {CONFIDENCE:.0%} percentile bootstrap, {RESAMPLES:,} resamples of whole patients, seed "
        f"{made.spec['seed']}. Sign test: exact, two-sided, over patients; p values are not corrected for their "
        "number. An arrow points to where a figure is better. Sessions stopped for safety have no snapshot and are in "
        "no figure but the stops. An interview in which a model gave nothing usable in one of its roles has failed: "
        "the rules' work is not credited to it. – : nothing to measure.*"
    )


# ---- cells of tables ----


def _said(found: Estimate | Difference | None, unit: str, *, signed: bool = False) -> str:
    if found is None:
        return NOTHING
    decimals = _decimals(unit)
    value = f"{found.value:+,.{decimals}f}" if signed else f"{found.value:,.{decimals}f}"
    return f"{value.replace('-', '−')} {_ends(found.interval, decimals)}".rstrip()


def _decimals(unit: str) -> int:
    return _DECIMALS.get(unit, _THREE)


def _ends(interval: Interval | None, decimals: int) -> str:
    if interval is None:
        return ""
    return f"[{interval.low:,.{decimals}f}, {interval.high:,.{decimals}f}]".replace("-", "−")


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _captioned(label: str, caption: str, rows: Rows) -> str:
    head, *body = rows
    lines = [_line(head), _line(["---"] + ["---:" if _is_number(body, n) else "---" for n in range(1, len(head))])]
    return f"**{label}.** {caption}\n\n" + "\n".join([*lines, *map(_line, body)])


def _is_number(body: Rows, column: int) -> bool:
    return bool(body) and all(isinstance(row[column], int) for row in body)


def _line(values: Iterable[Any]) -> str:
    return "| " + " | ".join(f"{value:,}" if isinstance(value, int) else _cell(str(value)) for value in values) + " |"


def _cell(text: str) -> str:
    """A name can hold anything; it stays one cell, and text."""
    for sign in "\\`*_<>|[]#":
        text = text.replace(sign, f"\\{sign}") if sign in "\\`*_<|" else text
    return " ".join(text.split())


# ---- CSV ----


def summary_rows(made: Aggregate) -> Rows:
    head = ["model", "mode", "figure", "unit", "value", "low", "high", "wilson_low", "wilson_high", "cells", "patients"]
    rows: Rows = [head]
    for group in made.groups:
        judged = {f"judge_{name}": found for name, found in group.judge.items()}
        for name, found in {**{n: group.estimates.get(n) for n in ORDER}, **judged}.items():
            unit = _TITLES[name][1] if name in _TITLES else "1–5"
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
        rows = rows or [["model", "mode", *counts, "total_cost_usd"]]
        rows.append([group.model, group.mode, *counts.values(), group.total_cost_usd])
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
            rows += [[group.model, group.mode, kind, b.low, b.high, b.count, b.confidence, b.right] for b in bins]
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


# ---- the terminal ----


def summary_table(made: Aggregate) -> Table:
    table = Table("figure", *(f"{g.model}\n{g.mode}" for g in made.groups), title=made.name, title_justify="left")
    for name in ORDER:
        found = [group.estimates.get(name) for group in made.groups]
        if any(found):
            table.add_row(title_of(name), *(_said(one, _TITLES[name][1]) for one in found))
    counts = [group.outcomes for group in made.groups]
    table.add_row("completed / stopped / failed", *(f"{o.completed} / {o.stopped} / {o.failed}" for o in counts))
    return table
