"""A run's tables as Markdown, as CSV rows and for the terminal."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from itertools import chain
from typing import Any

from rich.table import Table

from benchmark.metrics.calibration import Bin
from benchmark.reliability import chance, ranged
from benchmark.runs.aggregate import CONFIDENT_OF, JUDGED, KAPPA, MACRO_F1, Aggregate, ClassRow, Group
from benchmark.runs.figures import ProvenanceFigure, SpentFigures
from benchmark.runs.outcomes import METRICS, Better
from benchmark.runs.statistics import CONFIDENCE, RESAMPLES, Difference, Estimate, Interval
from settings import RULES

Rows = list[list[Any]]
NOTHING = "–"
_ARROW = {"higher": " ↑", "lower": " ↓", "neither": ""}
_DECIMALS = {
    "USD per interview": 4, "s per interview": 1, "count per interview": 2, "tokens per interview": 0, "1–5": 2,
    "US school grade": 1, "points, 0 to 100": 1, "count": 1,
}  # fmt: skip
_THREE = 3

_TITLES: dict[str, tuple[str, str, Better]] = {
    **{metric.name: (metric.title, metric.unit, metric.better) for metric in METRICS},
    KAPPA: ("Item scores, quadratic κ", "κ, −1 to 1", "higher"),
    MACRO_F1: ("Macro-F1, first impression", "F1, 0 to 1", "higher"),
}
ORDER = (
    "item_exact", "item_mae", KAPPA, "coverage", "unanswered", "top1", "top3", MACRO_F1, "stop_right", "violations",
    "risk_checks", "brier_items", "brier_impressions", "by_rules", "cost", "tokens", "seconds", "turn_p95",
)  # fmt: skip


def title_of(metric: str) -> str:
    """With its unit, and an arrow to where it is better."""
    title, unit, better = _titled(metric)
    return f"{title} ({unit}){_ARROW[better]}"


def short_title(metric: str) -> str:
    title, _, better = _titled(metric)
    return f"{title}{_ARROW[better]}"


def unit_of(metric: str) -> str:
    return _titled(metric)[1]


def _titled(metric: str) -> tuple[str, str, Better]:
    if metric in _TITLES:
        return _TITLES[metric]
    if metric.startswith(JUDGED):
        return f"Judge: {metric.removeprefix(JUDGED)}", "1–5", "higher"
    title, _, unit = further_titles()[metric].rpartition(" (")
    return title, unit.removesuffix(")"), "neither"


@cache
def further_titles() -> dict[str, str]:
    return tomllib.loads(files("benchmark.runs").joinpath("further.toml").read_text("utf-8"))


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
    if made.provenance:
        parts.append(_provenance(made))
    parts.append(_notes(made))
    return "\n\n".join(parts) + "\n"


def _head(made: Aggregate) -> str:
    spec = made.spec
    played = spec.get("patient") not in (None, RULES)
    who = f"answers of {spec['answers']}" if spec["answers"] else f"personas: {_listed(spec['personas'])}"
    who += f" · played by {spec['patient']}" if played else ""
    partial = "" if made.is_whole else f"\n\n**Not finished: {made.ended:,} of {made.cells:,} cells have ended.**"
    return f"# {_cell(made.name)}\n\n{_size(made)} · {_cell(who)} · seed {spec['seed']}{partial}"


def _size(made: Aggregate) -> str:
    spec = made.spec
    parts = [(len(spec[name]), name[:-1]) for name in ("models", "modes")] + [(spec["repeats"], "repeat")]
    patients, rest = divmod(made.cells, math.prod(count for count, _ in parts))
    sized = [(patients, "patient"), *parts] if not rest else parts
    product = " × ".join(f"{count:,} {name}{'' if count == 1 else 's'}" for count, name in sized)
    return f"{made.cells:,} interviews: {product}"


def _listed(personas: Any) -> str:
    return personas if isinstance(personas, str) else ", ".join(personas)


def _of_mode(made: Aggregate, mode: str) -> Iterator[tuple[str, Rows]]:
    groups = [group for group in made.groups if group.mode == mode]
    yield "What became of the interviews.", _outcome_rows(groups)
    yield (
        "Mean over interviews (κ and macro-F1: of all interviews together) with 95 % confidence interval, bootstrap "
        "over patients. n: interviews / patients.",
        _estimate_rows(groups),
    )
    yield (
        "Paired differences, first minus second model, on the patients that both had: mean over patients with 95 % "
        "confidence interval, bootstrap over patients. n: patients.",
        _pair_rows(made, mode),
    )
    yield (
        "F1 (0 to 1) of the first impression by class, with 95 % confidence interval, bootstrap over patients; none "
        "where fewer than two patients have the class as gold. Gold n: interviews / patients. Given: interviews in "
        "which it was named first. A class without gold has no F1 and is in no macro-F1.",
        _class_rows(groups),
    )
    yield (
        "Reliability: how often what was said with a confidence in this range was right, with Wilson's 95 % confidence "
        "interval, which takes answers for independent. n: answers.",
        _reliability_rows(groups),
    )
    yield (
        "Shares with two 95 % confidence intervals that heed repeats: the bootstrap over patients, and Wilson's of the "
        "same share with n = patients, which for shares within an interview (of items, messages, calls) is wider than "
        "need be.",
        _share_rows(groups),
    )
    yield (
        "Conversation and explainability, mean over completed interviews with 95 % confidence interval, bootstrap over "
        "patients. n: interviews / patients.",
        _further_rows(groups),
    )
    yield "Failures, answers that the rules gave instead of the model, and violations.", _trouble_rows(groups)


def _outcome_rows(groups: Sequence[Group]) -> Rows:
    rows: Rows = [
        ["Model", "Interviews", "Completed", "Stopped for safety", "Failed", "Not run", "Stops: right / missed / wrong"]
    ]
    for group in groups:
        o = group.outcomes
        stops = f"{o.stops_right} / {o.stops_missed} / {o.stops_wrong}"
        rows.append([group.model, o.cells, o.completed, o.stopped, o.failed, o.waiting, stops])
    return rows


def _estimate_rows(groups: Sequence[Group]) -> Rows:
    rows: Rows = [_with_n(groups)]
    for name in ORDER:
        found = [group.estimates.get(name) for group in groups]
        if any(found):
            rows.append([title_of(name), *_said_and_n(found, _TITLES[name][1])])
    for criterion in sorted({name for group in groups for name in group.judge}):
        scores = [group.judge.get(criterion) for group in groups]
        rows.append([title_of(f"{JUDGED}{criterion}"), *_said_and_n(scores, "1–5")])
    for title, name in (("unscored", "unscored"), ("not run", "not_judged")):
        counts = [getattr(group.outcomes, name) for group in groups]
        if any(counts):
            told = [(str(count), str(group.outcomes.completed)) for count, group in zip(counts, groups, strict=True)]
            rows.append([f"Judge: {title} (interviews of completed)", *chain.from_iterable(told)])
    if any(group.judge_cost_usd is not None for group in groups):
        costs = [(_dollars(group.judge_cost_usd), NOTHING) for group in groups]
        rows.append(["Judge: cost of all verdicts (USD)", *chain.from_iterable(costs)])
    if any(group.patient for group in groups):
        spent = [(_dollars(group.patient.spent.cost_usd) if group.patient else NOTHING, NOTHING) for group in groups]
        rows.append(["Patient: cost of all its answers (USD)", *chain.from_iterable(spent)])
    return rows


def _with_n(groups: Sequence[Group]) -> list[Any]:
    return ["Figure", *chain.from_iterable((group.model, "n") for group in groups)]


def _said_and_n(found: Iterable[Estimate | None], unit: str) -> Iterator[str]:
    for one in found:
        yield _said(one, unit)
        yield f"{one.cells:,} / {one.patients:,}" if one else NOTHING


def _dollars(cost: float | None) -> str:
    return "unknown" if cost is None else f"{cost:.4f}"


def _pair_rows(made: Aggregate, mode: str) -> Rows:
    rows: Rows = [["Figure", "Models", "Difference", "n", "Patients higher / lower / equal", "Sign test p"]]
    for pair in made.pairs:
        if pair.mode == mode:
            d, unit = pair.difference, unit_of(pair.metric)
            ways = f"{d.higher} / {d.lower} / {d.equal}"
            models = f"{pair.first} − {pair.second}"
            rows.append([title_of(pair.metric), models, _said(d, unit, signed=True), d.patients, ways, _p(d.p)])
    return rows


def _class_rows(groups: Sequence[Group]) -> Rows:
    named = [group for group in groups if group.classes]
    columns = [(f"{group.model}: F1", "Gold n", "Given") for group in named]
    rows: Rows = [["Class", *chain.from_iterable(columns)]]
    for name in sorted({row.name for group in named for row in group.classes}):
        found = [next((row for row in group.classes if row.name == name), None) for group in named]
        rows.append([name, *chain.from_iterable(map(_class_cells, found))])
    return rows


def _class_cells(row: ClassRow | None) -> tuple[str, str, str]:
    """Its own n: where interviews failed, models have not the same."""
    if row is None:
        return NOTHING, NOTHING, NOTHING
    return _said(row.f1, "F1, 0 to 1"), f"{row.gold:,} / {row.patients:,}", str(row.given)


def reliability_of(group: Group) -> list[tuple[str, tuple[Bin, ...]]]:
    """Items before impressions, as in the interview."""
    return [(kind, bins) for kind in CONFIDENT_OF if (bins := group.reliability.get(kind))]


def _reliability_rows(groups: Sequence[Group]) -> Rows:
    rows: Rows = [["Model", "Of", "Confidence", "n", "Mean confidence", "Share right"]]
    for group in groups:
        for kind, bins in reliability_of(group):
            for b in bins:
                right = f"{b.accuracy:.3f} [{', '.join(f'{end:.3f}' for end in chance(b))}]"
                rows.append([group.model, kind, ranged(b), b.count, f"{b.mean_confidence:.3f}", right])
    return rows


def _share_rows(groups: Sequence[Group]) -> Rows:
    rows: Rows = [["Figure", "Model", "Share", "Bootstrap over patients", "Wilson", "Interviews", "Patients"]]
    for metric in (metric for metric in METRICS if metric.share):
        for group in groups:
            found = group.estimates.get(metric.name)
            if found is not None:
                ends = (_ends(found.interval, _THREE), _ends(found.wilson, _THREE))
                rows.append([metric.title, group.model, f"{found.value:.3f}", *ends, found.cells, found.patients])
    return rows


def _further_rows(groups: Sequence[Group]) -> Rows:
    rows: Rows = [_with_n(groups)]
    found = {name for group in groups for name in group.further}
    for name, title in further_titles().items():
        if name in found:
            rows.append([title, *_said_and_n((group.further.get(name) for group in groups), unit_of(name))])
    return rows


def _trouble_rows(groups: Sequence[Group]) -> Rows:
    rows: Rows = [["Model", "What", "Count"]]
    for group in groups:
        rows += [[group.model, f"failed: {reason}", count] for reason, count in group.failures.items()]
        if group.wasted:
            rows.append([group.model, "spent on failed interviews", _spent(group.wasted)])
        for role in group.roles:
            if role.by_rules:
                kinds = ", ".join(f"{kind} {count}×" for kind, count in role.failures.items())
                rows.append([group.model, f"{role.role}: by the rules ({kinds})", f"{role.by_rules} of {role.asked}"])
        if group.patient and group.patient.by_script:
            kinds = ", ".join(f"{kind} {count}×" for kind, count in sorted(group.patient.failures.items()))
            times = f"{group.patient.by_script} of {group.patient.asked}"
            rows.append([group.model, f"patient {group.patient.model}: by the script ({kinds})", times])
        rows += [[group.model, f"violation: {name}", count] for name, count in group.violations.items() if count]
        if group.outcomes.unpriced:
            rows.append([group.model, "interviews with a call of unknown price", group.outcomes.unpriced])
        if group.outcomes.uncounted:
            rows.append([group.model, "interviews with a call of unknown tokens", group.outcomes.uncounted])
    return rows


def _spent(spent: SpentFigures) -> str:
    tokens = "tokens unknown" if spent.tokens is None else f"{spent.tokens:,} tokens"
    cost = "price unknown" if spent.cost_usd is None else f"{_dollars(spent.cost_usd)} USD"
    return f"{spent.calls:,} calls, {tokens}, {cost}"


def _provenance(made: Aggregate) -> str:
    rows: Rows = [["What", "Version", "Interviews"]]
    for name in ProvenanceFigure.model_fields:
        rows += [[name, version, count] for version, count in made.provenance.get(name, {}).items()]
    warning = "**Interviews were made by several versions: a difference between models may be one between versions.**"
    told = "" if made.is_of_one_making else f"{warning}\n\n"
    return f"## Provenance\n\n{told}" + _table(rows)


def _notes(made: Aggregate) -> str:
    return (
        f"---\n\n*Intervals: {100 * CONFIDENCE:.0f} % percentile bootstrap, {RESAMPLES:,} resamples of whole patients, "
        f"seed {made.spec['seed']}. Sign test: exact, two-sided, over patients; p values are not corrected for their "
        "number. Where all patients agree an interval has no width, which does not rule out chance: Wilson's, in the "
        "table of shares, says how much is left to it. An arrow points to where a figure is better. Sessions stopped "
        "for safety have no snapshot: they are in the stop decisions and in what the rules answered instead of a "
        "model, and in no other figure. BERTScore is a report card's alone. An interview in which a "
        "model gave nothing usable in one of its roles has failed: "
        f"the rules' work is not credited to it. {_notes_on_patient(made)}{_notes_on_snapshots(made)}"
        "– : nothing to measure.*"
    )


def _notes_on_patient(made: Aggregate) -> str:
    if not any(group.patient for group in made.groups):
        return ""
    return (
        "A model plays the patients, so no two interviews have the same words; what is true of each is settled "
        "beforehand. Its cost and its time are in no other figure. "
    )


def _notes_on_snapshots(made: Aggregate) -> str:
    if made.spec.get("keep"):
        return ""
    return (
        "The run kept no sessions: the snapshots that cells.csv names were deleted with them, so their hashes tell "
        "equal ones from different ones and lead to nothing. "
    )


# ---- cells of tables ----


def _said(found: Estimate | Difference | None, unit: str, *, signed: bool = False) -> str:
    if found is None:
        return NOTHING
    decimals = _decimals(unit)
    value = _number(found.value, decimals, "+" if signed else "")
    return f"{value} {_ends(found.interval, decimals)}".rstrip()


def _number(value: float, decimals: int, sign: str = "") -> str:
    """What rounds to nothing has no minus."""
    return f"{round(value, decimals) + 0.0:{sign},.{decimals}f}".replace("-", "−")


def _decimals(unit: str) -> int:
    return _DECIMALS.get(unit, _THREE)


def _ends(interval: Interval | None, decimals: int) -> str:
    if interval is None:
        return ""
    return f"[{_number(interval.low, decimals)}, {_number(interval.high, decimals)}]"


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _captioned(label: str, caption: str, rows: Rows) -> str:
    return f"**{label}.** {caption}\n\n{_table(rows)}"


def _table(rows: Rows) -> str:
    head, *body = rows
    lines = [_line(head), _line(["---"] + ["---:" if _is_number(body, n) else "---" for n in range(1, len(head))])]
    return "\n".join([*lines, *map(_line, body)])


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
