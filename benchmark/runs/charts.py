"""A run's charts, as one would put them into a paper: points with their intervals, axes with names and units."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import altair as alt

from benchmark.runs.aggregate import KAPPA, MACRO_F1, Aggregate
from benchmark.runs.tables import short_title, unit_of

Row = dict[str, Any]
_QUALITY = ("item_exact", KAPPA, "top1", "top3", MACRO_F1, "stop_right")
_BURDEN = ("item_mae", "violations", "brier_items", "seconds", "tokens", "cost")
_COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442"]
"""Told apart by people who see colours differently (after Okabe and Ito)."""
_WIDTH, _ROW = 200, 24
_LONGEST = 28


def charts_of(made: Aggregate) -> dict[str, alt.TopLevelMixin]:
    """By name of the file; a chart with nothing to show is left out."""
    found = {
        "accuracy": _estimates(made, _QUALITY, "Accuracy by model", (0.0, 1.0)),
        "errors-and-effort": _estimates(made, _BURDEN, "Errors and effort by model", None),
        "differences": _differences(made),
        "classes": _classes(made),
        "reliability": _reliability(made),
    }
    return {name: _styled(chart) for name, chart in found.items() if chart is not None}


def _chart(rows: list[Row]) -> Any:
    return alt.Chart(alt.Data(values=rows))  # type: ignore[no-untyped-call]


def _styled(chart: Any) -> Any:
    return (
        chart.configure(background="white", font="Helvetica, Arial, sans-serif")
        .configure_axis(labelFontSize=11, titleFontSize=11, titleFontWeight="normal", gridColor="#e6e6e6")
        .configure_axisY(labelLimit=260)
        .configure_header(labelFontSize=12, titleFontSize=12)
        .configure_legend(labelFontSize=11, titleFontSize=11, labelLimit=300)
        .configure_title(fontSize=14, anchor="start", subtitleFontSize=11, subtitleColor="#555555", offset=12)
        .configure_view(stroke="#cccccc")
    )


def _series(made: Aggregate) -> tuple[list[str], alt.Color]:
    models = list(dict.fromkeys(group.model for group in made.groups))
    scale = alt.Scale(domain=models, range=[_COLOURS[n % len(_COLOURS)] for n in range(len(models))])
    return models, alt.Color("model:N", title="Model", scale=scale, legend=None)


def _label(model: str, mode: str, made: Aggregate) -> str:
    return model if len(made.spec["modes"]) == 1 else f"{model} · {mode}"


def _estimates(
    made: Aggregate, names: Iterable[str], title: str, domain: tuple[float, float] | None
) -> alt.TopLevelMixin | None:
    """One panel a figure, one row a model and mode."""
    panels: list[Any] = []
    order = list(dict.fromkeys(_label(group.model, group.mode, made) for group in made.groups))
    for name in names:
        rows = _estimate_rows(made, name)
        if rows:
            panels.append(_panel(made, rows, order, name, domain, first=len(panels) % 3 == 0))
    if not panels:
        return None
    lines = [alt.hconcat(*panels[n : n + 3], spacing=18) for n in range(0, len(panels), 3)]
    return alt.vconcat(*lines, spacing=24).properties(
        title=alt.TitleParams(f"{title}: {made.name}", subtitle="Mean and 95 % interval, bootstrap over patients")
    )


def _estimate_rows(made: Aggregate, name: str) -> list[Row]:
    rows: list[Row] = []
    for group in made.groups:
        found = group.estimates.get(name)
        if found is not None:
            low, high = (found.interval.low, found.interval.high) if found.interval else (found.value, found.value)
            label = _label(group.model, group.mode, made)
            rows.append({"model": group.model, "label": label, "value": found.value, "low": low, "high": high})
    return rows


def _panel(
    made: Aggregate, rows: list[Row], order: list[str], name: str, domain: tuple[float, float] | None, *, first: bool
) -> Any:
    _, colour = _series(made)
    low, high = min(0.0, *(row["low"] for row in rows)), max(row["high"] for row in rows)
    scale = alt.Scale(domain=[low, domain[1] if domain else 1.08 * high or 1.0])
    axis = alt.Axis(labels=first, ticks=first, labelLimit=260)
    y = alt.Y("label:N", title=None, sort=order, axis=axis, scale=alt.Scale(domain=order))
    base = _chart(rows).encode(y=y, color=colour)
    x = alt.X("low:Q", title=unit_of(name), scale=scale, axis=alt.Axis(tickCount=4))
    bars = base.mark_rule(strokeWidth=2).encode(x=x, x2="high:Q")
    points = base.mark_point(filled=True, size=70, opacity=1).encode(x=alt.X("value:Q", scale=scale))
    return (bars + points).properties(width=_WIDTH, height=_ROW * max(2, len(order)), title=_heading(name))


def _heading(name: str) -> alt.TitleParams:
    return alt.TitleParams(short_title(name), fontSize=12, anchor="start", fontWeight="bold", offset=4)


def _differences(made: Aggregate) -> alt.TopLevelMixin | None:
    """A forest: one panel a figure, one row a pair of models; what crosses the line may be nothing."""
    panels: list[Any] = []
    for name in dict.fromkeys(pair.metric for pair in made.pairs):
        rows: list[Row] = []
        for pair in made.pairs:
            if pair.metric == name:
                d = pair.difference
                low, high = (d.interval.low, d.interval.high) if d.interval else (d.value, d.value)
                mode = "" if len(made.spec["modes"]) == 1 else f" · {pair.mode}"
                label = f"{_cut(pair.first)} − {_cut(pair.second)}{mode}"
                rows.append({"label": label, "value": d.value, "low": low, "high": high})
        panels.append(_forest(rows, name, first=len(panels) % 3 == 0))
    if not panels:
        return None
    lines = [alt.hconcat(*panels[n : n + 3], spacing=18) for n in range(0, len(panels), 3)]
    subtitle = "First minus second model on shared patients; mean and 95 % interval, bootstrap over patients"
    return alt.vconcat(*lines, spacing=24).properties(
        title=alt.TitleParams(f"Paired differences: {made.name}", subtitle=subtitle)
    )


def _cut(name: str) -> str:
    return name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…"


def _forest(rows: list[Row], name: str, *, first: bool) -> Any:
    axis = alt.Axis(labels=first, ticks=first, labelLimit=360)
    base = _chart(rows).encode(y=alt.Y("label:N", title=None, sort=None, axis=axis))
    furthest = max(max(abs(row["low"]), abs(row["high"])) for row in rows) or 1.0
    scale = alt.Scale(domain=[-1.08 * furthest, 1.08 * furthest])
    x = alt.X("low:Q", title=f"Difference, {unit_of(name)}", scale=scale, axis=alt.Axis(tickCount=4))
    nought = _chart([{"x": 0}]).mark_rule(strokeDash=[4, 3], color="#888888").encode(x="x:Q")
    bars = base.mark_rule(strokeWidth=2, color="#333333").encode(x=x, x2="high:Q")
    points = base.mark_point(filled=True, size=70, opacity=1, color="#333333").encode(x=alt.X("value:Q", scale=scale))
    height = _ROW * max(2, len({row["label"] for row in rows}))
    return (nought + bars + points).properties(width=_WIDTH, height=height, title=_heading(name))


def _classes(made: Aggregate) -> Any:
    rows: list[Row] = [
        {
            "class": f"{row.name} ({row.gold})",
            "label": _label(group.model, group.mode, made),
            "f1": row.f1.value,
            "said": f"{row.f1.value:.2f}",
        }
        for group in made.groups
        for row in group.classes
        if row.f1 is not None
    ]
    if not rows:
        return None
    order = list(dict.fromkeys(_label(group.model, group.mode, made) for group in made.groups))
    base = _chart(rows).encode(
        x=alt.X("label:N", title=None, sort=order, axis=alt.Axis(labelAngle=0, labelLimit=150, orient="top")),
        y=alt.Y("class:N", title=None, sort=alt.SortField("class")),
    )
    scale = alt.Scale(domain=[0, 1], scheme="blues")
    # Without a legend, since each square says its number: a gradient's name in the SVG counts up within a process.
    squares = base.mark_rect(stroke="white").encode(color=alt.Color("f1:Q", scale=scale, legend=None))
    white = alt.condition("datum.f1 > 0.6", alt.value("white"), alt.value("#222222"))
    said = base.mark_text(fontSize=11).encode(text="said:N", color=white)
    return (squares + said).properties(
        width=max(260, 150 * len({row["label"] for row in rows})),
        height=alt.Step(_ROW - 2),
        title=alt.TitleParams(
            f"F1 by class: {made.name}",
            subtitle="F1 (0 to 1) of the impression named first; in brackets, interviews with this gold",
        ),
    )


def _reliability(made: Aggregate) -> alt.TopLevelMixin | None:
    """On the dashed line, confidence is what it claims to be; below it, too high."""
    kinds = {"items": "Item scores", "impressions": "Impressions"}
    rows: list[Row] = [
        {
            "model": group.model,
            "label": _label(group.model, group.mode, made),
            "of": kinds[kind],
            "confidence": b.mean_confidence,
            "right": b.accuracy,
            "count": b.count,
        }
        for group in made.groups
        for kind, bins in group.reliability.items()
        for b in bins
    ]
    if not rows:
        return None
    order = list(dict.fromkeys(row["label"] for row in rows))
    scale = alt.Scale(domain=order, range=[_COLOURS[n % len(_COLOURS)] for n in range(len(order))])
    panels = [
        _reliability_panel([row for row in rows if row["of"] == kind], kind, scale)
        for kind in dict.fromkeys(row["of"] for row in rows)
    ]
    subtitle = "Answers in ten ranges of confidence; the dashed line is perfect calibration"
    return alt.hconcat(*panels, spacing=24).properties(
        title=alt.TitleParams(f"Reliability: {made.name}", subtitle=subtitle)
    )


def _reliability_panel(rows: list[Row], kind: str, colours: alt.Scale) -> Any:
    unit = alt.Scale(domain=[0, 1])
    diagonal = (
        _chart([{"a": 0, "b": 0}, {"a": 1, "b": 1}])
        .mark_line(strokeDash=[4, 3], color="#888888")
        .encode(x=alt.X("a:Q", scale=unit), y=alt.Y("b:Q", scale=unit))
    )
    base = _chart(rows).encode(
        x=alt.X("confidence:Q", title="Mean confidence (0–1)", scale=unit),
        y=alt.Y("right:Q", title="Share right (0–1)", scale=unit),
        color=alt.Color("label:N", title="Model", scale=colours),
    )
    lines = base.mark_line(strokeWidth=1.5)
    points = base.mark_point(filled=True, opacity=0.9).encode(
        size=alt.Size(
            "count:Q", title="Answers", scale=alt.Scale(type="sqrt", range=[20, 260]), legend=alt.Legend(tickCount=4)
        )
    )
    title = alt.TitleParams(kind, fontSize=12, anchor="start", fontWeight="bold", offset=4)
    return (diagonal + lines + points).properties(width=260, height=260, title=title)
