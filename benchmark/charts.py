"""A card's charts as Altair objects, for files: SVG, PNG or JSON."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import altair as alt

from benchmark.card import Card, Graded
from benchmark.card_files import TITLES, figure
from benchmark.drawing import PNG_SCALE
from benchmark.metrics.calibration import Bin
from benchmark.reliability import Curve, chance, curves
from benchmark.shares import group_scores, reached
from benchmark.styling import COLOURS, GRADE_COLOURS, INK, RULE, SOFT, Chart, chart, headed, styled, titled
from benchmark.thresholds import GRADES, thresholds
from errors import InputError

KINDS = (".svg", ".png", ".json")
_RINGS = (0.25, 0.5, 0.75, 1.0)
_NAMES_AT = 1.12
_NARROW = 0.2
_WIDE, _HIGH = 560, 360
_SQUARE = 290
_MANY = 1000
_BESIDE = 0.09
"""Of the width of a reliability plot: what a count of four signs needs."""
RELIABILITY_TOLD = (
    "Confidences in ranges of equal width. Point: mean and share of a range, with its n above.",
    "Bars: 95 % Wilson interval, which takes answers for independent.",
    "Dashed: confidence is what it claims to be; below it, too high.",
)


def charts_of(card: Card) -> dict[str, Chart]:
    """By name of the file. There is a reliability plot only where there are enough confidences and gold."""
    found = {"radar": radar(card), "bars": bars(card), "reliability": reliability_chart(curves(card))}
    return {name: made for name, made in found.items() if made is not None}


def save(made: Chart, path: Path) -> Path:
    """Write a chart to a file of the kind that its name says; nothing is fetched to draw it."""
    if path.suffix not in KINDS:
        raise InputError(f"a chart can be saved as {', '.join(KINDS)}, not as {path.suffix or path.name!r}.")
    if path.suffix == ".png":
        made.save(str(path), scale_factor=PNG_SCALE)
    else:
        made.save(str(path))
    return path


def radar(card: Card) -> Chart:
    scores = group_scores(card)
    counts = Counter(metric.group for metric in card.metrics if metric.grade)
    axes = [(group, _angle(at, len(scores))) for at, group in enumerate(scores)]
    shape = [_point(angle, scores[group], group, order) for order, (group, angle) in enumerate(axes)]
    closed = [*shape, {**shape[0], "order": len(shape)}] if shape else []
    plane = {"x": _axis("x"), "y": _axis("y")}
    rings = [_point(a / 96 * 2 * math.pi, ring, str(ring), a) for ring in _RINGS for a in range(97)]
    spokes = [_point(angle, end, group, end) for group, angle in axes for end in (0, 1)]
    layers = [
        _line(rings, plane).encode(detail="name:N"),
        _line(spokes, plane).encode(detail="name:N"),
        chart(closed)
        .mark_line(color=COLOURS[0], strokeWidth=2, filled=True, fillOpacity=0.22, point={"color": COLOURS[0]})
        .encode(**plane, order="order:Q"),
        _scale_of(axes, plane),
        *(_named(f"{TITLES[group]} {scores[group]:.0%} (n = {counts[group]})", angle, plane) for group, angle in axes),
    ]
    title = titled(
        "Report card by group of metrics",
        "Distance from the centre: share of its limits that a group has met, 0 to 100 %;",
        "a warning counts half. n: graded metrics. The limits are judgement, not measured.",
    )
    return styled(alt.layer(*layers).properties(width=_WIDE, height=_HIGH, title=title)).configure_view(stroke=None)


def _scale_of(axes: Sequence[tuple[str, float]], plane: dict[str, Any]) -> Chart:
    """The rings' figures, each within its ring and between two spokes."""
    between = math.pi / max(1, len(axes))
    values = [{**_point(between, ring - 0.08, str(ring), 0), "text": f"{ring:.0%}"} for ring in _RINGS]
    return chart(values).mark_text(color=SOFT, baseline="middle").encode(**plane, text="text:N")


def _named(text: str, angle: float, plane: dict[str, Any]) -> Chart:
    """A name beside its axis, on the side where there is room."""
    side = math.sin(angle)
    align: Any = "center" if abs(side) < _NARROW else "left" if side > 0 else "right"
    values = [{**_point(angle, _NAMES_AT, text, 0), "text": text}]
    return chart(values).mark_text(align=align).encode(**plane, text="text:N")


def bars(card: Card) -> Chart:
    """Each graded metric against its own limit, which is the line at 100 %."""
    rows = [_bar(metric) for metric in card.metrics if metric.grade]
    order = [row["label"] for row in rows]
    y = alt.Y("label:N", sort=order, title="Metric", axis=alt.Axis(ticks=False))
    x = alt.X("reached:Q", scale=alt.Scale(domain=[0, 1.5]), title="Share of the limit reached (%)")
    x = x.axis(format="%", values=[0, 0.25, 0.5, 0.75, 1])
    grades = alt.Scale(domain=list(GRADES), range=[GRADE_COLOURS[grade] for grade in GRADES])
    square = alt.Legend(symbolType="square", symbolOpacity=1)
    colour = alt.Color("grade:N", scale=grades, title="Grade", legend=square)
    base = chart(rows)
    filled = base.mark_bar(height=12).encode(y=y, x=x, color=colour)
    nought = (
        base.transform_filter("datum.reached == 0").mark_tick(thickness=3, height=12).encode(y=y, x=x, color=colour)
    )
    figures = base.mark_text(align="left", dx=6).encode(y=y, x="reached:Q", text="figure:N")
    line = chart([{"reached": 1}]).mark_rule(color=INK, strokeDash=[3, 3]).encode(x="reached:Q")
    title = titled(
        "Metrics against their limits",
        "A bar that comes to the dashed line has met its limit. Beside it: grade, figure and limit.",
    )
    made = alt.layer(filled, nought, line, figures).properties(width=460, height=20 * max(1, len(rows)), title=title)
    return styled(made).configure_view(stroke=None)


def reliability_chart(found: Sequence[Curve]) -> Chart | None:
    """Confidence against truth, where there is enough of it; what is left out is named."""
    drawn = [curve for curve in found if curve.can_be_drawn]
    if not drawn:
        return None
    panels = [reliability_panel(curve, curve.of, f"n = {curve.count} confidences") for curve in drawn]
    left_out = [f"{curve.too_few}." for curve in found if not curve.can_be_drawn]
    title = titled("Reliability of confidences, one interview", *RELIABILITY_TOLD, *left_out)
    return styled(alt.hconcat(*panels, spacing=28).properties(title=title))


def reliability_panel(curve: Curve, name: str, below: str, colour: str = COLOURS[0]) -> Chart:
    """Points with their intervals, and above each how many it is of."""
    unit, right = alt.Scale(domain=[0, 1]), "Share that was right (0–1)"
    x = alt.X("confidence:Q", title="Mean confidence (0–1)", scale=unit)
    y = alt.Y("right:Q", title=right, scale=unit)
    diagonal = chart([{"confidence": at, "right": at} for at in (0, 1)]).mark_line(strokeDash=[4, 3], color="#888888")
    base = chart(_reliability_rows(curve.bins)).encode(x=x)
    bars = base.mark_rule(strokeWidth=2, color=colour).encode(y=alt.Y("low:Q", scale=unit, title=right), y2="high:Q")
    points = base.mark_point(filled=True, size=70, opacity=1, color=colour).encode(y=y)
    said = base.mark_text(baseline="bottom").encode(x=alt.X("above:Q", scale=unit), y=alt.value(-6), text="said:N")
    drawn = alt.layer(diagonal.encode(x=x, y=y), bars, points, said)
    title = headed(name, below, offset=26, limit=_SQUARE + 40)
    return drawn.properties(width=_SQUARE, height=_SQUARE, title=title)


def _reliability_rows(bins: Sequence[Bin]) -> list[dict[str, Any]]:
    places = _apart([one.mean_confidence for one in bins])
    return [_reliability_row(one, above) for one, above in zip(bins, places, strict=True)]


def _apart(places: Sequence[float]) -> list[float]:
    """Where the counts stand: over their points, moved only as far as two would touch."""
    moved: list[float] = []
    for place in places:
        moved.append(max(place, moved[-1] + _BESIDE) if moved else place)
    end = 1.0
    for at in reversed(range(len(moved))):
        moved[at] = round(min(moved[at], end), 4)
        end = moved[at] - _BESIDE
    return moved


def _reliability_row(one: Bin, above: float) -> dict[str, Any]:
    low, high = chance(one)
    return {
        "confidence": one.mean_confidence,
        "right": one.accuracy,
        "low": low,
        "high": high,
        "above": above,
        "said": f"{one.count}" if one.count < _MANY else f"{one.count / _MANY:.1f}k",
    }


def _bar(metric: Graded) -> dict[str, Any]:
    limit = thresholds().limits[metric.name]
    assert metric.value is not None  # noqa: S101  # what has a grade has a figure
    return {
        "label": metric.label,
        "grade": metric.grade,
        "reached": reached(metric.value, limit),
        "figure": f"{metric.grade}  {figure(metric)} ({metric.limit})",
    }


def _angle(at: int, of: int) -> float:
    return 2 * math.pi * at / of


def _point(angle: float, radius: float, name: str, order: float) -> dict[str, Any]:
    x, y = radius * math.sin(angle), radius * math.cos(angle)
    return {"x": round(x, 4), "y": round(y, 4), "name": name, "order": order}


def _axis(name: str) -> Any:
    channel = alt.X if name == "x" else alt.Y
    reach = 1.2 * (_WIDE / _HIGH if name == "x" else 1)
    return channel(f"{name}:Q", axis=None, scale=alt.Scale(domain=[-reach, reach]))


def _line(values: list[dict[str, Any]], plane: dict[str, Any]) -> Chart:
    return chart(values).mark_line(color=RULE, strokeWidth=1).encode(**plane, order="order:Q")
