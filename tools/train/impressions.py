"""What the diagnostician's rules learn: a reader of features, and the numbers that weigh signs against each other.

`tests/data/impressions_tune.jsonl` has whole interviews with gold scores and the impression they were written for,
`features.jsonl` has sentences with the features they tell, those of some interviews among them. The numbers are fitted
to what readers say of interviews whose authors they have not learned from.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from scipy.optimize import minimize

from agents.impressions import telling
from agents.impressions.ranking import signs_of
from agents.impressions.reader import FEATURES
from agents.impressions.telling import Told
from agents.impressions.weights import Weights
from agents.language import read
from instruments.disorders import disorders
from instruments.level1 import level1
from tools.impression_figures import Interview, load
from tools.train import telling as features
from tools.train.network import Reader

SMALL_WEIGHTS, SMALL_BASES = 0.05, 0.5
TARGET = Path(__file__).parent.parent.parent / "agents" / "impressions" / "weights.json"
Numbers = npt.NDArray[np.float64]


def sentences_to_learn(every: Sequence[Interview]) -> list[features.Example]:
    """Labelled sentences, and all others of the interviews that were labelled: those tell nothing."""
    labelled = features.labelled()
    known = {(example.author, example.text) for example in labelled}
    authors = {example.author for example in labelled}
    others = [
        features.Example(one.author, sentence.item, text, frozenset())
        for one in every
        if one.author in authors
        for sentence in one.sentences
        if (one.author, text := read(sentence.text).text) not in known
    ]
    return [*labelled, *others, *features.wordings()]


def heard_by(reader: Reader, one: Interview) -> Told:
    with torch.no_grad():
        outputs = reader.read([(level1().item(s.item).topic, read(s.text).text) for s in one.sentences]).sigmoid()
    return telling.surest(one.sentences, [dict(zip(FEATURES, row, strict=True)) for row in outputs.tolist()])


def heard_by_strangers(every: Sequence[Interview], examples: list[features.Example]) -> dict[str, Told]:
    """What was told in each interview, by a reader that has learned nothing from its author."""
    authors = sorted({one.author for one in every})
    found: dict[str, Told] = {}
    for held in (authors[::2], authors[1::2]):
        reader = features.trained([example for example in examples if example.author not in held])
        found |= {one.id: heard_by(reader, one) for one in every if one.author in held}
    return found


def fitted(held: Sequence[Interview], heard: dict[str, Told]) -> Weights:
    labelled = [one for one in held if one.impression]
    names = [disorder.name for disorder in disorders().disorders]
    signs = [[signs_of(d, one.scores, heard[one.id]) for d in disorders().disorders] for one in labelled]
    kinds = list(signs[0][0])
    values = np.array([[[found[kind] for kind in kinds] for found in row] for row in signs])
    gold = np.array([names.index(one.impression or "") for one in labelled])
    best = _fit(values, gold)
    return Weights(
        ranking=dict(zip(kinds, _rounded(best[: len(kinds)]), strict=True)),
        base=dict(zip(names, _rounded(best[len(kinds) :]), strict=True)),
    )


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


def final() -> Reader:
    """The reader to be kept; the numbers are written on the way."""
    every = load("impressions_tune.jsonl")
    examples = sentences_to_learn(every)
    numbers = fitted(every, heard_by_strangers(every, examples))
    TARGET.write_text(numbers.model_dump_json(indent=1) + "\n")
    return features.trained(examples)
