"""A quick reader taught by a slow one: it learns to say of very many texts what its teacher says of them.

What the teacher said is kept in a folder, since asking it takes an hour of a core: the same command again goes on where
it was.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from agents.language.sentences import pieces_of
from tools.train.sentences import Batch, SentenceReader
from tools.train.variants import Told, Variants

BATCH, EPOCHS, RATE = 256, 3, 1.5e-3
_SORTED = 50  # batches that are made of texts sorted by length
_SURE = 7.0  # log-odds: beyond, more or less means nothing
_NEARNESS = 0.05
Line = tuple[int, str, list[float]]
"""An item, a text, and what the teacher says of them."""


def pool(own: Iterable[Told], told: Sequence[Told], others: Sequence[Told], size: int, seed: int = 1) -> list[Told]:
    """The texts themselves, and variants of `told` until there are so many."""
    found = dict.fromkeys(own)
    variants = Variants(told, others, seed)
    while len(found) < size:
        if (made := variants.make()) is not None:
            found[made] = None
    return list(found)


def taught_lines(folder: Path, texts: Callable[[], list[Told]], teacher: Callable[[Told], list[float]]) -> list[Line]:
    """What the teacher says of each text. Made once, in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    given, said = folder / "texts.jsonl", folder / "said.jsonl"
    if not given.exists():
        given.write_text("".join(f"{json.dumps(one)}\n" for one in texts()), "utf-8")
    asked = [json.loads(line) for line in given.read_text("utf-8").splitlines()]
    done = len(said.read_text("utf-8").splitlines()) if said.exists() else 0
    with said.open("a", encoding="utf-8") as file:
        for item, text in asked[done:]:
            file.write(f"{json.dumps([round(number, 4) for number in teacher((item, text))])}\n")
    numbers = [json.loads(line) for line in said.read_text("utf-8").splitlines()]
    return [(item, text, found) for (item, text), found in zip(asked, numbers, strict=True)]


def distilled(
    reader: SentenceReader, lines: list[Line], weights: Sequence[float], *, epochs: int = EPOCHS, rate: float = RATE
) -> SentenceReader:
    """`weights` tell how much each output matters; all are log-odds."""
    texts = [[pieces_of(sentence) for sentence in text.split(". ")] for _, text, _ in lines]
    items = [item for item, _, _ in lines]
    wanted = np.array([numbers for _, _, numbers in lines], np.float32).clip(-_SURE, _SURE)

    def loss(rows: npt.NDArray[np.int64]) -> Tensor:
        found = reader.read(Batch.of([texts[n] for n in rows], [items[n] for n in rows]))
        return _loss(found, torch.from_numpy(wanted[rows]), torch.tensor(weights))

    _learn(reader, np.array([sum(map(len, text)) for text in texts]), loss, epochs, rate)
    return reader


def _loss(found: Tensor, wanted: Tensor, weights: Tensor) -> Tensor:
    by_chance = functional.binary_cross_entropy_with_logits(found, wanted.sigmoid(), reduction="none")
    return ((by_chance + _NEARNESS * (found - wanted) ** 2) * weights).sum(1).mean()


def _learn(
    reader: SentenceReader,
    lengths: npt.NDArray[np.int64],
    loss: Callable[[npt.NDArray[np.int64]], Tensor],
    epochs: int,
    rate: float,
) -> None:
    steps = epochs * math.ceil(len(lengths) / BATCH) + epochs * _SORTED
    optimizer = torch.optim.AdamW(reader.parameters(), lr=rate, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps, pct_start=0.08)
    chance = np.random.default_rng(0)
    reader.train()
    for epoch in range(epochs):
        losses = []
        for rows in _batches(lengths, chance):
            found = loss(rows)
            optimizer.zero_grad()
            found.backward()
            nn.utils.clip_grad_norm_(reader.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            losses.append(float(found.detach()))
        sys.stdout.write(f"epoch {epoch + 1}: loss {np.mean(losses):.3f}\n")
        sys.stdout.flush()
    reader.eval()


def _batches(lengths: npt.NDArray[np.int64], chance: np.random.Generator) -> Iterable[npt.NDArray[np.int64]]:
    """All rows once, in batches of texts that are alike in length."""
    order = chance.permutation(len(lengths))
    for at in range(0, len(order), BATCH * _SORTED):
        rows = order[at : at + BATCH * _SORTED]
        rows = rows[np.argsort(lengths[rows], kind="stable")]
        batches = [rows[begin : begin + BATCH] for begin in range(0, len(rows), BATCH)]
        yield from (batches[n] for n in chance.permutation(len(batches)))
