"""Which disorders a screening speaks for: a few signs of each, weighed and compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from agents.impressions.telling import Told
from agents.impressions.weights import weights
from instruments.disorders import Disorder, disorders
from instruments.level1 import level1

_MOST_TYPICAL = 3
Scores = Mapping[int, int]


@dataclass(frozen=True)
class Ranked:
    disorder: Disorder
    probability: float
    signs: dict[str, float]


def ranked(scores: Scores, told: Told) -> list[Ranked]:
    """All disorders, the likeliest first."""
    every = disorders().disorders
    signs = [signs_of(disorder, scores, told) for disorder in every]
    limits = weights()
    sums = np.array(
        [
            limits.base[d.name] + sum(limits.ranking[name] * value for name, value in found.items())
            for d, found in zip(every, signs, strict=True)
        ]
    )
    powers = np.exp(sums - sums.max())
    likely = (powers / powers.sum()).tolist()
    found = [Ranked(*one) for one in zip(every, likely, signs, strict=True)]
    return sorted(found, key=lambda one: -one.probability)


def signs_of(disorder: Disorder, scores: Scores, told: Told) -> dict[str, float]:
    """`items`: typical items that are high; `others`: high items that it does not explain; then what was told."""
    weight = {item: disorder.item_weights.get(item, 0.0) for item in range(1, 24)}
    required, typical, against = (
        [told.strengths.get(feature, 0.0) for feature in disorder.features_of(role)]
        for role in ("required", "typical", "against")
    )
    return {
        "items": _share(scores, weight),
        "others": _share(scores, {item: 1 - value for item, value in weight.items()}),
        "required": _mean(required),
        "has_required": float(bool(required)),
        "most_typical": sum(sorted(typical, reverse=True)[:_MOST_TYPICAL]) / _MOST_TYPICAL,
        "typical": _mean(typical),
        "against": max(against, default=0.0),
        "domains": _domains(disorder, scores),
    }


def _share(scores: Scores, weight: Mapping[int, float]) -> float:
    return sum(value * scores[item] / 4 for item, value in weight.items()) / sum(weight.values())


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _domains(disorder: Disorder, scores: Scores) -> float:
    """The share of its required domains that reached their threshold."""
    needed = [domain for domain in level1().domains if domain.name in disorder.required_domains]
    reached = [max(scores[item.number] for item in domain.items) >= domain.threshold for domain in needed]
    return sum(reached) / len(reached) if reached else 1.0
