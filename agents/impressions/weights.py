"""The numbers of the ranking, read from `weights.json`; `python -m tools.train impressions` makes them."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from pydantic import BaseModel, ConfigDict


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Usual(_Data):
    """How near a whole interview's sentences come to something in ordinary talk."""

    mean: float
    deviation: float

    def deviations(self, cosine: float) -> float:
        return (cosine - self.mean) / self.deviation


class Weights(_Data):
    """`ranking` weighs the signs of `ranking.py`, `base` is what a disorder starts with."""

    denied: float
    not_scored: float
    telling: float
    slope: float
    features: dict[str, Usual]
    criteria: dict[str, Usual]
    ranking: dict[str, float]
    base: dict[str, float]


@cache
def weights() -> Weights:
    return Weights.model_validate_json(files("agents.impressions").joinpath("weights.json").read_text("utf-8"))
