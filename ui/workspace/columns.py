"""Models beside each other, as HTML: what each made of the session, where they agree, in which words they differ."""

from __future__ import annotations

import re

from agents.report.tags import unescaped
from benchmark.comparison import AlignedImpression, Column, Comparison
from benchmark.comparison.exports import NOTHING, agreement_head, agreement_row, outcome_rows
from benchmark.comparison.types import Cell, ReportDiff, Run, SectionDiff
from ui.workspace.markup import badge, text

_MARKS = re.compile(r"</?(?:sym|quote|med)>|\*\*")
_POINT = re.compile(r"(?m)^- ")
_ELEMENTS = {"same": "span", "added": "ins", "removed": "del"}
_LONGEST_SAME = 40


def column_table(made: Comparison) -> str:
    """A column a model; one that failed says so in its own."""
    rows = "".join(
        f"<tr><td>{text(label)}</td>{''.join(map(_outcome, values, made.columns))}</tr>"
        for label, *values in outcome_rows(made)
    )
    return _table(["", *map(_head, made.columns)], rows)


def _head(column: Column) -> str:
    return f"{text(column.model)} {badge('driver') if column.is_driver else ''}"


def _outcome(value: str, column: Column) -> str:
    failed = column.error is not None and column.error in value
    return f'<td class="{"cc-error" if failed else ""}">{text(value)}</td>'


def impression_table(made: Comparison) -> str:
    rows = "".join(_impression(row) for row in made.impressions)
    return _table(["Impression", *map(_head, made.columns)], rows)


def _impression(row: AlignedImpression) -> str:
    return f"<tr><td>{text(row.name)}</td>{''.join(f'<td>{_cell(cell)}</td>' for cell in row.cells)}</tr>"


def _cell(cell: Cell | None) -> str:
    if cell is None:
        return f'<span class="soft">{NOTHING}</span>'
    share = round(100 * cell.confidence)
    bar = f'<span class="cc-bar" role="presentation"><span style="width:{share}%"></span></span>'
    cited = "".join(f'<div class="soft">{text(citation)}</div>' for citation in cell.citations)
    return f'<div class="cc-rank"><b>{cell.rank}.</b> {bar} {cell.confidence:.2f}</div>{cited}'


def agreement_table(made: Comparison) -> str:
    rows = "".join(
        "<tr>" + "".join(f"<td>{text(value)}</td>" for value in agreement_row(one)) + "</tr>" for one in made.agreements
    )
    return _table(list(map(text, agreement_head())), rows)


def _table(head: list[str], rows: str) -> str:
    cells = "".join(f"<th>{name}</th>" for name in head)
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{rows}</tbody></table>"


# ---- by word ----


def diff_of(diff: ReportDiff) -> str:
    changed = [section for section in diff.sections if any(run.kind != "same" for run in section.runs)]
    same = [section.title for section in diff.sections if section not in changed]
    alike = f'<p class="soft">The same in both: {text(", ".join(same))}.</p>' if same else ""
    legend = '<p class="soft"><del>only in the first</del> <ins>only in the second</ins></p>'
    return legend + "".join(map(_section, changed)) + alike


def _section(section: SectionDiff) -> str:
    shown = " ".join(_run(run) for run in section.runs)
    return f'<h3>{text(section.title)}</h3><p class="text">{shown}</p>'


def _run(run: Run) -> str:
    """What is the same at length is cut in its middle: the differences are what is looked for."""
    said = unescaped(_POINT.sub("• ", _MARKS.sub("", run.text)))
    words = said.split(" ")
    if run.kind == "same" and len(words) > 2 * _LONGEST_SAME:
        said = f"{' '.join(words[:_LONGEST_SAME])} … {' '.join(words[-_LONGEST_SAME:])}"
    element = _ELEMENTS[run.kind]
    return f"<{element}>{text(said)}</{element}>"
