"""The network of the quick readers: MiniLM's word vectors made narrower, and two small layers over them.

The names of inputs and the order of outputs are those of `agents/language/sentences.py`.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, nn
from torch.nn import functional

from agents.language.sentences import LONGEST, TOGETHER
from minilm.weights import weights

QUESTIONS = 24
"""The items, and none."""
_CHUNK = 48  # sentences read at once, of about the same length: padding is wasted work
_FAR = -1e4
_WORDS = "words.weight"


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

    def forward(self, pieces: Tensor, lengths: Tensor, about: Tensor) -> Tensor:
        """As it is used: the sentences of one message in, all their stretches out."""
        greatest, total = self.sentences(pieces, lengths, about.expand(pieces.shape[0]))
        counts = lengths.to(torch.float32)[:, None]
        rows = []
        for size in range(1, TOGETHER + 1):
            most, sums, number = (_last(table, size - 1) for table in (greatest, total, counts))
            for back in range(1, size):
                most = torch.maximum(most, _shifted(greatest, size, back))
                sums, number = sums + _shifted(total, size, back), number + _shifted(counts, size, back)
            rows.append(torch.cat([most, sums / number], 1))
        pooled = torch.cat(rows)
        return self.told(pooled[:, : self.shape.width], pooled[:, self.shape.width :])


def _last(table: Tensor, without: int) -> Tensor:
    return table[without:]


def _shifted(table: Tensor, size: int, back: int) -> Tensor:
    """The rows that stand `back` before the last ones of stretches of this size."""
    return table[size - 1 - back : -back]


def _narrow_words(width: int) -> Tensor:
    """MiniLM's word vectors along the directions in which they differ most."""
    table = torch.tensor(np.array(weights()["embeddings.word_embeddings.weight"]))
    table = table - table.mean(0)
    _, _, directions = torch.linalg.svd(table, full_matrices=False)
    narrow = table @ directions[:width].T
    return (narrow / narrow.std() * 0.5).contiguous()


def export(reader: SentenceReader, path: Path) -> None:
    """As an ONNX graph, its word vectors in eight bits with a scale a word: most of the file are these."""
    reader.eval()
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / "reader.onnx"
        torch.onnx.export(
            reader,
            (torch.ones(3, 12, dtype=torch.int64), torch.tensor([12, 5, 7]), torch.tensor(1)),
            whole,
            input_names=["pieces", "lengths", "about"],
            output_names=["outputs"],
            dynamic_axes={"pieces": {0: "sentences", 1: "pieces"}, "lengths": {0: "sentences"}},
            opset_version=17,
            dynamo=False,
        )
        model = onnx.load(whole)
    _shrink_words(model)
    model.metadata_props.add(key="shape", value=repr(asdict(reader.shape)))
    onnx.save(model, path)


def _shrink_words(model: onnx.ModelProto) -> None:
    graph = model.graph
    (words,) = (one for one in graph.initializer if one.name == _WORDS)
    (gather,) = (node for node in graph.node if node.op_type == "Gather" and node.input[0] == _WORDS)
    table = numpy_helper.to_array(words)
    scales = np.abs(table).max(1, keepdims=True) / 127
    small = np.round(table / np.maximum(scales, 1e-12)).astype(np.int8)
    graph.initializer.remove(words)
    graph.initializer.append(numpy_helper.from_array(small, "words.small"))
    graph.initializer.append(numpy_helper.from_array(scales.astype(np.float32), "words.scales"))
    at = list(graph.node).index(gather)
    pieces, vectors = gather.input[1], gather.output[0]
    graph.node.remove(gather)
    opened = (
        helper.make_node("Gather", ["words.small", pieces], ["words.found"]),
        helper.make_node("Cast", ["words.found"], ["words.wide"], to=TensorProto.FLOAT),
        helper.make_node("Gather", ["words.scales", pieces], ["words.scale"]),
        helper.make_node("Mul", ["words.wide", "words.scale"], [vectors]),
    )
    for node in reversed(opened):
        graph.node.insert(at, node)
