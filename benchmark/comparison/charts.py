"""A comparison's chart: how sure each model is of each impression."""

from __future__ import annotations

from typing import Any

import altair as alt

from benchmark.comparison.types import Comparison
from benchmark.styling import COLOURS, INK, SHAPES, Chart, by_name, chart, styled, titled

_ROW = 26


def charts_of(comparison: Comparison) -> dict[str, Chart]:
    """By name of the file; nothing where no model named an impression."""
    rows = _rows(comparison)
    return {"impressions": _impressions(comparison, rows)} if rows else {}


def _rows(comparison: Comparison) -> list[dict[str, Any]]:
    return [
        {"impression": aligned.name, "model": model, "confidence": cell.confidence, "rank": f"rank {cell.rank}"}
        for aligned in comparison.impressions
        for model, cell in zip(_models(comparison), aligned.cells, strict=True)
        if cell is not None
    ]


def _models(comparison: Comparison) -> list[str]:
    return [f"{column.model} (driver)" if column.is_driver else column.model for column in comparison.columns]


def _impressions(comparison: Comparison, rows: list[dict[str, Any]]) -> Chart:
    """A point a model and impression; a model that did not name it has none. Those that failed stay in the legend."""
    models = _models(comparison)
    names = list(dict.fromkeys(row["impression"] for row in rows))
    base = chart(rows).encode(
        y=alt.Y("impression:N", title="Impression", sort=names, axis=alt.Axis(grid=True, tickBand="extent")),
        yOffset=alt.YOffset("model:N", sort=models, scale=alt.Scale(domain=models)),
        x=alt.X("confidence:Q", title="Confidence (0–1)", scale=alt.Scale(domain=[0, 1])),
    )
    points = base.mark_point(filled=True, size=90, opacity=1).encode(
        color=alt.Color("model:N", title="Model", scale=by_name(models, COLOURS)),
        shape=alt.Shape("model:N", title="Model", scale=by_name(models, SHAPES)),
    )
    ranks = base.mark_text(align="left", dx=9, color=INK).encode(text="rank:N")
    failed = [name for name, column in zip(models, comparison.columns, strict=True) if column.diagnosis is None]
    title = titled(
        "Impressions by model",
        "One frozen interview, one answer a model: there are no intervals. No point: not named.",
        *([f"No usable answer: {', '.join(failed)}."] if failed else []),
    )
    height = _ROW * len(models) * len(names)
    return styled(alt.layer(points, ranks).properties(width=420, height=height, title=title))
