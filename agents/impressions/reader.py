"""A small encoder that knows how patients tell the features of `instruments/disorders.json`.

`python -m tools.train impressions` makes it (`reader.onnx`).
"""

from __future__ import annotations

import numpy as np

from agents.language import read
from agents.language.encoder import Encoder
from instruments.disorders import disorders
from instruments.level1 import level1

FEATURES: tuple[str, ...] = tuple(feature.id for feature in disorders().features)
_ENCODER = Encoder("agents.impressions")


def told_features(text: str, item: int) -> dict[str, float]:
    """How likely it is of each feature that this sentence, said to this item, tells it."""
    topic = level1().item(item).topic if item else ""
    outputs = np.array(_ENCODER.read(topic, read(text).text))
    return dict(zip(FEATURES, (1 / (1 + np.exp(-outputs))).tolist(), strict=True))
