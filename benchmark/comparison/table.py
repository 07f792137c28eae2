"""A comparison as CSV: one line a figure, with whose it is, so that any statistics program can turn it as it needs."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from typing import Any

from benchmark.card_files import plain_cell
from benchmark.comparison.exports import word_counts
from benchmark.comparison.types import Agreement, Column, Comparison
from benchmark.judge import CRITERIA

HEAD = ("session", "run", "snapshot", "figure", "model", "other_model", "of", "value", "unit")
Line = tuple[str, str, str, str, Any, str]
"""Figure, model, the other model, what it is of, value and unit."""


def as_csv(comparison: Comparison) -> str:
    """An unknown value is an empty cell, never a zero."""
    state = comparison.state
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEAD)
    for line in _lines(comparison):
        row = (state.session_id, state.run_id, state.snapshot_sha256, *line)
        writer.writerow(["" if value is None else plain_cell(value) for value in row])
    return out.getvalue()


def _lines(comparison: Comparison) -> Iterator[Line]:
    for column in comparison.columns:
        yield from _column(column)
    for aligned in comparison.impressions:
        for column, cell in zip(comparison.columns, aligned.cells, strict=True):
            if cell is not None:
                yield "rank", column.model, "", aligned.name, cell.rank, "rank, 1 is first"
                yield "confidence", column.model, "", aligned.name, cell.confidence, "0 to 1"
                yield "citations", column.model, "", aligned.name, len(cell.citations), "count"
    for agreement in comparison.agreements:
        yield from _agreement(agreement)
    for diff in comparison.diffs:
        for section in diff.sections:
            for kind, words in word_counts(section.runs).items():
                yield f"words_{kind}", diff.left, diff.right, section.title, words, "words"


def _column(column: Column) -> Iterator[Line]:
    def line(figure: str, value: Any, unit: str) -> Line:
        return figure, column.model, "", "", value, unit

    made = column.diagnosis
    yield line("answered", int(made is not None), "1 yes, 0 no")
    yield line("error", column.error, "text")
    yield line("impressions", len(made.diagnoses) if made else None, "count")
    yield line("tries", column.tries, "count")
    yield line("prompt_tokens", column.prompt_tokens, "tokens")
    yield line("completion_tokens", column.completion_tokens, "tokens")
    yield line("cost", column.cost_usd, "USD")
    yield line("time", column.seconds, "s")
    if made:
        yield line("passages_cited", len(made.citations) if made.rag_used else 0, "count")
        for what, count in made.removed.model_dump().items():
            yield line(f"taken_out_{what}", count, "count")
    yield from _judged(column, line)


def _judged(column: Column, line: Callable[[str, Any, str], Line]) -> Iterator[Line]:
    """With why there is no score: still to come, not run and unscored are three things."""
    judgement = column.judgement
    waiting = "pending" if column.diagnosis else "no report"
    yield line("judge_status", judgement.status if judgement else waiting, "text")
    yield line("judge_failures", ", ".join(judgement.failures) or None if judgement else None, "text")
    verdict = judgement.verdict if judgement else None
    for criterion in CRITERIA:
        yield line(f"judge_{criterion}", getattr(verdict, criterion).score if verdict else None, "1 to 5")


def _agreement(one: Agreement) -> Iterator[Line]:
    yield "shared_names", one.left, one.right, "", one.shared, "count"
    for overlap in one.overlaps:
        yield f"jaccard_at_{overlap.k}", one.left, one.right, "", overlap.jaccard, "0 to 1"
    yield "spearman", one.left, one.right, "", one.rank_agreement, "−1 to 1"
    yield "confidence_drift", one.left, one.right, "", one.confidence_drift, "0 to 1"
