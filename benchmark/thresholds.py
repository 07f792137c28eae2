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
    model_config = ConfigDict(frozen=True, extra="forbid")

    better: Literal["higher", "lower"] = "higher"
    passes: float = Field(alias="pass")
    warns: float = Field(alias="warn")

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
        limit = f"{self.passes:.0%}" if unit == "share" else f"{self.passes:g}"
        return f"{'≥' if self.better == 'higher' else '≤'} {limit}"


class Thresholds(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    version: str
    limits: dict[str, Limit]

    def grade(self, metric: Metric) -> Grade | None:
        """None where there is no figure, or no limit to hold it against."""
        limit = self.limits.get(metric.name)
        return limit.grade(metric.value) if limit and metric.value is not None else None


@cache
def thresholds() -> Thresholds:
    return read_thresholds(files("benchmark").joinpath("thresholds.toml").read_text("utf-8"))


def read_thresholds(text: str) -> Thresholds:
    content = tomllib.loads(text)
    version = content.pop("version")
    limits = {f"{group}.{name}": limit for group, found in content.items() for name, limit in found.items()}
    return Thresholds.model_validate({"version": version, "limits": limits})
