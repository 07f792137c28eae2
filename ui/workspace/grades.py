"""A card's two charts, of the page's own colours: they follow the theme, fit a telephone and keep nobody waiting."""

from __future__ import annotations

import math
from collections.abc import Iterable

from benchmark.card import Card, Graded
from benchmark.card_files import TITLES, figure
from benchmark.shares import group_scores, reached
from benchmark.thresholds import thresholds
from ui.workspace.markup import text

KINDS = {"PASS": "pass", "WARN": "warn", "FAIL": "fail"}
_WORST_FIRST = ("FAIL", "WARN", "PASS")
_WIDTH, _HEIGHT, _RADIUS = 380, 300, 100
_RINGS = (0.25, 0.5, 0.75, 1.0)
_LABELS_AT, _LINE = 1.13, 15
_NARROW = 0.2
_FEWEST_AXES = 3


def radar(card: Card) -> str:
    """The share that each group of metrics has reached; of fewer than three groups there is no picture."""
    scores = group_scores(card)
    if len(scores) < _FEWEST_AXES:
        return ""
    axes = [(group, 2 * math.pi * at / len(scores)) for at, group in enumerate(scores)]
    rings = "".join(f'<circle cx="0" cy="0" r="{_RADIUS * ring:g}"/>' for ring in _RINGS)
    spokes = "".join(f'<path d="M0 0L{_at(angle, 1)}"/>' for _, angle in axes)
    corners = " ".join(_at(angle, scores[group]) for group, angle in axes)
    names = "".join(_name(TITLES[group], scores[group], angle) for group, angle in axes)
    said = ", ".join(f"{TITLES[group]} {score:.0%}" for group, score in scores.items())
    box = f"{-_WIDTH / 2:g} {-_HEIGHT / 2:g} {_WIDTH} {_HEIGHT}"
    return (
        f'<svg class="cc-radar" viewBox="{box}" role="img" aria-label="{text(said)}">'
        f'<g class="grid">{rings}{spokes}</g><polygon points="{corners}"/><g class="names">{names}</g></svg>'
        "<figcaption>By group: a pass counts one, a warning half.</figcaption>"
    )


def _at(angle: float, share: float) -> str:
    return f"{_RADIUS * share * math.sin(angle):.1f},{-_RADIUS * share * math.cos(angle):.1f}"


def _name(title: str, score: float, angle: float) -> str:
    """Beside its axis, on the side where there is room."""
    side, up = math.sin(angle), math.cos(angle)
    anchor = "middle" if abs(side) < _NARROW else "start" if side > 0 else "end"
    x, y = _RADIUS * _LABELS_AT * side, -_RADIUS * _LABELS_AT * up
    y += -_LINE if up > 1 - _NARROW else _LINE if up < _NARROW - 1 else 0
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text(title)}'
        f'<tspan x="{x:.1f}" dy="{_LINE}">{score:.0%}</tspan></text>'
    )


def bars(card: Card) -> str:
    """Each graded metric against its own limit, the worst first: what is to be looked at stands at the top."""
    metrics = [metric for metric in card.metrics if metric.grade]
    rows = "".join(_rows(sorted(metrics, key=lambda one: _WORST_FIRST.index(one.grade or "PASS"))))
    told = "Against its limit: a full bar has met it."
    return f'<div class="cc-reached">{rows}</div><figcaption>{told}</figcaption>'


def _rows(metrics: Iterable[Graded]) -> Iterable[str]:
    for one in metrics:
        share = round(100 * reached(one.value or 0.0, thresholds().limits[one.name]))
        kind = KINDS[one.grade or "PASS"]
        said = f"{one.grade}, {share} % of the way"
        yield (
            f"<div><span>{text(one.label)}</span>"
            f'<span class="track" role="img" aria-label="{said}"><i class="{kind}" style="width:{share}%"></i></span>'
            f'<span class="figure">{text(figure(one))} <span class="soft">{text(one.limit or "")}</span></span></div>'
        )
