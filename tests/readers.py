"""What the risk check's second reader says, given by a test."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from agents.language.sentences import stretches
from agents.risk import reader
from agents.risk.reader import Opinion


def hears(monkeypatch: pytest.MonkeyPatch, opinion: Callable[[str, int], Opinion]) -> None:
    """Of each stretch, what `opinion` makes of its sentences."""

    def opinions(sentences: Sequence[str], item: int, *_: object) -> list[Opinion]:
        return [opinion(". ".join(sentences[start:end]), item) for start, end in stretches(len(sentences))]

    monkeypatch.setattr(reader, "opinions", opinions)
    monkeypatch.setattr(reader, "thorough", opinion)
