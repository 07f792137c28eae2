"""The second reader of replies, trained on labelled replies and, as answers, on the scorer's labelled answers."""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from agents.language import read
from agents.replies.reader import KINDS, about
from tools.figures import DATA
from tools.train.network import Reader, taught

LAYERS, EPOCHS, SMOOTH = 3, 6, 0.05
ANSWERS = 1500
_KINDS: tuple[str, ...] = KINDS


@dataclass(frozen=True)
class Example:
    id: str
    text: str
    item: int
    paused: bool
    kind: int


def labelled() -> list[Example]:
    rows = [json.loads(line) for line in (DATA / "replies.jsonl").read_text("utf-8").splitlines()]
    return [
        Example(
            f"{row['half']}-{n}",
            read(row["text"]).text,
            row["item"],
            row.get("paused", False),
            _KINDS.index(row["kind"]),
        )
        for n, row in enumerate(rows)
        if row["half"] == "tune" and row["kind"] in _KINDS
    ]


def answers() -> list[Example]:
    rows = [json.loads(line) for line in (DATA / "score_tune.jsonl").read_text("utf-8").splitlines()]
    chosen = random.Random(0).sample([r for r in rows if r["clarity"] == "clear"], ANSWERS)
    return [Example(row["id"], read(row["answer"]).text, row["item"], False, 0) for row in chosen]


def trained(examples: list[Example], seed: int = 0) -> Reader:
    torch.manual_seed(seed)
    chance = random.Random(seed)
    reader = Reader(len(KINDS), LAYERS)
    return taught(reader, examples, lambda _, batch: _loss(reader, batch, chance), epochs=EPOCHS, chance=chance)


def _loss(reader: Reader, batch: list[Example], chance: random.Random) -> Tensor:
    outputs = reader.read([(about(e.item, paused=e.paused), _varied(e.text, chance)) for e in batch])
    return functional.cross_entropy(outputs, torch.tensor([e.kind for e in batch]), label_smoothing=SMOOTH)


def _varied(text: str, chance: random.Random) -> str:
    draw = chance.random()
    if draw < 0.15:
        return re.sub(r"[.,!?;:]", "", text)
    return text.replace("'", "") if draw < 0.25 else text


def final() -> Reader:
    return trained(labelled() + answers())
