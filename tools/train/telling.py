"""The reader of features: which of those in `instruments/disorders.json` a patient's sentence tells.

It learns from labelled sentences, from the features' own wordings, and from all other sentences of the labelled
interviews, which tell none.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from agents.impressions.reader import FEATURES
from agents.language import read
from instruments.disorders import disorders
from instruments.level1 import level1
from tools.figures import DATA
from tools.train.network import Reader, taught

LAYERS, EPOCHS = 4, 4
MORE = torch.tensor(2.0)
"""A feature that is told weighs so much more than one that is not: nearly none is."""
WORDED = "wording"


@dataclass(frozen=True)
class Example:
    """`author` is whose hand it is; the sentence was said to `item`, or to none."""

    author: str
    item: int
    text: str
    features: frozenset[str]


def labelled() -> list[Example]:
    rows = [json.loads(line) for line in (DATA / "features.jsonl").read_text("utf-8").splitlines()]
    return [_example(row["id"].partition("-")[0], row["item"] or 0, row["text"], row["features"]) for row in rows]


def wordings() -> list[Example]:
    return [_example(WORDED, 0, text, [feature.id]) for feature in disorders().features for text in feature.wordings]


def _example(author: str, item: int, text: str, features: Iterable[str]) -> Example:
    return Example(author, item, read(text).text, frozenset(features))


def trained(examples: list[Example], seed: int = 0) -> Reader:
    torch.manual_seed(seed)
    chance = random.Random(seed)
    reader = Reader(len(FEATURES), LAYERS)
    return taught(reader, examples, lambda _, batch: _loss(reader, batch, chance), epochs=EPOCHS, chance=chance)


def _loss(reader: Reader, batch: list[Example], chance: random.Random) -> Tensor:
    outputs = reader.read([(_about(e, chance), _varied(e.text, chance)) for e in batch])
    wanted = torch.tensor([[float(name in e.features) for name in FEATURES] for e in batch])
    return functional.binary_cross_entropy_with_logits(outputs, wanted, reduction="sum", pos_weight=MORE) / len(batch)


def _about(example: Example, chance: random.Random) -> str:
    """Sometimes left out, so that the words themselves are read."""
    return level1().item(example.item).topic if example.item and chance.random() > 0.3 else ""


def _varied(text: str, chance: random.Random) -> str:
    draw = chance.random()
    if draw < 0.12:
        return re.sub(r"[.,!?;:]", "", text)
    return text.replace("'", "") if draw < 0.2 else text
