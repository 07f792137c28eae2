"""A report card as a file: JSON, CSV with one line a metric, or Markdown to read."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence

from agents.report.tags import escaped
from benchmark.card import NO_VERDICT, Card, Graded, ItemRow
from benchmark.judge import NOT_RUN
from benchmark.snapshot import Snapshot
from graph.provenance import ModelVersion

CSV_HEAD = ("session", "revision", "snapshot", "metric", "label", "value", "unit", "grade", "limit", "explanation")
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
_LARGE = 10
_BARE = frozenset({"", "count", "score", "kappa", "cosine"})
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def as_json(card: Card) -> str:
    return json.dumps(card.to_json_dict(), indent=2, ensure_ascii=False, sort_keys=True) + "\n"


def as_csv(card: Card) -> str:
    """What a spreadsheet would take for a formula is kept from being one."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_HEAD)
    core = card.core
    for metric in card.metrics:
        cells = (
            core.session_id,
            core.revision,
            core.provenance.snapshot_sha256,
            metric.name,
            metric.label,
            "" if metric.value is None else metric.value,
            metric.unit,
            metric.grade or "",
            metric.limit or "",
            metric.explanation,
        )
        writer.writerow([_cell(cell) for cell in cells])
    return out.getvalue()


def as_markdown(card: Card, snapshot: Snapshot) -> str:
    """With the conversation behind it, to which the items link."""
    core = card.core
    parts = [
        "# Benchmark report card",
        f"**{card.headline.grade or NO_VERDICT}** · {escaped(card.headline.text)}",
        "\n".join(f"- {escaped(line)}" for line in _facts(card)),
        *_groups(card),
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
    if card.pending:
        yield f"Still to come: {', '.join(card.pending)}"
    for name, why in sorted(card.failed.items()):
        yield f"Failed: {name} ({why})"


def _groups(card: Card) -> Iterator[str]:
    metrics = (*card.core.metrics, *card.bertscore)
    for group in dict.fromkeys(metric.group for metric in metrics):
        rows = [_row(metric) for metric in metrics if metric.group == group]
        yield f"## {TITLES[group]}\n\n" + _table(("Metric", "Value", "Limit", "Grade", "How"), rows)


def _row(metric: Graded) -> tuple[str, ...]:
    return (metric.label, figure(metric), metric.limit or "", metric.grade or NO_VERDICT, metric.explanation)


def figure(metric: Graded) -> str:
    if metric.value is None:
        return NO_VERDICT
    if metric.unit == "share":
        return f"{metric.value:.0%}" if metric.value in (0, 1) else f"{metric.value:.1%}"
    shown = f"{metric.value:,.3f}" if abs(metric.value) < _LARGE else f"{metric.value:,.1f}"
    shown = shown.rstrip("0").rstrip(".")
    return shown if metric.unit in _BARE else f"{shown} {metric.unit}"


def _judge(card: Card) -> str:
    if not card.judged:
        return "Still to come." if "judge" in card.pending else f"{NOT_RUN}."
    if card.judge.status == "not run":
        return f"{NOT_RUN}."
    rows = [_row(metric) for metric in card.judged]
    said = f"By {card.judge.model}, prompt {card.judge.prompt_version}. Criteria unscored: {card.unscored}."
    return escaped(said) + "\n\n" + _table(("Criterion", "Score", "Limit", "Grade", "Note"), rows)


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
    linked = [(*map(escaped, map(str, row[:-1])), " ".join(f"[{n}](#turn-{n})" for n in row[-1])) for row in rows]
    return _ruled(head, linked)


def provenance_lines(card: Card) -> Iterator[str]:
    made, report = card.core.provenance, card.core.provenance.report
    yield f"Snapshot {made.snapshot_sha256}"
    yield f"Metrics {made.metrics_version}, thresholds {made.thresholds_version}"
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
    return _ruled(head, [tuple(map(escaped, row)) for row in rows])


def _ruled(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def _cell(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
