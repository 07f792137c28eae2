"""Charts as Altair objects, for files: SVG, PNG or JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import altair as alt

from benchmark.card import Card, Graded
from benchmark.card_files import figure
from benchmark.drawing import PNG_SCALE
from benchmark.metrics.calibration import Bin
from benchmark.shares import group_scores, reached
from benchmark.thresholds import GRADES, thresholds
from errors import InputError

KINDS = (".svg", ".png", ".json")
COLOURS = {"PASS": "#2f7f5f", "WARN": "#d9a02b", "FAIL": "#b23a30"}
Chart = Any
"""Whatever Altair makes: its own types tell layers and facets apart, which nobody here needs to."""
_INK, _RULE = "#33414d", "#cdd5db"
_RINGS = (0.25, 0.5, 0.75, 1.0)
_LABELS_AT = 1.1
_NARROW = 0.2


def save(chart: Any, path: Path) -> Path:
    """Write a chart to a file of the kind that its name says; nothing is fetched to draw it."""
    if path.suffix not in KINDS:
        raise InputError(f"a chart can be saved as {', '.join(KINDS)}, not as {path.suffix or path.name!r}.")
    if path.suffix == ".png":
        chart.save(str(path), scale_factor=PNG_SCALE)
    else:
        chart.save(str(path))
    return path


def radar(card: Card) -> Chart:
    scores = group_scores(card)
    axes = [(group, _angle(at, len(scores))) for at, group in enumerate(scores)]
    shape = [_point(angle, scores[group], group, order) for order, (group, angle) in enumerate(axes)]
    closed = [*shape, {**shape[0], "order": len(shape)}] if shape else []
    plane = {"x": _axis("x"), "y": _axis("y")}
    rings = [_point(a / 48 * 2 * math.pi, ring, str(ring), a) for ring in _RINGS for a in range(49)]
    spokes = [_point(angle, end, group, end) for group, angle in axes for end in (0, 1)]
    layers = [
        _line(rings, plane).encode(detail="name:N"),
        _line(spokes, plane).encode(detail="name:N"),
        alt.Chart(_data(closed))
        .mark_line(color=COLOURS["PASS"], strokeWidth=2, filled=True, fillOpacity=0.22, point={"color": _INK})
        .encode(**plane, order="order:Q"),
        *(_named(f"{group} {scores[group]:.0%}", angle, plane) for group, angle in axes),
    ]
    chart = alt.layer(*layers).properties(width=440, height=330, title="Report card by group")
    return chart.configure_view(stroke=None)


def _named(text: str, angle: float, plane: dict[str, Any]) -> Any:
    """A name beside its axis, on the side where there is room."""
    side = math.sin(angle)
    align: Any = "center" if abs(side) < _NARROW else "left" if side > 0 else "right"
    values = [{**_point(angle, _LABELS_AT, text, 0), "text": text}]
    return alt.Chart(_data(values)).mark_text(fontSize=12, color=_INK, align=align).encode(**plane, text="text:N")


def bars(card: Card) -> Chart:
    """Each graded metric against its own limit, which is the line at 100 %."""
    rows = [_bar(metric) for metric in card.metrics if metric.grade]
    order = [row["label"] for row in rows]
    y = alt.Y("label:N", sort=order, title=None, axis=alt.Axis(labelLimit=320, labelColor=_INK, ticks=False))
    x = alt.X("reached:Q", scale=alt.Scale(domain=[0, 1.3]), title="share of the limit reached")
    x = x.axis(format="%", values=[0, 0.5, 1], gridColor=_RULE)
    colour = alt.Color("grade:N", scale=alt.Scale(domain=list(GRADES), range=[COLOURS[g] for g in GRADES]), title=None)
    base = alt.Chart(_data(rows))
    filled = base.mark_bar(height=11).encode(y=y, x=x, color=colour)
    figures = base.mark_text(align="left", dx=5, color=_INK).encode(y=y, x="reached:Q", text="figure:N")
    line = alt.Chart(_data([{"reached": 1}])).mark_rule(color=_INK, strokeDash=[3, 3]).encode(x="reached:Q")
    chart = alt.layer(filled, line, figures).properties(width=440, height=18 * max(1, len(rows)))
    return chart.properties(title="Metrics against their limits").configure_view(stroke=None)


def reliability_chart(bins: Sequence[Bin]) -> Chart:
    """Confidence against truth; on the diagonal both are the same."""
    values = [one.to_json_dict() for one in bins]
    unit = alt.Scale(domain=[0, 1])
    x = alt.X("meanConfidence:Q", scale=unit, title="mean confidence")
    y = alt.Y("accuracy:Q", scale=unit, title="share that was right")
    diagonal = [{"meanConfidence": at, "accuracy": at} for at in (0, 1)]
    line = alt.Chart(_data(diagonal)).mark_line(color=_RULE, strokeDash=[4, 4]).encode(x=x, y=y)
    points = alt.Chart(_data(values)).mark_circle(color=COLOURS["PASS"], opacity=0.9)
    size = alt.Size("count:Q", title="answers", scale=alt.Scale(range=[40, 400]))
    return alt.layer(line, points.encode(x=x, y=y, size=size)).properties(width=300, height=300, title="Calibration")


def _bar(metric: Graded) -> dict[str, Any]:
    limit = thresholds().limits[metric.name]
    assert metric.value is not None  # noqa: S101  # what has a grade has a figure
    return {
        "label": metric.label,
        "grade": metric.grade,
        "reached": reached(metric.value, limit),
        "figure": f"{figure(metric)} ({metric.limit})",
    }


def _angle(at: int, of: int) -> float:
    return 2 * math.pi * at / of


def _point(angle: float, radius: float, name: str, order: float) -> dict[str, Any]:
    x, y = radius * math.sin(angle), radius * math.cos(angle)
    return {"x": round(x, 4), "y": round(y, 4), "name": name, "order": order}


def _axis(name: str) -> Any:
    channel = alt.X if name == "x" else alt.Y
    reach = 1.2 * (440 / 330 if name == "x" else 1)
    return channel(f"{name}:Q", axis=None, scale=alt.Scale(domain=[-reach, reach]))


def _line(values: list[dict[str, Any]], plane: dict[str, Any]) -> Any:
    chart = alt.Chart(_data(values)).mark_line(color=_RULE, strokeWidth=1)
    return chart.encode(**plane, order="order:Q")


def _data(values: Sequence[dict[str, Any]]) -> Any:
    return alt.Data(values=list(values))  # type: ignore[no-untyped-call]
