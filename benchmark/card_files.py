"""A report card as a file: JSON, CSV with one line a metric, or Markdown to read."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence

from agents.report.tags import escaped
from benchmark.card import NO_VERDICT, Card, Graded, ItemRow
from benchmark.judge import NOT_RUN
from benchmark.metrics.base import Metric
from benchmark.metrics.calibration import Bin
from benchmark.reliability import chance, curves, ranged
from benchmark.snapshot import Snapshot
from benchmark.thresholds import thresholds
from graph.provenance import ModelVersion

CSV_HEAD = (
    "session", "revision", "snapshot", "metrics_version", "benchmark_sha256", "limits_version", "metric", "label",
    "value", "unit", "n", "n_of", "grade", "better", "passes_at", "warns_at", "limit_rests_on", "explanation",
)  # fmt: skip
TITLES = {
    "conversation": "Conversation",
    "protocol": "Protocol",
    "explainability": "Explainability",
    "judge": "Judge",
    "accuracy": "Accuracy",
    "calibration": "Calibration",
    "cost": "Cost",
    "bertscore": "BERTScore",
}
_DECIMALS = {"count": 0, "tokens": 0, "of 5": 0, "US school grade": 1, "points, 0 to 100": 1, "USD": 4}
_THREE = 3
_SHORT = {
    "US school grade": "grade",
    "points, 0 to 4": "points",
    "USD": "USD",
    "s": "s",
    "tokens": "tokens",
    "of 5": "of 5",
}
"""Of the units that a figure cannot do without where it stands alone."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def as_json(card: Card) -> str:
    return json.dumps(card.to_json_dict(), indent=2, ensure_ascii=False, sort_keys=True) + "\n"


def as_csv(card: Card) -> str:
    """One line a metric."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_HEAD)
    core, made = card.core, card.core.provenance
    versions = (made.metrics_version, made.benchmark_sha256, made.thresholds_version)
    of = (core.session_id, core.revision, made.snapshot_sha256, *versions)
    for metric in card.metrics:
        limit = thresholds().limits.get(metric.name)
        bounds = (limit.better, limit.passes, limit.warns, limit.reason) if limit else ("",) * 4
        said = (metric.name, metric.label, _or_empty(metric.value), metric.unit, _or_empty(metric.n), metric.n_of)
        row = (*of, *said, metric.grade or "", *bounds, metric.explanation)
        writer.writerow([plain_cell(cell) for cell in row])
    return out.getvalue()


def _or_empty(value: float | None) -> float | str:
    return "" if value is None else value


def as_markdown(card: Card, snapshot: Snapshot, charts: Mapping[str, str] | None = None) -> str:
    """With the conversation behind it, to which the items link. `charts` are addresses of pictures, by their names."""
    core = card.core
    parts = [
        "# Benchmark report card",
        f"**{card.headline.grade or NO_VERDICT}** · {escaped(card.headline.text)}",
        "\n".join(f"- {escaped(line)}" for line in _facts(card)),
        *_groups(card),
        *_reliability(card),
        *_pictures(charts or {}),
        "## Judge\n\n" + _judge(card),
        "## Items\n\n" + _items(core.items),
        "## Provenance\n\n" + "\n".join(f"- {escaped(line)}" for line in provenance_lines(card)),
        "## Turns\n\n" + "\n\n".join(_turns(snapshot)),
    ]
    return "\n\n".join(parts) + "\n"


def _facts(card: Card) -> Iterator[str]:
    core = card.core
    yield f"Session {core.session_id}, revision {core.revision} of its report, mode {core.mode}"
    if core.persona_id:
        yield f"Synthetic patient: {core.persona_id}"
    yield "One interview: its figures have no interval. Intervals over patients are a batch run's (crosscut batch)"
    limits = core.provenance.thresholds_version
    yield f"Limits, version {limits}, are judgement; each with its reason: benchmark/thresholds.toml"
    if card.pending:
        yield f"Still to come: {', '.join(card.pending)}"
    for name, why in sorted(card.failed.items()):
        yield f"Failed: {name} ({why})"


def _groups(card: Card) -> Iterator[str]:
    metrics = (*card.core.metrics, *card.bertscore)
    for group in dict.fromkeys(metric.group for metric in metrics):
        rows = [_row(metric) for metric in metrics if metric.group == group]
        yield f"## {TITLES[group]}\n\n" + _table(_HEAD, rows)


def _reliability(card: Card) -> Iterator[str]:
    """The figures of the plot, and why there is none where there are too few; nothing without gold."""
    found = curves(card)
    rows = [
        (curve.of, ranged(one), f"{one.count}", f"{one.mean_confidence:.2f}", f"{one.accuracy:.2f}", _interval(one))
        for curve in found
        for one in curve.bins
    ]
    if not rows:
        return
    head = ("Of", "Confidence", "n", "Mean confidence", "Share that was right", "95 % interval (Wilson)")
    left_out = [f"{curve.too_few}." for curve in found if not curve.can_be_drawn]
    yield "\n\n".join(["## Reliability", _table(head, rows), *map(escaped, left_out)])


def _interval(one: Bin) -> str:
    low, high = chance(one)
    return f"[{low:.2f}, {high:.2f}]"


def _pictures(charts: Mapping[str, str]) -> Iterator[str]:
    if charts:
        yield "## Charts\n\n" + "\n\n".join(f"![{escaped(name)}](<{where}>)" for name, where in charts.items())


_FIGURES = frozenset({"Value", "Score", "Mean confidence", "Share that was right"})
_HEAD = ("Metric", "Value", "Unit", "n", "Limit", "Grade", "What it is")


def _row(metric: Graded) -> tuple[str, ...]:
    n = NO_VERDICT if metric.n is None else f"{metric.n:,} {metric.n_of}"
    value, unit = _number(metric), metric.unit
    if unit == "share":
        value, unit = value.removesuffix("%"), "%"
    limit = thresholds().limits.get(metric.name)
    bounds = limit.both(metric.unit) if limit else NO_VERDICT
    return (metric.label, value, unit, n, bounds, metric.grade or NO_VERDICT, metric.explanation)


def figure(metric: Graded) -> str:
    """With its unit, where it cannot do without."""
    unit = _SHORT.get(metric.unit)
    return f"{_number(metric)} {unit}" if unit and metric.value is not None else _number(metric)


def _number(metric: Graded) -> str:
    """By decimals that depend on the unit alone, so that figures below each other can be compared."""
    if metric.value is None:
        return NO_VERDICT
    if metric.unit == "share":
        return f"{metric.value:.0%}" if metric.value in (0, 1) else f"{metric.value:.1%}"
    return f"{metric.value:,.{_DECIMALS.get(metric.unit, _THREE)}f}".replace("-", "−")


def limits_markdown(metrics: Sequence[Metric]) -> str:
    """All limits there are, for the documentation; the metrics say what they are called and what they are in."""
    known = {metric.name: metric for metric in metrics}
    rows = [
        (TITLES[name.partition(".")[0]], known[name].label, limit.both(known[name].unit), limit.reason)
        for name, limit in thresholds().limits.items()
    ]
    return _table(("Group", "Metric", "Limit", "What it rests on"), rows)


def why_no_verdict(card: Card) -> str:
    """Empty where the judge gave one, be it of use or not."""
    failed = f"judge failed: {', '.join(card.judge.failures)}; criteria unscored: {card.unscored}"
    return {"pending": "judge still to come", "failed": failed, "not run": NOT_RUN}.get(card.judge.status, "")


def _judge(card: Card) -> str:
    if why := why_no_verdict(card):
        return escaped(f"{why[:1].upper()}{why[1:]}.")
    rows = [_row(metric) for metric in card.judged]
    said = f"By {card.judge.model}, prompt {card.judge.prompt_version}. Criteria unscored: {card.unscored}."
    return escaped(said) + "\n\n" + _table(("Criterion", "Score", "Unit", "n", "Limit", "Grade", "Note"), rows)


def _items(items: Sequence[ItemRow]) -> str:
    head = ("Item", "Asked about", "Score", "Gold", "Ambiguity", "Engine", "Turns")
    rows = []
    for item in items:
        score = NO_VERDICT if item.score is None else str(item.score)
        if item.corrected is not None:
            score += f" (corrected: {item.corrected})"
        gold = NO_VERDICT if item.gold is None else str(item.gold)
        unclear = NO_VERDICT if item.ambiguity is None else str(item.ambiguity)
        rows.append((item.item_id, item.topic, score, gold, unclear, item.engine or NO_VERDICT, item.turns))
    linked = [(*map(in_cell, map(str, row[:-1])), " ".join(f"[{n}](#turn-{n})" for n in row[-1])) for row in rows]
    return _ruled(head, linked)


def provenance_lines(card: Card) -> Iterator[str]:
    made, report = card.core.provenance, card.core.provenance.report
    yield f"Snapshot {made.snapshot_sha256}"
    yield f"Metrics {made.metrics_version}, thresholds {made.thresholds_version}, benchmark {made.benchmark_sha256}"
    yield f"Code {report.code_version}, source {report.source_sha256}"
    yield f"Interview: models {made.interview_models}; prompts {made.interview_prompts}"
    yield "Engines: " + ", ".join(f"{role} {engine}" for role, engine in sorted(made.engines.items()))
    yield "Models: " + ", ".join(f"{role} {_model(one)}" for role, one in sorted(report.models.items()))
    yield "Prompts: " + ", ".join(f"{name} {p.version} ({p.sha256})" for name, p in sorted(report.prompts.items()))
    yield "Tools: " + ", ".join(f"{name} {sha256[:12]}" for name, sha256 in sorted(report.tools.items()))
    yield f"Criteria that the judge left unscored: {card.unscored}"


def _model(one: ModelVersion) -> str:
    return one.model if one.temperature is None else f"{one.model} at temperature {one.temperature:g}"


def _turns(snapshot: Snapshot) -> Iterator[str]:
    for turn in sorted({line.turn for line in snapshot.lines}):
        said = [line for line in snapshot.lines if line.turn == turn]
        yield f"### Turn {turn}\n\n" + "\n\n".join(f"{line.role}: {escaped(line.text)}" for line in said)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return _ruled(head, [tuple(map(in_cell, row)) for row in rows])


def in_cell(text: str) -> str:
    """Escaped, but for signs that mean something only where a line begins."""
    return escaped(NO_VERDICT + text)[len(NO_VERDICT) :]


def _ruled(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    rules = ["---:" if name in _FIGURES else "---" for name in head]
    lines = ["| " + " | ".join(head) + " |", "| " + " | ".join(rules) + " |"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def plain_cell(value: object) -> object:
    """For a CSV file: what a spreadsheet would take for a formula is kept from being one."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
