"""How every chart looks: on white, with type of nine points or more, in colours that everybody can tell apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

Chart = Any
"""Whatever Altair makes: its own types tell layers and facets apart, which nobody here needs to."""
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")
"""Told apart by people who see colours differently (after Okabe and Ito)."""
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-left", "triangle-right")
"""One beside each colour where there is a legend, since a paper may be printed in grey."""
GRADE_COLOURS = {"PASS": COLOURS[2], "WARN": COLOURS[4], "FAIL": COLOURS[1]}
INK, SOFT, RULE = "#222222", "#555555", "#cdd5db"
TYPE = 12
"""In pixels, of which four are three points: nothing is smaller than nine points."""


def chart(values: Sequence[dict[str, Any]]) -> Chart:
    return alt.Chart(alt.Data(values=list(values)))  # type: ignore[no-untyped-call]


def titled(text: str, *subtitle: str) -> alt.TitleParams:
    """A title with what a reader needs to know of the figure below it, line by line."""
    return alt.TitleParams(text, subtitle=list(subtitle))


def headed(text: str, below: str = "", *, offset: int = 6, limit: float | None = None) -> alt.TitleParams:
    """The name of one panel among others, cut where it would run into the next one."""
    more: dict[str, Any] = {"subtitle": below} if below else {}
    more |= {"limit": limit} if limit else {}
    return alt.TitleParams(text, fontSize=TYPE + 1, anchor="start", fontWeight="bold", offset=offset, **more)


def by_name(names: Sequence[str], palette: Sequence[str]) -> alt.Scale:
    return alt.Scale(domain=list(names), range=[palette[n % len(palette)] for n in range(len(names))])


def styled(made: Chart) -> Chart:
    return (
        made.configure(background="white", font="Helvetica, Arial, sans-serif", padding=10)
        .configure_axis(
            labelFontSize=TYPE,
            titleFontSize=TYPE,
            titleFontWeight="normal",
            titleColor=INK,
            labelColor=INK,
            gridColor="#e6e6e6",
            labelLimit=560,
            labelFlush=False,
            maxExtent=600,
        )
        .configure_header(labelFontSize=TYPE, titleFontSize=TYPE)
        .configure_legend(labelFontSize=TYPE, titleFontSize=TYPE, labelLimit=300, titleColor=INK, labelColor=INK)
        .configure_text(fontSize=TYPE, color=INK)
        .configure_title(fontSize=15, anchor="start", subtitleFontSize=TYPE, subtitleColor=SOFT, offset=14)
        .configure_view(stroke="#cccccc")
    )
