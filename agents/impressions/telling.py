"""What a patient told beside the scores: which features of `instruments/disorders.json` their sentences tell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agents.impressions.reader import told_features
from agents.language import clauses, read
from agents.replies import gives_orders
from instruments.level1 import item_number
from instruments.profile import TranscriptLine

_SHORTEST = 4  # characters


@dataclass(frozen=True)
class Sentence:
    """A sentence of the patient's, letter for letter, and the item it was said to."""

    text: str
    item: int


@dataclass(frozen=True)
class Told:
    """How surely each feature was told, from 0 to 1, and the sentence that tells it best."""

    strengths: dict[str, float]
    sentences: dict[str, Sentence]


def sentences_of(transcript: Iterable[TranscriptLine]) -> list[Sentence]:
    return [
        Sentence(text, item_number(line.item_id))
        for line in transcript
        if line.role == "patient" and line.item_id
        for text in spoken(line.text)
    ]


def spoken(text: str) -> list[str]:
    """The sentences of a message, without those that give orders to the program: these tell nothing."""
    return [sentence for sentence in _split(text) if not gives_orders(sentence)]


def _split(text: str) -> list[str]:
    reading = read(text)
    ends: dict[int, tuple[int, int]] = {}
    for clause in clauses(reading.text):
        start, _ = ends.get(clause.sentence, (clause.start, 0))
        ends[clause.sentence] = start, clause.end
    found = (text[slice(*reading.span(start, end))].strip() for start, end in ends.values())
    return [sentence for sentence in found if len(sentence) >= _SHORTEST]


def told(sentences: Sequence[Sentence]) -> Told:
    return surest(sentences, [told_features(sentence.text, sentence.item) for sentence in sentences])


def surest(sentences: Sequence[Sentence], likely: Sequence[dict[str, float]]) -> Told:
    """Of each feature, the sentence that tells it most surely."""
    best: dict[str, tuple[float, Sentence]] = {}
    for sentence, of_it in zip(sentences, likely, strict=True):
        for name, strength in of_it.items():
            if name not in best or strength > best[name][0]:
                best[name] = strength, sentence
    return Told({name: one[0] for name, one in best.items()}, {name: one[1] for name, one in best.items()})
