"""The numbers of the ranking, read from `weights.json`; `python -m tools.train impressions` makes them."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from pydantic import BaseModel, ConfigDict


class Weights(BaseModel):
    """`ranking` weighs the signs of `ranking.py`, `base` is what a disorder starts with."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    ranking: dict[str, float]
    base: dict[str, float]


@cache
def weights() -> Weights:
    return Weights.model_validate_json(files("agents.impressions").joinpath("weights.json").read_text("utf-8"))
