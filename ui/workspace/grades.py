"""A card's charts, of the page's own colours: they follow the theme, fit a telephone and keep nobody waiting."""

from __future__ import annotations

import math
from collections.abc import Iterable

from benchmark.card import Card, Graded
from benchmark.card_files import TITLES, figure
from benchmark.metrics.calibration import Bin
from benchmark.reliability import Curve, chance, curves
from benchmark.shares import group_scores, reached
from benchmark.thresholds import thresholds
from ui.workspace.markup import text

KINDS = {"PASS": "pass", "WARN": "warn", "FAIL": "fail"}
_WORST_FIRST = ("FAIL", "WARN", "PASS")
_RINGS = (0.25, 0.5, 0.75, 1.0)
_NAMES_AT = 1.08
_NARROW = 0.2
_FEWEST_AXES = 3


def radar(card: Card) -> str:
    """The share that each group of metrics has reached; of fewer than three groups there is no picture.

    Of boxes and a clipped shape, since Streamlit takes SVG out of a page's HTML.
    """
    scores = group_scores(card)
    if len(scores) < _FEWEST_AXES:
        return ""
    axes = [(group, 2 * math.pi * at / len(scores)) for at, group in enumerate(scores)]
    rings = "".join(f'<i class="ring" style="inset:{50 * (1 - ring):g}%"></i>' for ring in _RINGS)
    spokes = "".join(f'<i class="spoke" style="transform:rotate({angle:.4f}rad)"></i>' for _, angle in axes)
    corners = [_place(angle, scores[group]) for group, angle in axes]
    shape = ",".join(f"{x:.1f}% {y:.1f}%" for x, y in corners)
    dots = "".join(f'<i class="dot" style="left:{x:.1f}%;top:{y:.1f}%"></i>' for x, y in corners)
    names = "".join(_name(TITLES[group], scores[group], angle) for group, angle in axes)
    said = ", ".join(f"{TITLES[group]} {score:.0%}" for group, score in scores.items())
    return (
        f'<div class="cc-radar" role="img" aria-label="{text(said)}"><div>{rings}{spokes}'
        f'<i class="shape" style="clip-path:polygon({shape})"></i>{dots}{names}</div></div>'
        "<figcaption>Share of its limits that each group has met; a warning counts half.</figcaption>"
    )


def _place(angle: float, share: float) -> tuple[float, float]:
    """In percent of the square around the circle."""
    return 50 * (1 + share * math.sin(angle)), 50 * (1 - share * math.cos(angle))


def _name(title: str, score: float, angle: float) -> str:
    """Outside the circle, on the side where there is room."""
    x, y = _place(angle, _NAMES_AT)
    across, down = math.sin(angle), -math.cos(angle)
    shift = f"translate({-50 + 50 * _side(across)}%, {-50 + 50 * _side(down)}%)"
    return f'<span style="left:{x:.1f}%;top:{y:.1f}%;transform:{shift}">{text(title)} <b>{score:.0%}</b></span>'


def _side(towards: float) -> int:
    return 0 if abs(towards) < _NARROW else 1 if towards > 0 else -1


def bars(card: Card) -> str:
    """Each graded metric against its own limit, the worst first: what is to be looked at stands at the top."""
    metrics = [metric for metric in card.metrics if metric.grade]
    rows = "".join(_rows(sorted(metrics, key=lambda one: _WORST_FIRST.index(one.grade or "PASS"))))
    told = "Each graded metric against its limit, the worst first; a full bar has met it."
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


def reliability(card: Card) -> str:
    """Confidence against truth where gold exists; of too few confidences there is a sentence and no picture."""
    found = curves(card)
    plots = "".join(_plot(curve) for curve in found if curve.can_be_drawn)
    told = [f"{curve.too_few}." for curve in found if not curve.can_be_drawn]
    if plots:
        told.insert(
            0,
            "Confidences in ranges of equal width, the figure beside a point is its n; upright, the 95 % Wilson "
            "interval. On the diagonal a confidence is what it claims to be, below it too high.",
        )
    caption = f"<figcaption>{text(' '.join(told))}</figcaption>" if told else ""
    return f'<div class="cc-reliable">{plots}</div>{caption}' if plots else caption


def _plot(curve: Curve) -> str:
    said = "; ".join(f"confidence {b.mean_confidence:.2f}: {b.accuracy:.2f} right, n = {b.count}" for b in curve.bins)
    points = "".join(_reliable(one) for one in curve.bins)
    ends = "".join(f'<span class="x" style="left:{at}%">{at / 100:g}</span>' for at in (0, 50, 100))
    ends += "".join(f'<span class="y" style="bottom:{at}%">{at / 100:g}</span>' for at in (0, 50, 100))
    return (
        f'<div role="img" aria-label="{text(said)}"><b>{text(curve.of)} (n = {curve.count})</b>'
        f'<div class="plane"><i class="even"></i>{points}{ends}</div>'
        '<span class="of-y">Share that was right (0–1)</span><span class="of-x">Mean confidence (0–1)</span></div>'
    )


def _reliable(one: Bin) -> str:
    low, high = chance(one)
    left = f"left:{100 * one.mean_confidence:.1f}%"
    return (
        f'<i class="bar" style="{left};bottom:{100 * low:.1f}%;height:{100 * (high - low):.1f}%"></i>'
        f'<i class="dot" style="{left};bottom:{100 * one.accuracy:.1f}%"></i>'
        f'<span class="n" style="{left};bottom:{100 * one.accuracy:.1f}%">{one.count}</span>'
    )
