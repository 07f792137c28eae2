"""The network of the quick readers: MiniLM's word vectors made narrower, and two small layers over them.

`tools/train/sentence_graph.py` makes of it what is used.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from agents.language.sentences import LONGEST
from minilm.weights import weights

QUESTIONS = 24
"""The items, and none."""
_CHUNK = 48  # sentences read at once, of about the same length: padding is wasted work
_FAR = -1e4


@dataclass(frozen=True)
class Shape:
    outputs: int
    width: int
    layers: int
    inner: int
    heads: int


@dataclass(frozen=True)
class Batch:
    """Sentences in chunks of like length; `owners` tells for each, in that order, to which text it belongs."""

    chunks: list[tuple[Tensor, Tensor, Tensor]]
    owners: Tensor
    texts: int

    @classmethod
    def of(cls, texts: Sequence[Sequence[list[int]]], abouts: Sequence[int]) -> Batch:
        """Texts as lists of sentences, and what each answers."""
        rows = sorted(((n, one) for n, text in enumerate(texts) for one in text), key=lambda row: len(row[1]))
        chunks = []
        for at in range(0, len(rows), _CHUNK):
            part = rows[at : at + _CHUNK]
            table = np.zeros((len(part), len(part[-1][1])), np.int64)
            for row, (_, pieces) in enumerate(part):
                table[row, : len(pieces)] = pieces
            lengths = torch.tensor([len(pieces) for _, pieces in part])
            chunks.append((torch.from_numpy(table), lengths, torch.tensor([abouts[n] for n, _ in part])))
        return cls(chunks, torch.tensor([n for n, _ in rows]), len(texts))


class Layer(nn.Module):  # type: ignore[misc]
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        width = shape.width
        self.heads = shape.heads
        self.questions, self.attended = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.inner, self.outer = nn.Linear(width, shape.inner * width), nn.Linear(shape.inner * width, width)
        self.first_norm, self.second_norm = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x: Tensor, beyond: Tensor) -> Tensor:
        batch, length, width = x.shape
        query, key, value = self.questions(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        seen = query @ key.transpose(-1, -2) / math.sqrt(width // self.heads) + beyond[:, None, None, :]
        mixed = (seen.softmax(-1) @ value).transpose(1, 2).reshape(batch, length, width)
        x = self.first_norm(x + self.attended(mixed))
        return self.second_norm(x + self.outer(functional.relu(self.inner(x))))


class SentenceReader(nn.Module):  # type: ignore[misc]
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.words = nn.Embedding.from_pretrained(_narrow_words(shape.width), freeze=False)
        self.places, self.questions = nn.Embedding(LONGEST, shape.width), nn.Embedding(QUESTIONS, shape.width)
        for table in (self.places, self.questions):
            nn.init.normal_(table.weight, std=0.1)
        self.norm = nn.LayerNorm(shape.width)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.inner, self.outer = nn.Linear(2 * shape.width, shape.width), nn.Linear(shape.width, shape.outputs)

    def sentences(self, pieces: Tensor, lengths: Tensor, about: Tensor) -> tuple[Tensor, Tensor]:
        """Of each sentence the greatest of every number over its pieces, and their sum."""
        there = (torch.arange(pieces.shape[1])[None, :] < lengths[:, None]).to(torch.float32)
        beyond = (1 - there) * _FAR
        x = self.words(pieces) + self.places.weight[: pieces.shape[1]] + self.questions(about)[:, None]
        x = functional.dropout(self.norm(x), 0.1, self.training)
        for layer in self.layers:
            x = layer(x, beyond)
        return (x + beyond[..., None]).max(1).values, (x * there[..., None]).sum(1)

    def told(self, greatest: Tensor, mean: Tensor) -> Tensor:
        pooled = functional.dropout(torch.cat([greatest, mean], 1), 0.1, self.training)
        return self.outer(functional.relu(self.inner(pooled)))

    def read(self, batch: Batch) -> Tensor:
        """The outputs of whole texts, each of all its sentences together."""
        greatest, total = (torch.cat(p) for p in zip(*(self.sentences(*c) for c in batch.chunks), strict=True))
        lengths = torch.cat([lengths for _, lengths, _ in batch.chunks]).to(torch.float32)
        index = batch.owners[:, None].expand_as(greatest)
        width = self.shape.width
        most = torch.full((batch.texts, width), _FAR).scatter_reduce(0, index, greatest, "amax")
        sums = torch.zeros(batch.texts, width).index_add(0, batch.owners, total)
        counts = torch.zeros(batch.texts).index_add(0, batch.owners, lengths)
        return self.told(most, sums / counts[:, None])


def _narrow_words(width: int) -> Tensor:
    """MiniLM's word vectors along the directions in which they differ most."""
    table = torch.tensor(np.array(weights()["embeddings.word_embeddings.weight"]))
    table = table - table.mean(0)
    _, _, directions = torch.linalg.svd(table, full_matrices=False)
    narrow = table @ directions[:width].T
    return (narrow / narrow.std() * 0.5).contiguous()
