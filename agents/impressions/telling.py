"""What a patient told beside the scores: which features of `instruments/disorders.json` their sentences come near to.

A feature has some dozen everyday wordings; a sentence counts for it as much as it resembles the nearest of them by the
embedded MiniLM, against how near ordinary talk comes to the same feature.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from agents.impressions.weights import Weights, weights
from agents.language import clauses, read
from agents.replies import gives_orders
from instruments.disorders import disorders
from instruments.level1 import item_number
from instruments.profile import ItemResponse, TranscriptLine
from minilm import network
from minilm.weights import Floats

_NEGATION = re.compile(r"\b(?:no|not|never|none|nothing|nope|neither|without|nobody)\b|n't\b", re.I)
_SHORTEST = 4  # characters


@dataclass(frozen=True)
class Sentence:
    """A sentence of the patient's, letter for letter, with the score of the item it was said to."""

    text: str
    item: int
    score: int

    @property
    def denies(self) -> bool:
        return self.score == 0 and bool(_NEGATION.search(self.text))


@dataclass(frozen=True)
class Told:
    """How strongly each feature was told, from 0 to 1, with the sentence that tells it best."""

    strengths: dict[str, float]
    sentences: dict[str, Sentence]
    nearness: dict[str, float]
    """Of the disorders' criteria, in standard deviations from ordinary talk."""


def sentences_of(transcript: Iterable[TranscriptLine], responses: Iterable[ItemResponse]) -> list[Sentence]:
    scores = {response.item_id: response.score for response in responses}
    return [
        Sentence(text, item_number(line.item_id), scores.get(line.item_id, 0))
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


@dataclass(frozen=True)
class Likeness:
    """How near an interview's sentences come to each feature and to each disorder's criteria, as cosines."""

    features: dict[str, float]
    sentences: dict[str, Sentence]
    criteria: dict[str, float]


def told(sentences: Sequence[Sentence]) -> Told:
    if not sentences:
        return Told({}, {}, {})
    limits = weights()
    return told_by(likeness(sentences, limits.denied, limits.not_scored), limits)


def likeness(sentences: Sequence[Sentence], denied: float, not_scored: float) -> Likeness:
    """A denial resembles what it denies, so it counts for less, and so does what is said to an item that scored 0."""
    vectors = network.embed([network.pieces_of(sentence.text) for sentence in sentences])
    lowered = np.array([denied if s.denies else not_scored if s.score == 0 else 0.0 for s in sentences], np.float32)
    by_feature = {name: (vectors @ wordings.T).max(1) - lowered for name, wordings in _wordings().items()}
    return Likeness(
        {name: float(near.max()) for name, near in by_feature.items()},
        {name: sentences[int(near.argmax())] for name, near in by_feature.items()},
        {
            name: float((vectors @ criteria.T - lowered[:, None]).max(0).mean())
            for name, criteria in _criteria().items()
        },
    )


def told_by(near: Likeness, limits: Weights) -> Told:
    """Strength grows with the distance from ordinary talk, in standard deviations."""
    strengths = {
        name: _sigmoid((limits.features[name].deviations(cosine) - limits.telling) / limits.slope)
        for name, cosine in near.features.items()
    }
    nearness = {name: limits.criteria[name].deviations(cosine) for name, cosine in near.criteria.items()}
    return Told(strengths, near.sentences, nearness)


def _sigmoid(value: float) -> float:
    return float(1 / (1 + np.exp(-value)))


@cache
def _wordings() -> dict[str, Floats]:
    return {feature.id: _embedded(feature.wordings) for feature in disorders().features}


@cache
def _criteria() -> dict[str, Floats]:
    return {disorder.name: _embedded(disorder.criteria) for disorder in disorders().disorders}


def _embedded(texts: Sequence[str]) -> Floats:
    return network.embed([network.pieces_of(text) for text in texts])
