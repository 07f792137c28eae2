"""How the conversation reads: whether turns belong together, and how hard the interviewer's words are."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib.metadata import version
from typing import NamedTuple

import numpy as np

from benchmark.metrics.base import Metric, mean, rounded
from benchmark.snapshot import FrozenLine, Snapshot
from minilm import network
from minilm.weights import Floats
from rag.embedding import MiniLmEmbedder

_SPOKEN = frozenset({"question", "follow_up", "answer", "aside", "resumed"})
_MARKS = 2
"""Pieces that stand around every text."""


def conversation(snapshot: Snapshot) -> tuple[Metric, ...]:
    return (*coherence(snapshot), *readability(interviewer_words(snapshot)))


def spoken(snapshot: Snapshot) -> list[FrozenLine]:
    """What was asked and answered, in order: without greeting and closing words, and without lines that say nothing."""
    lines = [line for line in snapshot.lines if line.kind in _SPOKEN]
    return [line for line in lines if len(network.pieces_of(line.text)) > _MARKS]


def interviewer_words(snapshot: Snapshot) -> str:
    """All that a patient has to read, from the greeting to the closing words."""
    return "\n".join(line.text for line in snapshot.lines if line.role == "interviewer")


class Cosines(NamedTuple):
    adjacent: float | None
    whole: float | None


def cosines(turns: Sequence[str]) -> Cosines:
    """Of each turn and the one before it, and of each turn and the mean of all; None where there is none to compare."""
    if not turns:
        return Cosines(None, None)
    vectors = np.stack([_vector(text) for text in turns])
    adjacent = np.sum(vectors[:-1] * vectors[1:], axis=1)
    return Cosines(mean(adjacent.tolist()), mean((vectors @ _whole(vectors)).tolist()))


def coherence(snapshot: Snapshot) -> tuple[Metric, Metric]:
    """A proxy: vectors of a small model, not a judgement."""
    turns = [line.text for line in spoken(snapshot)]
    found = cosines(turns)
    metadata = {"model": MiniLmEmbedder.model, "turns": len(turns)}
    return (
        Metric(
            name="conversation.coherence_adjacent",
            label="Coherence of adjacent turns",
            value=rounded(found.adjacent),
            unit="cosine",
            n=max(0, len(turns) - 1),
            n_of="pairs of turns",
            explanation="mean cosine of each turn and the one before it",
            metadata=metadata,
        ),
        Metric(
            name="conversation.coherence_whole",
            label="Coherence with the whole",
            value=rounded(found.whole),
            unit="cosine",
            n=len(turns),
            n_of="turns",
            explanation="mean cosine of each turn and the mean of all turns",
            metadata=metadata,
        ),
    )


@lru_cache(4096)
def _vector(text: str) -> Floats:
    """Questions come again in every interview; alone or among others, a text has the same vector."""
    found: Floats = network.embed([network.pieces_of(text)])[0]
    return found


def _whole(vectors: Floats) -> Floats:
    total = vectors.mean(axis=0)
    unit: Floats = total / np.linalg.norm(total)
    return unit


def readability(text: str) -> tuple[Metric, ...]:
    """Of the interviewer's words; textstat counts sentences, syllables and hard words."""
    import textstat

    grade = "US school grade"
    figures = (
        ("fkg", "Flesch-Kincaid grade", grade, textstat.flesch_kincaid_grade, "the school grade that can follow it"),
        ("gfi", "Gunning fog index", grade, textstat.gunning_fog, "0.4 · (words a sentence + 100 · hard words a word)"),
        ("fre", "Flesch reading ease", "points, 0 to 100", textstat.flesch_reading_ease, "0 is hard, 100 is easy"),
    )
    counts = {"words": textstat.lexicon_count(text), "sentences": textstat.sentence_count(text)}
    return tuple(
        Metric(
            name=f"conversation.{name}",
            label=label,
            value=rounded(formula(text)) if text.strip() else None,
            unit=unit,
            n=counts["words"],
            n_of="words",
            explanation=explanation,
            metadata={"by": f"textstat {version('textstat')}", **counts},
        )
        for name, label, unit, formula, explanation in figures
    )
