"""PASS, WARN or FAIL by the limits of a versioned file."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from benchmark.metrics.base import Metric

Grade = Literal["PASS", "WARN", "FAIL"]
GRADES: tuple[Grade, ...] = ("PASS", "WARN", "FAIL")


class Limit(BaseModel):
    """`reason` is what the limit rests on: it is judgement, and who reads a grade may ask whose. A figure of fewer than
    `least_n` has no grade, since chance alone would give it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    better: Literal["higher", "lower"] = "higher"
    passes: float = Field(alias="pass")
    warns: float = Field(alias="warn")
    least_n: int = Field(1, ge=1)
    reason: str = Field(min_length=1)

    @model_validator(mode="after")
    def _in_order(self) -> Limit:
        if (self.warns > self.passes) if self.better == "higher" else (self.warns < self.passes):
            raise ValueError("`warn` must not be stricter than `pass`")
        return self

    def grade(self, value: float) -> Grade:
        sign = 1 if self.better == "higher" else -1
        if sign * value >= sign * self.passes:
            return "PASS"
        return "WARN" if sign * value >= sign * self.warns else "FAIL"

    def shown(self, unit: str) -> str:
        return self._bound(self.passes, unit)

    def both(self, unit: str) -> str:
        """What passes, what is a warning where that is something else, and from how many on."""
        warned = "" if self.warns == self.passes else f"; warn {self._bound(self.warns, unit)}"
        counted = "" if self.least_n == 1 else f"; no grade below n = {self.least_n}"
        return f"pass {self._bound(self.passes, unit)}{warned}{counted}"

    def _bound(self, value: float, unit: str) -> str:
        limit = f"{value:.0%}" if unit == "share" else f"{value:g}"
        return f"{'≥' if self.better == 'higher' else '≤'} {limit}"


class Thresholds(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    version: str
    limits: dict[str, Limit]

    def grade(self, metric: Metric) -> Grade | None:
        """None where there is no figure, no limit to hold it against, or too little that the figure is of."""
        limit = self.limits.get(metric.name)
        if limit is None or metric.value is None:
            return None
        return None if metric.n is not None and metric.n < limit.least_n else limit.grade(metric.value)


@cache
def thresholds() -> Thresholds:
    return read_thresholds(files("benchmark").joinpath("thresholds.toml").read_text("utf-8"))


def read_thresholds(text: str) -> Thresholds:
    content = tomllib.loads(text)
    version = content.pop("version")
    limits = {f"{group}.{name}": limit for group, found in content.items() for name, limit in found.items()}
    return Thresholds.model_validate({"version": version, "limits": limits})
