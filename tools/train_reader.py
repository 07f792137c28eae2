"""Train the risk check's second reader: `pip install -e '.[train]'`, then `python -m tools.train_reader`.

Learns from tests/data/risk_tune.jsonl and ordinary answers of simulated patients, never from the report turns, and
writes agents/risk/reader.onnx. `--folds` trains two readers on half of the authors each instead and writes their
predictions for the other half, from which the limits in agents/risk/reader.toml were chosen. It takes twenty minutes.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from torch import Tensor, nn
from torch.nn import functional

from agents.language import read, wordpieces
from agents.risk.reader import topic
from tools.figures import DATA, ordinary

LAYERS, WIDTH, HEADS, OUTPUTS = 3, 384, 12, 7
EPOCHS, BATCH, RATE = 4, 32, 2e-4
LONGEST = 160
ORDINARY = 2400
LEVELS = {"none": 0, "flag": 1, "stop": 2}
FLAGS = ("suicidalityMentioned", "selfHarmIdeation", "violenceRisk", "substanceAbuseSignal")
TARGET = Path(__file__).parent.parent / "agents" / "risk" / "reader.onnx"


@dataclass(frozen=True)
class Example:
    id: str
    text: str
    item: int
    level: int
    flags: tuple[float, ...]


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
        x = self.first_norm(x + functional.dropout(self.attended(mixed), 0.1, self.training))
        inner = functional.gelu(self.inner(x))
        return self.second_norm(x + functional.dropout(self.outer(inner), 0.1, self.training))


class Reader(nn.Module):  # type: ignore[misc]
    """From the vectors of a message's pieces to seven numbers: three levels and four concerns."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH, eps=1e-12)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.head = nn.Linear(2 * WIDTH, OUTPUTS)
        _begin_with_minilm(self)

    def forward(self, vectors: Tensor, mask: Tensor | None = None) -> Tensor:
        x = functional.dropout(self.norm(vectors), 0.1, self.training)
        for layer in self.layers:
            x = layer(x, mask)
        if mask is None:
            pooled = torch.cat([x.mean(1), x.max(1).values], 1)
        else:
            held = mask[..., None]
            pooled = torch.cat([(x * held).sum(1) / held.sum(1), (x + (1 - held) * -1e4).max(1).values], 1)
        return self.head(functional.dropout(pooled, 0.1, self.training))


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

    weights = load_file(wordpieces.model_folder() / "model.safetensors")
    parts: dict[str, nn.Module] = {"embeddings.LayerNorm": reader.norm}
    for number, layer in enumerate(reader.layers):
        parts |= {f"encoder.layer.{number}.{theirs}": getattr(layer, ours) for ours, theirs in _NAMES.items()}
    for name, module in parts.items():
        module.load_state_dict({kind: weights[f"{name}.{kind}"] for kind in ("weight", "bias")})


def labelled() -> list[Example]:
    rows = [json.loads(line) for line in (DATA / "risk_tune.jsonl").read_text("utf-8").splitlines()]
    return [_example(row) for row in rows]


def _example(row: dict[str, Any]) -> Example:
    flags = tuple(float(name in row["flags"]) for name in FLAGS)
    return Example(row["id"], read(row["text"]).text, row["item"] or 0, LEVELS[row["level"]], flags)


def harmless() -> list[Example]:
    different = {turn.text.lower(): turn for turn in ordinary()}
    turns = random.Random(0).sample(list(different.values()), ORDINARY)
    return [Example(f"o{n}", read(turn.text).text, turn.item, 0, (0.0,) * 4) for n, turn in enumerate(turns)]


def varied(example: Example, chance: random.Random, neutral: list[str]) -> str:
    """The same message as another would type it: without stops or apostrophes, with a slip, beside another sentence."""
    text, draw = example.text, chance.random()
    if draw < 0.12:
        text = re.sub(r"[.,!?;:]", "", text)
    elif draw < 0.22:
        text = text.replace("'", "")
    if chance.random() < 0.18 and example.item != 11:
        other = chance.choice(neutral)
        text = f"{other}. {text}" if chance.random() < 0.5 else f"{text.rstrip('.!? ')}. {other}."
    if chance.random() < 0.08 and len(text) > 12:
        at = chance.randrange(1, len(text) - 2)
        text = text[:at] + text[at + 1] + text[at] + text[at + 2 :]
    return text


def batched(pairs: list[tuple[Example, str]]) -> tuple[Tensor, Tensor]:
    encoded = [wordpieces.tokenizer().encode(topic(example.item), text) for example, text in pairs]
    longest = min(LONGEST, max(len(one.ids) for one in encoded))
    vectors = np.zeros((len(pairs), longest, WIDTH), np.float32)
    mask = np.zeros((len(pairs), longest), np.float32)
    for row, one in enumerate(encoded):
        length = min(longest, len(one.ids))
        vectors[row, :length] = wordpieces.vectors(one.ids[:length], one.type_ids[:length])
        mask[row, :length] = 1
    return torch.from_numpy(vectors), torch.from_numpy(mask)


def trained(examples: list[Example], seed: int = 0) -> Reader:
    torch.manual_seed(seed)
    chance = random.Random(seed)
    neutral = [e.text.rstrip(".") for e in harmless() if 10 < len(e.text) < 90 and "day" not in e.text]
    reader = Reader()
    steps = EPOCHS * math.ceil(len(examples) / BATCH)
    optimizer = torch.optim.AdamW(reader.parameters(), lr=RATE, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=steps, pct_start=0.1)
    for epoch in range(EPOCHS):
        reader.train()
        pairs = [(example, varied(example, chance, neutral)) for example in examples]
        pairs.sort(key=lambda pair: len(pair[1]) + chance.random() * 60)
        batches = [pairs[at : at + BATCH] for at in range(0, len(pairs), BATCH)]
        chance.shuffle(batches)
        total = sum(_step(reader, batch, optimizer, schedule) for batch in batches)
        sys.stdout.write(f"epoch {epoch + 1}: loss {total / len(batches):.3f}\n")
        sys.stdout.flush()
    reader.eval()
    return reader


def _step(reader: Reader, batch: list[tuple[Example, str]], optimizer: Any, schedule: Any) -> float:
    output = reader(*batched(batch))
    level = torch.tensor([example.level for example, _ in batch])
    flags = torch.tensor([example.flags for example, _ in batch])
    loss = functional.cross_entropy(output[:, :3], level, label_smoothing=0.03)
    loss = loss + 0.5 * functional.binary_cross_entropy_with_logits(output[:, 3:], flags)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(reader.parameters(), 1.0)
    optimizer.step()
    schedule.step()
    return float(loss.detach())


def export(reader: Reader, path: Path) -> None:
    """As an ONNX graph with its weights in eight bits."""
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / "reader.onnx"
        torch.onnx.export(
            reader,
            (torch.zeros(1, 40, WIDTH),),
            whole,
            input_names=["vectors"],
            output_names=["levels_and_concerns"],
            dynamic_axes={"vectors": {1: "pieces"}},
            dynamo=False,
        )
        quantize_dynamic(whole, path, weight_type=QuantType.QInt8)


def predicted(reader: Reader, examples: list[Example]) -> dict[str, list[float]]:
    with torch.no_grad():
        return {e.id: reader(*batched([(e, e.text)]))[0].tolist() for e in examples}


def authors(examples: list[Example]) -> dict[str, list[Example]]:
    """Whoever wrote a turn is the beginning of its id: turns of one author are more alike than the world is."""
    found: dict[str, list[Example]] = {}
    for example in examples:
        found.setdefault(re.split(r"-|(?<=^[a-z])(?=\d)", example.id)[0], []).append(example)
    return found


def folds(path: Path) -> None:
    by_author = authors(labelled())
    halves = [sorted(by_author)[::2], sorted(by_author)[1::2]]
    found: dict[str, list[float]] = {}
    for learned, other in (halves, halves[::-1]):
        reader = trained([e for a in learned for e in by_author[a]] + harmless()[: ORDINARY // 4])
        found |= predicted(reader, [e for a in other for e in by_author[a]])
    path.write_text(json.dumps(found))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folds", type=Path, help="write predictions of readers that had not learned from the turn")
    wanted = parser.parse_args()
    torch.set_num_threads(1)
    if wanted.folds:
        folds(wanted.folds)
    else:
        export(trained(labelled() + harmless()), TARGET)
    return 0


if __name__ == "__main__":
    sys.exit(main())
