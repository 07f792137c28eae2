"""A run's tables as Markdown, as CSV rows and for the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rich.table import Table

from benchmark.runs.aggregate import KAPPA, MACRO_F1, Aggregate, Group
from benchmark.runs.outcomes import METRICS, Better
from benchmark.runs.statistics import CONFIDENCE, RESAMPLES, Difference, Estimate, Interval

Rows = list[list[Any]]
NOTHING = "–"
_ARROW = {"higher": " ↑", "lower": " ↓", "neither": ""}
_DECIMALS = {"USD per interview": 4, "s per interview": 1, "per interview": 2, "tokens per interview": 0}
_THREE = 3

_TITLES: dict[str, tuple[str, str, Better]] = {
    **{metric.name: (metric.title, metric.unit, metric.better) for metric in METRICS},
    KAPPA: ("Item κ, quadratic weights", "κ, −1 to 1", "higher"),
    MACRO_F1: ("Macro-F1, first impression", "F1, 0 to 1", "higher"),
}
ORDER = (
    "item_exact", "item_mae", KAPPA, "coverage", "top1", "top3", MACRO_F1, "stop_right", "violations", "risk_checks",
    "brier_items", "brier_impressions", "by_rules", "cost", "tokens", "seconds", "turn_p95",
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
    number = 0
    for mode in dict.fromkeys(group.mode for group in made.groups):
        parts.append(f"## Mode: {mode}")
        for caption, rows in _of_mode(made, mode):
            if len(rows) > 1:
                number += 1
                parts.append(_captioned(f"Table {number}", caption, rows))
    parts.append(_notes(made))
    return "\n\n".join(parts) + "\n"


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


def _of_mode(made: Aggregate, mode: str) -> Iterator[tuple[str, Rows]]:
    groups = [group for group in made.groups if group.mode == mode]
    yield "What became of the interviews.", _outcome_rows(groups)
    yield "Mean over interviews with 95 % confidence interval (bootstrap over patients).", _estimate_rows(groups)
    yield "Paired differences, first minus second model, on the patients that both had.", _pair_rows(made, mode)
    yield "F1 of the first impression by class, with 95 % confidence interval.", _class_rows(groups)
    yield "Reliability: how often what was said with a confidence in this range was right.", _reliability_rows(groups)
    yield (
        "Shares with the interval that heeds repeats, and Wilson's, which takes interviews for independent.",
        _share_rows(groups),
    )
    yield "Conversation and explainability, mean with 95 % confidence interval.", _further_rows(groups)
    yield "Failures, answers that the rules gave instead of the model, and violations.", _trouble_rows(groups)


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
    if any(group.judge_cost_usd is not None for group in groups):
        rows.append(["Judge: cost of all verdicts (USD)", *(_dollars(group.judge_cost_usd) for group in groups)])
    rows.append(["Interviews / patients measured", *(_counted(group) for group in groups)])
    return rows


def _dollars(cost: float | None) -> str:
    return "unknown" if cost is None else f"{cost:.4f}"


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
                rows.append([group.model, kind, ranged, b.count, f"{b.mean_confidence:.3f}", f"{b.accuracy:.3f}"])
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


def _further_rows(groups: Sequence[Group]) -> Rows:
    rows: Rows = [["", *(group.model for group in groups)]]
    for name in sorted({name for group in groups for name in group.further}):
        kind, _, what = name.partition(".")
        rows.append([f"{kind}: {what.replace('_', ' ')}", *(_said(group.further.get(name), "") for group in groups)])
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
        f"---\n\n*Intervals: {100 * CONFIDENCE:.0f} % percentile bootstrap, {RESAMPLES:,} resamples of whole patients, "
        f"seed {made.spec['seed']}. Sign test: exact, two-sided, over patients; p values are not corrected for their "
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
    for sign in "\\`*_<|":
        text = text.replace(sign, f"\\{sign}")
    return " ".join(text.split())


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
