"""The numbers of the ranking, fitted to labelled interviews: a dozen weights, and one number a disorder.

`tests/data/impressions_tune.jsonl` has whole interviews with gold scores and the impression they were written for.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from agents.impressions import telling
from agents.impressions.ranking import signs_of
from agents.impressions.telling import Sentence
from agents.impressions.weights import Usual, Weights
from instruments.disorders import disorders
from instruments.level1 import item_id
from instruments.profile import ItemResponse, TranscriptLine
from tools.figures import DATA

DENIED, NOT_SCORED, TELLING, SLOPE = 0.2, 0.05, 0.8, 0.5
SMALL_WEIGHTS, SMALL_BASES = 0.05, 0.5
TARGET = Path(__file__).parent.parent.parent / "agents" / "impressions" / "weights.json"
Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Interview:
    id: str
    impression: str | None
    scores: dict[int, int]
    sentences: list[Sentence]

    @property
    def author(self) -> str:
        return self.id.partition("-")[0]


def interviews(name: str) -> list[Interview]:
    rows = [json.loads(line) for line in (DATA / name).read_text("utf-8").splitlines()]
    return [_interview(row["id"], row["impression"], row["scores"], row["answers"]) for row in rows]


def _interview(
    identifier: str, impression: str | None, scores: dict[str, int], answers: dict[str, list[str]]
) -> Interview:
    by_item = {int(item): score for item, score in scores.items()}
    lines = [
        TranscriptLine(role="patient", text=text, item_id=item_id(int(item)))
        for item, texts in answers.items()
        for text in texts
    ]
    responses = [ItemResponse(item_id=item_id(i), score=s, ambiguity=2) for i, s in by_item.items()]
    return Interview(identifier, impression, by_item, telling.sentences_of(lines, responses))


def fitted(held: Sequence[Interview]) -> Weights:
    """First what ordinary talk comes to, then what tells disorders apart."""
    likeness = [telling.likeness(one.sentences, DENIED, NOT_SCORED) for one in held]
    usual = Weights(
        denied=DENIED,
        not_scored=NOT_SCORED,
        telling=TELLING,
        slope=SLOPE,
        features=_usual([one.features for one in likeness]),
        criteria=_usual([one.criteria for one in likeness]),
        ranking={},
        base={},
    )
    labelled = [(one, near) for one, near in zip(held, likeness, strict=True) if one.impression]
    names = [disorder.name for disorder in disorders().disorders]
    signs = [
        [signs_of(d, one.scores, telling.told_by(near, usual)) for d in disorders().disorders] for one, near in labelled
    ]
    kinds = list(signs[0][0])
    values = np.array([[[found[kind] for kind in kinds] for found in row] for row in signs])
    gold = np.array([names.index(one.impression or "") for one, _ in labelled])
    best = _fit(values, gold)
    return usual.model_copy(
        update={
            "ranking": dict(zip(kinds, _rounded(best[: len(kinds)]), strict=True)),
            "base": dict(zip(names, _rounded(best[len(kinds) :]), strict=True)),
        }
    )


def _usual(found: Sequence[dict[str, float]]) -> dict[str, Usual]:
    return {
        name: Usual(
            mean=round(float(np.mean([one[name] for one in found])), 4),
            deviation=round(float(np.std([one[name] for one in found])), 4),
        )
        for name in found[0]
    }


def _fit(values: Numbers, gold: npt.NDArray[np.int64]) -> Numbers:
    """Multinomial logistic regression whose weights are shared by all disorders."""
    count, every, kinds = values.shape
    rows = np.arange(count)

    def loss(numbers: Numbers) -> tuple[float, Numbers]:
        weights, bases = numbers[:kinds], numbers[kinds:]
        sums = values @ weights + bases
        likely = np.exp(sums - sums.max(1, keepdims=True))
        likely /= likely.sum(1, keepdims=True)
        small = SMALL_WEIGHTS * weights @ weights + SMALL_BASES * bases @ bases
        total = -np.log(likely[rows, gold] + 1e-12).sum() + small
        likely[rows, gold] -= 1
        slope = np.einsum("ij,ijk->k", likely, values) + 2 * SMALL_WEIGHTS * weights
        return float(total), np.concatenate([slope, likely.sum(0) + 2 * SMALL_BASES * bases])

    found: Numbers = minimize(loss, np.zeros(kinds + every), jac=True, method="L-BFGS-B").x
    return found


def _rounded(values: Numbers) -> list[float]:
    return [round(float(value), 3) for value in values]
