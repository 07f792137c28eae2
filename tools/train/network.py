"""The network of the readers: some of MiniLM's layers, trained further, with a new end."""

from __future__ import annotations

import math
import random
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from torch import Tensor, nn
from torch.nn import functional

from agents.language.encoder import LONGEST
from minilm import wordpieces
from minilm.weights import model_folder

WIDTH, HEADS = 384, 12
BATCH, RATE = 32, 2e-4
_CHUNK = 8  # texts read at once, of about the same length: padding is wasted work
_DROPOUT = 0.1
T = TypeVar("T")


class Layer(nn.Module):  # type: ignore[misc]
    """One layer of the encoder; the names are those of the weights it begins with."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.attended = nn.Linear(WIDTH, WIDTH)
        self.inner, self.outer = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.first_norm, self.second_norm = (nn.LayerNorm(WIDTH, eps=1e-12) for _ in range(2))

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        batch, length, _ = x.shape
        query, key, value = (
            part(x).view(batch, length, HEADS, -1).transpose(1, 2) for part in (self.query, self.key, self.value)
        )
        weights = query @ key.transpose(-1, -2) / math.sqrt(WIDTH // HEADS)
        if mask is not None:
            weights = weights.masked_fill(mask[:, None, None, :] == 0, -1e9)
        mixed = (weights.softmax(-1) @ value).transpose(1, 2).reshape(batch, length, WIDTH)
        x = self.first_norm(x + functional.dropout(self.attended(mixed), _DROPOUT, self.training))
        inner = functional.gelu(self.inner(x))
        return self.second_norm(x + functional.dropout(self.outer(inner), _DROPOUT, self.training))


class Reader(nn.Module):  # type: ignore[misc]
    """From the vectors of a text's pieces to `outputs` numbers, by the first `layers` of MiniLM's six."""

    def __init__(self, outputs: int, layers: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH, eps=1e-12)
        self.layers = nn.ModuleList(Layer() for _ in range(layers))
        self.head = nn.Linear(2 * WIDTH, outputs)
        _begin_with_minilm(self)

    def forward(self, vectors: Tensor, mask: Tensor | None = None) -> Tensor:
        x = functional.dropout(self.norm(vectors), _DROPOUT, self.training)
        for layer in self.layers:
            x = layer(x, mask)
        if mask is None:
            pooled = torch.cat([x.mean(1), x.max(1).values], 1)
        else:
            held = mask[..., None]
            pooled = torch.cat([(x * held).sum(1) / held.sum(1), (x + (1 - held) * -1e4).max(1).values], 1)
        return self.head(functional.dropout(pooled, _DROPOUT, self.training))

    def read(self, texts: list[tuple[str, str]]) -> Tensor:
        """Pairs of what a text is about and the text; the outputs in the same order."""
        encoded = [wordpieces.encode(about, text) for about, text in texts]
        order = sorted(range(len(encoded)), key=lambda n: len(encoded[n].ids))
        chunks = [order[at : at + _CHUNK] for at in range(0, len(order), _CHUNK)]
        outputs = torch.cat([self(*_batched([encoded[n] for n in chunk])) for chunk in chunks])
        return outputs[torch.tensor(order).argsort()]


def taught(
    reader: Reader,
    examples: list[T],
    loss: Callable[[int, list[T]], Tensor],
    *,
    epochs: int,
    chance: random.Random,
    rate: float = RATE,
) -> Reader:
    """`loss` is given the number of the epoch, from 0, and some of the examples."""
    steps = epochs * math.ceil(len(examples) / BATCH)
    optimizer = torch.optim.AdamW(reader.parameters(), lr=rate, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps, pct_start=0.1)
    reader.train()
    for epoch in range(epochs):
        order = chance.sample(examples, len(examples))
        total = 0.0
        for at in range(0, len(order), BATCH):
            found = loss(epoch, order[at : at + BATCH])
            optimizer.zero_grad()
            found.backward()
            nn.utils.clip_grad_norm_(reader.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            total += float(found.detach())
        sys.stdout.write(f"epoch {epoch + 1}: loss {total * epochs / steps:.3f}\n")
        sys.stdout.flush()
    reader.eval()
    return reader


def export(reader: Reader, path: Path) -> None:
    """As an ONNX graph with its weights in eight bits."""
    reader.eval()
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / "reader.onnx"
        torch.onnx.export(
            reader,
            (torch.zeros(1, 40, WIDTH),),
            whole,
            input_names=["vectors"],
            output_names=["outputs"],
            dynamic_axes={"vectors": {1: "pieces"}},
            dynamo=False,
        )
        quantize_dynamic(whole, path, weight_type=QuantType.QInt8)


def _batched(encoded: list[Any]) -> tuple[Tensor, Tensor]:
    longest = min(LONGEST, max(len(one.ids) for one in encoded))
    vectors = np.zeros((len(encoded), longest, WIDTH), np.float32)
    mask = np.zeros((len(encoded), longest), np.float32)
    for row, one in enumerate(encoded):
        length = min(longest, len(one.ids))
        vectors[row, :length] = wordpieces.vectors(one.ids[:length], one.type_ids[:length])
        mask[row, :length] = 1
    return torch.from_numpy(vectors), torch.from_numpy(mask)


_NAMES = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "attended": "attention.output.dense",
    "first_norm": "attention.output.LayerNorm",
    "inner": "intermediate.dense",
    "outer": "output.dense",
    "second_norm": "output.LayerNorm",
}


def _begin_with_minilm(reader: Reader) -> None:
    from safetensors.torch import load_file

    weights = load_file(model_folder() / "model.safetensors")
    parts: dict[str, nn.Module] = {"embeddings.LayerNorm": reader.norm}
    for number, layer in enumerate(reader.layers):
        parts |= {f"encoder.layer.{number}.{theirs}": getattr(layer, ours) for ours, theirs in _NAMES.items()}
    for name, module in parts.items():
        module.load_state_dict({kind: weights[f"{name}.{kind}"] for kind in ("weight", "bias")})
