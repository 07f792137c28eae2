"""A comparison as a file: JSON with everything, or Markdown with tables side by side."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from agents.report.tags import escaped
from benchmark.card_files import in_cell
from benchmark.comparison.figures import OVERLAP_AT
from benchmark.comparison.types import Agreement, Cell, Column, Comparison, ReportDiff, Run
from benchmark.judge import LABELS, Criterion, Judgement, Opinion

UNKNOWN = "unknown"
NOTHING = "—"


@dataclass(frozen=True)
class Sheet:
    """A table in plain text: whoever shows it escapes it in its own way."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def as_json(comparison: Comparison) -> str:
    return json.dumps(comparison.to_json_dict(), indent=2, ensure_ascii=False) + "\n"


def as_markdown(comparison: Comparison, charts: Mapping[str, str] | None = None) -> str:
    """`charts` are addresses of pictures, by their names."""
    state = comparison.state
    lines = [
        f"- Session {escaped(state.session_id)}, run {state.run_id}, {state.asked_at:%-d %B %Y, %H:%M} UTC",
        f"- Snapshot {state.snapshot_sha256}",
        "- One frozen interview, one answer a model: figures have no interval, and agreement is not accuracy",
    ]
    tables = [_as_markdown(sheet) for sheet in sheets(comparison)]
    pictures = [f"![{escaped(name)}](<{where}>)" for name, where in (charts or {}).items()]
    return "\n\n".join(["# Comparison", "\n".join(lines), *tables, *pictures]) + "\n"


def sheets(comparison: Comparison) -> tuple[Sheet, ...]:
    made = (_outcomes(comparison), _impressions(comparison), _agreements(comparison), _diffs(comparison))
    return tuple(sheet for sheet in made if sheet.rows)


def _as_markdown(sheet: Sheet) -> str:
    head = "| " + " | ".join(map(in_cell, sheet.head)) + " |"
    rows = ["| " + " | ".join(map(in_cell, row)) + " |" for row in sheet.rows]
    return "\n".join([f"## {sheet.title}", "", head, "|" + " --- |" * len(sheet.head), *rows])


def _named(comparison: Comparison) -> tuple[str, ...]:
    return tuple(f"{column.model} (driver)" if column.is_driver else column.model for column in comparison.columns)


def _outcomes(comparison: Comparison) -> Sheet:
    return Sheet("Columns", ("", *_named(comparison)), outcome_rows(comparison) if comparison.columns else ())


def outcome_rows(comparison: Comparison) -> tuple[tuple[str, ...], ...]:
    """What became of each column: a label, then a text a column."""
    labels = {
        "Outcome": _outcome,
        "Engine": lambda column: "a model" if column.engine == "llm" else "rules",
        "Prompt version": lambda column: column.prompt_version or NOTHING,
        "Passages used": _passages_used,
        "Taken out as not there": _removed,
        "Tries": lambda column: str(column.tries) if column.engine == "llm" else NOTHING,
        "Tokens, prompt and completion": _tokens,
        "Cost (USD)": lambda column: UNKNOWN if column.cost_usd is None else f"{column.cost_usd:.4f}",
        "Time (s)": lambda column: f"{column.seconds:.2f}",
    }
    return tuple((label, *map(tell, comparison.columns)) for label, tell in labels.items()) + _judged(comparison)


def _outcome(column: Column) -> str:
    if column.diagnosis is None:
        return f"failed: {column.error}"
    count = len(column.diagnosis.diagnoses)
    return f"{count} {'impression' if count == 1 else 'impressions'}"


def _passages_used(column: Column) -> str:
    if column.diagnosis is None:
        return NOTHING
    return f"{len(column.diagnosis.citations)} cited" if column.diagnosis.rag_used else "none"


def _removed(column: Column) -> str:
    if column.diagnosis is None:
        return NOTHING
    counts = column.diagnosis.removed.model_dump()
    return ", ".join(f"{count} {what}" for what, count in counts.items() if count) or "nothing"


def _tokens(column: Column) -> str:
    if column.prompt_tokens is None or column.completion_tokens is None:
        return UNKNOWN
    return f"{column.prompt_tokens:,} and {column.completion_tokens:,}"


def _judged(comparison: Comparison) -> tuple[tuple[str, ...], ...]:
    """A row a criterion; only one where no column has a verdict."""
    judgements = [column.judgement for column in comparison.columns]
    if not any(one and one.verdict for one in judgements):
        return (("Judge", *map(_unjudged, judgements)),)
    return tuple(
        (f"Judge: {label}", *(_opinion(criterion, one) for one in judgements)) for criterion, label in LABELS.items()
    )


def _opinion(criterion: Criterion, judgement: Judgement | None) -> str:
    if judgement is None or judgement.verdict is None:
        return _unjudged(judgement)
    opinion: Opinion = getattr(judgement.verdict, criterion)
    return f"{opinion.score} of 5"


def _unjudged(judgement: Judgement | None) -> str:
    if judgement is None:
        return NOTHING
    return "judge not run" if judgement.status == "not run" else f"unscored ({', '.join(judgement.failures)})"


def _impressions(comparison: Comparison) -> Sheet:
    rows = tuple((row.name, *map(_cell, row.cells)) for row in comparison.impressions)
    return Sheet("Impressions: rank · confidence (0–1) · citations", ("Impression", *_named(comparison)), rows)


def _cell(cell: Cell | None) -> str:
    if cell is None:
        return NOTHING
    return " · ".join([f"{cell.rank}", f"{cell.confidence:.2f}", *cell.citations])


def _agreements(comparison: Comparison) -> Sheet:
    return Sheet("Agreement", agreement_head(), tuple(map(agreement_row, comparison.agreements)))


def agreement_head() -> tuple[str, ...]:
    """With what each is in: shared names are counted, all else goes from 0 or −1 to 1."""
    overlaps = (f"Jaccard@{k} (0–1)" for k in OVERLAP_AT)
    return ("Pair", "Shared names (n)", *overlaps, "Spearman (−1–1)", "Confidence drift (0–1)")


def agreement_row(one: Agreement) -> tuple[str, ...]:
    overlaps = [_figure(overlap.jaccard) for overlap in one.overlaps]
    figures = (*overlaps, _figure(one.rank_agreement), _figure(one.confidence_drift))
    return (f"{one.left} and {one.right}", str(one.shared), *figures)


def _figure(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.2f}".replace("-", "−")


def _diffs(comparison: Comparison) -> Sheet:
    head = ("From and to", "Section", "Words in both", "Only in the first", "Only in the second")
    return Sheet("Reports by word (counts)", head, tuple(row for diff in comparison.diffs for row in _counted(diff)))


def _counted(diff: ReportDiff) -> list[tuple[str, ...]]:
    """Of sections in which anything differs."""
    pair = f"{diff.left} to {diff.right}"
    changed = [section for section in diff.sections if any(run.kind != "same" for run in section.runs)]
    return [(pair, section.title, *_counts(section.runs)) for section in changed]


def _counts(runs: tuple[Run, ...]) -> tuple[str, ...]:
    return tuple(f"{words:,}" for words in word_counts(runs).values())


def word_counts(runs: tuple[Run, ...]) -> dict[str, int]:
    """Words in both texts, only in the first, and only in the second."""
    words: Counter[str] = Counter()
    for run in runs:
        words[run.kind] += len(run.text.split())
    return {name: words[kind] for name, kind in {"in_both": "same", "first": "removed", "second": "added"}.items()}
