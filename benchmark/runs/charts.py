"""A run's charts, as one would put them into a paper: points with their intervals, axes with names and units."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import wrap
from typing import Any

import altair as alt

from benchmark.charts import RELIABILITY_TOLD, reliability_panel
from benchmark.reliability import FEWEST, Curve
from benchmark.runs.aggregate import KAPPA, MACRO_F1, Aggregate, Group, Pair
from benchmark.runs.statistics import Difference, Estimate, Interval
from benchmark.runs.tables import further_titles, short_title, unit_of
from benchmark.styling import COLOURS, INK, Chart, by_name, chart, headed, styled, titled

Row = dict[str, Any]
_QUALITY = ("item_exact", KAPPA, "top1", "top3", MACRO_F1, "stop_right")
_BURDEN = ("item_mae", "violations", "brier_items", "seconds", "tokens", "cost")
_WIDTH, _ROW = 210, 40
_LOWEST = 100
"""The name of the rows stands upright beside the left panels: longer than these it would lift their titles."""
_ACROSS = 3
_LINE = 100
_KINDS = {"items": "Item scores", "impressions": "Impressions"}
_MEAN = "Point and bar: mean and 95 % interval, bootstrap over patients; for κ and F1, the figure of all interviews."
_DASHED = "Dashed: Wilson's 95 % interval with n = patients, of a share on which all patients agree."


def charts_of(made: Aggregate) -> dict[str, Chart]:
    """By name of the file; a chart with nothing to show is left out."""
    found = {
        "accuracy": _estimates(made, _QUALITY, "Accuracy by model", (0.0, 1.0)),
        "errors-and-effort": _estimates(made, _BURDEN, "Errors and effort by model", None),
        "differences": _differences(made),
        "classes": _classes(made),
        "reliability": _reliability(made),
    }
    return {name: styled(drawn) for name, drawn in found.items() if drawn is not None}


def _labels(made: Aggregate) -> list[str]:
    return list(dict.fromkeys(_label(group.model, group.mode, made) for group in made.groups))


def _label(model: str, mode: str, made: Aggregate) -> str:
    return model if len(made.spec["modes"]) == 1 else f"{model} · {mode}"


def _who(made: Aggregate) -> str:
    return "Model" if len(made.spec["modes"]) == 1 else "Model and mode"


def _estimates(made: Aggregate, names: Iterable[str], title: str, domain: tuple[float, float] | None) -> Chart | None:
    """One panel a figure, one row a model and mode."""
    found = {name: rows for name in names if (rows := _estimate_rows(made, name))}
    drawn = {name: rows for name, rows in found.items() if not _is_nought(rows)}
    panels = [
        _panel(made, rows, name, domain, first=at % _ACROSS == 0) for at, (name, rows) in enumerate(drawn.items())
    ]
    dashed = any(row["dashed"] for rows in drawn.values() for row in rows)
    n = "n: interviews / patients. An arrow points to where a figure is better."
    left_out = _noughts("Zero in every interview", found.keys() - drawn.keys())
    return _grid(panels, titled(f"{title}: {made.name}", _MEAN, *[_DASHED] * dashed, n, *left_out))


def _is_nought(rows: Sequence[Row]) -> bool:
    """A panel of it would show nothing."""
    return not any(row[end] for row in rows for end in ("value", "low", "high"))


def _noughts(what: str, names: Iterable[str]) -> list[str]:
    titles = sorted(short_title(name).rstrip(" ↑↓") for name in names)
    return _told_in_lines(f"{what}, hence not drawn: {'; '.join(titles)}.") if titles else []


def _told_in_lines(text: str) -> list[str]:
    return wrap(text, _LINE, break_on_hyphens=False)


def _grid(panels: Sequence[Chart], title: alt.TitleParams) -> Chart | None:
    if not panels:
        return None
    lines = [alt.hconcat(*panels[n : n + _ACROSS], spacing=26) for n in range(0, len(panels), _ACROSS)]
    return alt.vconcat(*lines, spacing=28).properties(title=title)


def _estimate_rows(made: Aggregate, name: str) -> list[Row]:
    found = [(group, group.estimates.get(name)) for group in made.groups]
    return [
        {
            "label": _label(group.model, group.mode, made),
            **_ends(estimate),
            "n": f"n = {estimate.cells:,} / {estimate.patients:,}",
        }
        for group, estimate in found
        if estimate is not None
    ]


def _ends(found: Estimate | Difference) -> Row:
    """Where the bootstrap has no width a share has Wilson's interval, which does not rule out chance; other figures
    are a point."""
    ends = found.interval or Interval(low=found.value, high=found.value)
    wilson = found.wilson if isinstance(found, Estimate) and ends.low == ends.high else None
    ends = wilson or ends
    return {"value": found.value, "low": ends.low, "high": ends.high, "dashed": wilson is not None}


def _panel(made: Aggregate, rows: list[Row], name: str, domain: tuple[float, float] | None, *, first: bool) -> Chart:
    order = _labels(made)
    low, high = min(0.0, *(row["low"] for row in rows)), max(row["high"] for row in rows)
    scale = alt.Scale(domain=[low, domain[1] if domain else 1.08 * high or 1.0])
    colour = alt.Color("label:N", scale=by_name(order, COLOURS), legend=None)
    base = chart(rows).encode(color=colour)
    return _ranges(base, order, name, scale, unit_of(name), _who(made) if first else None)


def _ranges(
    base: Chart, order: Sequence[str], name: str, scale: alt.Scale, unit: str, who: str | None, *under: Chart
) -> Chart:
    """Points with their intervals, and above each how many it is of. `who` names the rows, on the left panels alone."""
    axis = alt.Axis(labels=who is not None, ticks=who is not None)
    y = alt.Y("label:N", title=who, sort=list(order), axis=axis, scale=alt.Scale(domain=list(order)))
    x = alt.X("low:Q", title=unit, scale=scale, axis=alt.Axis(tickCount=4))
    base = base.encode(y=y)
    dash = alt.condition("datum.dashed", alt.value([4, 3]), alt.value([1, 0]))
    bars = base.mark_rule(strokeWidth=2).encode(x=x, x2="high:Q", strokeDash=dash)
    points = base.mark_point(filled=True, size=70, opacity=1).encode(x=alt.X("value:Q", scale=scale))
    counts = base.mark_text(align="right", dy=-12, dx=-3).encode(x=alt.value(_WIDTH), text="n:N", color=alt.value(INK))
    made = alt.layer(*under, bars, points, counts)
    return made.properties(width=_WIDTH, height=max(_LOWEST, _ROW * len(order)), title=headed(short_title(name)))


def _differences(made: Aggregate) -> Chart | None:
    """A forest: one panel a figure, one row a pair of models; what crosses the line may be nothing."""
    found: dict[str, list[Row]] = {}
    for pair in made.pairs:
        if pair.metric not in further_titles():
            found.setdefault(pair.metric, []).append(_difference_row(pair, made))
    drawn = {name: rows for name, rows in found.items() if not _is_nought(rows)}
    panels = [_forest(rows, name, first=at % _ACROSS == 0) for at, (name, rows) in enumerate(drawn.items())]
    how = "First minus second model on shared patients. Point and bar: mean and 95 % interval, bootstrap over patients."
    left_out = _noughts("No difference on any patient", found.keys() - drawn.keys())
    n = "n: patients. Dashed: no difference."
    return _grid(panels, titled(f"Paired differences: {made.name}", how, n, *left_out))


def _difference_row(pair: Pair, made: Aggregate) -> Row:
    mode = "" if len(made.spec["modes"]) == 1 else f" · {pair.mode}"
    label = f"{pair.first} − {pair.second}{mode}"
    return {"label": label, **_ends(pair.difference), "n": f"n = {pair.difference.patients:,}"}


def _forest(rows: list[Row], name: str, *, first: bool) -> Chart:
    furthest = max(max(abs(row["low"]), abs(row["high"])) for row in rows) or 1.0
    scale = alt.Scale(domain=[-1.08 * furthest, 1.08 * furthest])
    nought = chart([{"x": 0}]).mark_rule(strokeDash=[4, 3], color="#888888").encode(x=alt.X("x:Q", scale=scale))
    order = list(dict.fromkeys(row["label"] for row in rows))
    who = "Pair of models" if first else None
    base = chart(rows).encode(color=alt.value(COLOURS[0]))
    return _ranges(base, order, name, scale, f"difference, {unit_of(name)}", who, nought)


def _classes(made: Aggregate) -> Chart | None:
    rows = [row for group in made.groups for row in _class_rows(group, made)]
    if not rows:
        return None
    labels = list(dict.fromkeys(row["label"] for row in rows))
    who = alt.Axis(labelAngle=0, labelLimit=200, orient="top")
    base = chart(rows).encode(
        x=alt.X("label:N", title=_who(made), sort=labels, axis=who),
        y=alt.Y("class:N", title="Impression named first", sort=alt.SortField("class")),
    )
    scale = alt.Scale(domain=[0, 1], scheme="blues")
    # Without a legend, since each square says its number: a gradient's name in the SVG counts up within a process.
    squares = base.mark_rect(stroke="white").encode(color=alt.Color("f1:Q", scale=scale, legend=None))
    white = alt.condition("datum.f1 > 0.6", alt.value("white"), alt.value(INK))
    said = base.mark_text().encode(text="said:N", color=white)
    title = titled(
        f"F1 by class: {made.name}",
        "F1 (0 to 1) of the impression named first, with 95 % interval, bootstrap over patients.",
        "n: a model's interviews with this gold; a class without any has no F1, one of a single patient no interval.",
        "(none): nothing is to be named.",
    )
    return alt.layer(squares, said).properties(width=max(300, 190 * len(labels)), height=alt.Step(26), title=title)


def _class_rows(group: Group, made: Aggregate) -> Iterable[Row]:
    for row in group.classes:
        if row.f1 is not None:
            ends = row.f1.interval
            interval = f" [{ends.low:.2f}, {ends.high:.2f}]" if ends else ""
            yield {
                "class": row.name,
                "label": _label(group.model, group.mode, made),
                "f1": row.f1.value,
                "said": f"{row.f1.value:.2f}{interval}, n = {row.gold:,}",
            }


def _reliability(made: Aggregate) -> Chart | None:
    """A panel for each model and kind of answer: side by side, intervals of several models would hide each other."""
    found = [
        (group, Curve(_KINDS[kind], bins))
        for kind in _KINDS
        for group in made.groups
        if (bins := group.reliability.get(kind))
    ]
    models = list(dict.fromkeys(group.model for group in made.groups))
    panels = [
        reliability_panel(curve, group.model, _told(curve, group, made), _colour(models.index(group.model)))
        for group, curve in found
        if curve.can_be_drawn
    ]
    return _grid(panels, titled(f"Reliability: {made.name}", *RELIABILITY_TOLD, *_left_out(found, made)))


def _told(curve: Curve, group: Group, made: Aggregate) -> str:
    mode = "" if len(made.spec["modes"]) == 1 else f", {group.mode}"
    return f"{curve.of}{mode}, n = {curve.count:,} confidences"


def _left_out(found: Sequence[tuple[Group, Curve]], made: Aggregate) -> list[str]:
    few = [
        f"{curve.of} of {_label(group.model, group.mode, made)} ({curve.count})"
        for group, curve in found
        if not curve.can_be_drawn
    ]
    told = f"Fewer than {FEWEST} confidences, hence not drawn: {'; '.join(few)}."
    return _told_in_lines(told) if few else []


def _colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]
