"""A second reader beside the cues: a small encoder that knows more ways of declining, asking back and breaking off.

`python -m tools.train replies` makes it (`reader.onnx`).
"""

from __future__ import annotations

import numpy as np

from agents.language.encoder import Encoder
from agents.replies.rules import ReplyKind
from instruments.level1 import level1

KINDS: tuple[ReplyKind, ...] = ("answer", "refusal", "question", "pause", "ready", "request", "earlier")
_ENCODER = Encoder("agents.replies")


def likely(text: str, item: int, *, paused: bool) -> dict[ReplyKind, float]:
    """How likely each kind is."""
    outputs = np.array(_ENCODER.read(about(item, paused=paused), text))
    powers = np.exp(outputs - outputs.max())
    return dict(zip(KINDS, (powers / powers.sum()).tolist(), strict=True))


def about(item: int, *, paused: bool) -> str:
    """What the open question was about, and whether the conversation had been left off."""
    topic = level1().item(item).topic if item else ""
    return f"{topic} ; break" if paused else topic
