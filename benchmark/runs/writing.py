"""A run's report as files: Markdown, CSV, JSON and charts."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from pathlib import Path

from benchmark.card_files import plain_cell
from benchmark.charts import save
from benchmark.runs import rows, tables
from benchmark.runs.aggregate import Aggregate
from benchmark.runs.charts import charts_of
from errors import InputError
from storage.runs import Cell


def write_report(made: Aggregate, cells: Iterable[Cell], folder: Path) -> list[str]:
    """Write everything into `folder`, which is made if need be; the names of the files, charts last."""
    charts = charts_of(made)
    files = texts(made, cells, list(charts))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (folder / name).write_text(content, "utf-8", newline="")
        drawn = [save(chart, folder / f"{name}.{kind}") for name, chart in charts.items() for kind in ("svg", "png")]
    except OSError as error:
        raise InputError(f"cannot write to {str(folder)!r}: {error.strerror}.") from None
    return [*files, *(path.name for path in drawn)]


def texts(made: Aggregate, cells: Iterable[Cell], charts: list[str]) -> dict[str, str]:
    """The files that are text, by name; `charts` are the names of those that will stand beside them."""
    return {
        "report.md": _with_charts(tables.markdown(made), charts),
        "report.json": json.dumps(made.model_dump(mode="json"), indent=1, sort_keys=True, ensure_ascii=False) + "\n",
        "summary.csv": _csv(rows.summary_rows(made)),
        "outcomes.csv": _csv(rows.outcome_rows(made)),
        "differences.csv": _csv(rows.difference_rows(made)),
        "classes.csv": _csv(rows.class_rows(made)),
        "reliability.csv": _csv(rows.reliability_rows(made)),
        "cells.csv": _csv(rows.cell_rows(cells)),
    }


def _with_charts(text: str, names: list[str]) -> str:
    """The charts stand before the notes."""
    body, rule, notes = text.rpartition("\n---\n")
    shown = "".join(f"\n![{name.replace('-', ' ')}]({name}.svg)\n" for name in names)
    return body + (f"\n## Charts\n{shown}" if names else "") + rule + notes


def _csv(lines: tables.Rows) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(
        [["" if v is None else plain_cell(v) for v in row] for row in lines]
    )
    return text.getvalue()
