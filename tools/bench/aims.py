"""What a measurement aims at, and whether it got there. Ratios within one run alone: seconds are the machine's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console


@dataclass(frozen=True)
class Aim:
    """`bound` is the most that the value may be, or where `least` is said the least that it must be.

    `unit` follows both numbers; the value is shown with as many decimals as tell it from its bound.
    """

    what: str
    value: float
    bound: float
    unit: str = ""
    least: bool = False

    @property
    def met(self) -> bool:
        return self.value >= self.bound if self.least else self.value <= self.bound

    @property
    def verdict(self) -> str:
        sign = "≥" if self.least else "≤"
        return f"aim {sign} {self.bound:g}{self.unit} {'met' if self.met else 'missed'}"

    @property
    def shown(self) -> str:
        decimals = 3
        while float(f"{self.value:.{decimals}f}") == self.bound != self.value:
            decimals += 1
        return f"{self.value:.{decimals}f}{self.unit}"

    def __str__(self) -> str:
        return f"{self.what}: {self.shown}, {self.verdict}"


def missed(console: Console, aims: Sequence[Aim]) -> int:
    """How many were missed; each of them is said once more, after all tables."""
    short = [aim for aim in aims if not aim.met]
    for aim in short:
        console.print(str(aim), style="bold red", highlight=False)
    return len(short)
