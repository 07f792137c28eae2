"""A metric is a pure function of a snapshot; its result is a figure, how it came about and what is behind it."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from pydantic import Field

from instruments.profile import Wire

DIGITS = 4
"""Figures are rounded, so that the last bits of a processor's arithmetic are in none."""


class Metric(Wire):
    """`value` is none where the metric does not apply, which `explanation` then says: never a stand-in figure.

    `n` is how many things the figure is of, and `n_of` what they are.
    """

    name: str
    label: str
    value: float | None = None
    unit: str = ""
    n: int | None = None
    n_of: str = ""
    explanation: str
    metadata: dict[str, Any] = Field(default_factory=dict)

    @property
    def group(self) -> str:
        return self.name.split(".")[0]


def rounded(value: float | None) -> float | None:
    return None if value is None else round(float(value), DIGITS)


def mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


def share(part: int, whole: int) -> float | None:
    """None of nothing is no share."""
    return part / whole if whole else None
