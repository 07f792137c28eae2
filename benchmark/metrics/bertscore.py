"""BERTScore between texts that follow each other: how much of each is met by something alike in the other.

With the extra `[metrics]` the library bert-score computes it; without, the same formula runs over the embedded MiniLM.
Heavy either way, so it runs in a worker. The result names the model: figures of two models are not to be compared.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from benchmark.metrics.base import Metric, mean, rounded
from benchmark.metrics.conversation import spoken
from benchmark.snapshot import Snapshot
from errors import SettingsError
from minilm import network, wordpieces
from minilm.weights import Floats, model_folder
from rag.embedding import MiniLmEmbedder

LONGEST = 512
"""Pieces that bert-score reads of a text with this model."""
_BATCH = 8
Pair = tuple[str, str]
"""A text, and the one before it that it is held against."""


Progress = Callable[[int, int], object]
"""Told how many of how many texts have been read."""


class Alike(NamedTuple):
    precision: float
    recall: float
    f1: float


def _untold(_done: int, _of: int) -> None: ...


class Scorer(Protocol):
    @property
    def model(self) -> str: ...

    def score(self, pairs: Sequence[Pair], on_texts: Progress = ...) -> list[Alike]: ...


def scorer(model: Path | None = None, *, library: bool | None = None) -> Scorer:
    """The library's where it is installed; `model` is a folder with another model, for which it is needed."""
    if model is not None and not model.is_dir():
        raise SettingsError(f"BERTSCORE_MODEL names {str(model)!r}, which is no folder with a model.")
    has_library = importlib.util.find_spec("bert_score") is not None if library is None else library
    if has_library:
        return LibraryScorer(model)
    if model is not None:
        raise SettingsError(
            "BERTSCORE_MODEL names a model, and to run it takes the extra [metrics]: pip install 'crosscut[metrics]'."
        )
    return EmbeddedScorer()


def bertscore(snapshot: Snapshot, by: Scorer, on_texts: Progress = _untold) -> tuple[Metric, ...]:
    answered, adjacent = pairs_of(snapshot)
    alike = by.score([*answered, *adjacent], on_texts)
    return (
        *_metrics("answer", "Question and answer", by.model, alike[: len(answered)]),
        *_metrics("adjacent", "Adjacent turns", by.model, alike[len(answered) :]),
    )


def pairs_of(snapshot: Snapshot) -> tuple[list[Pair], list[Pair]]:
    """Each answer with its question, and each turn with the one before it."""
    lines = spoken(snapshot)
    both = list(zip(lines[1:], lines, strict=False))
    answered = [(later.text, earlier.text) for later, earlier in both if (later.role, earlier.role) == _ANSWERING]
    return answered, [(later.text, earlier.text) for later, earlier in both]


_ANSWERING = ("patient", "interviewer")


def _metrics(name: str, label: str, model: str, alike: Sequence[Alike]) -> tuple[Metric, ...]:
    return tuple(
        Metric(
            name=f"bertscore.{name}_{part}",
            label=f"{label}: BERTScore {part if part != 'f1' else 'F1'}",
            value=rounded(mean([getattr(one, part) for one in alike])),
            unit="cosine",
            n=len(alike),
            n_of="pairs",
            explanation=f"mean over the pairs, by {model}",
            metadata={"model": model, "pairs": len(alike)},
        )
        for part in Alike._fields
    )


class EmbeddedScorer:
    """bert-score's formula without weights by frequency and without a baseline, over the last layer of MiniLM."""

    model = MiniLmEmbedder.model

    def score(self, pairs: Sequence[Pair], on_texts: Progress = _untold) -> list[Alike]:
        units = _units(sorted({text for pair in pairs for text in pair}), on_texts)
        return [_alike(units[candidate], units[reference]) for candidate, reference in pairs]


class LibraryScorer:
    def __init__(self, model: Path | None = None) -> None:
        self._folder = model or model_folder()
        named = str(model) if model else MiniLmEmbedder.model
        self.model = f"{named} (bert-score)"

    def score(self, pairs: Sequence[Pair], on_texts: Progress = _untold) -> list[Alike]:
        """In one go, since a text's figures depend on those it is put together with."""
        of = len({text for pair in pairs for text in pair})
        on_texts(0, of)
        os.environ["HF_HUB_OFFLINE"] = "1"  # the model is in its folder, and nothing is to be asked for elsewhere
        from bert_score import BERTScorer
        from transformers import AutoConfig

        layers = AutoConfig.from_pretrained(str(self._folder), local_files_only=True).num_hidden_layers
        by = BERTScorer(model_type=str(self._folder), num_layers=layers, device="cpu", batch_size=_BATCH)
        found = by.score([candidate for candidate, _ in pairs], [reference for _, reference in pairs])
        on_texts(of, of)
        return [Alike(*map(float, one)) for one in zip(*found, strict=True)]


def _units(texts: Sequence[str], on_texts: Progress) -> dict[str, Floats]:
    """Each text's pieces as vectors of length 1."""
    pieces = {text: _pieces(text) for text in texts}
    order = sorted(texts, key=lambda text: len(pieces[text]))  # alike in length: little padding
    units: dict[str, Floats] = {}
    for at in range(0, len(order), _BATCH):
        batch = order[at : at + _BATCH]
        for text, told in zip(batch, network.states([pieces[text] for text in batch]), strict=True):
            own = told[: len(pieces[text])]
            units[text] = own / np.linalg.norm(own, axis=1, keepdims=True)
        on_texts(len(units), len(order))
    return units


def _pieces(text: str) -> list[int]:
    found: list[int] = wordpieces.tokenizer().encode(text.strip()).ids
    return found if len(found) <= LONGEST else [*found[: LONGEST - 1], found[-1]]


def _alike(candidate: Floats, reference: Floats) -> Alike:
    """The marks around a text may be met by a piece, but do not count themselves.

    What is met by nothing but its opposite counts nothing: bert-score fills texts up with zeros, which are nearer then.
    """
    met = np.maximum(candidate @ reference.T, 0)
    precision, recall = float(met.max(axis=1)[1:-1].mean()), float(met.max(axis=0)[1:-1].mean())
    total = precision + recall
    return Alike(precision, recall, 2 * precision * recall / total if total else 0.0)
