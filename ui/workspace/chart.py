"""The domains as bars, with a mark where further inquiry begins. Of the page's own colours: it needs no library."""

from __future__ import annotations

from collections.abc import Sequence

from agents.report.domains import HIGHEST_SCORE, DomainRow
from ui.workspace.markup import text

_KINDS = {"raised": "further inquiry", "calm": "below the threshold", "unclear": "not determined"}


def domain_chart(rows: Sequence[DomainRow]) -> str:
    bars = "".join(_bar(row) for row in rows)
    scale = "".join(f'<span style="left:{_share(score)}%">{score}</span>' for score in range(HIGHEST_SCORE + 1))
    there = {_kind(row) for row in rows}
    legend = " ".join(
        f'<span class="key"><i class="{kind}"></i>{name}</span>' for kind, name in _KINDS.items() if kind in there
    )
    axis = f'<div></div><div class="axis" aria-hidden="true">{scale}</div><div></div>'
    told = "A bar is the highest item of its domain, the upright mark the threshold for further inquiry."
    return f'<div class="cc-chart">{bars}{axis}</div><p class="soft">{legend} {told}</p>'


def _bar(row: DomainRow) -> str:
    kind = _kind(row)
    label = f"highest item {row.highest}, threshold {row.domain.threshold}, {_KINDS[kind]}"
    track = (
        f'<div class="track" role="img" aria-label="{label}" title="{label}">'
        f'<i class="bar {kind}" style="width:{_share(row.highest)}%"></i>'
        f'<i class="threshold" style="left:{_share(row.domain.threshold)}%"></i></div>'
    )
    return f'<div class="name">{text(row.name)}</div>{track}<div class="value">{row.highest}</div>'


def _kind(row: DomainRow) -> str:
    if row.undetermined:
        return "unclear"
    return "raised" if row.reached else "calm"


def _share(score: int) -> float:
    return 100 * score / HIGHEST_SCORE
