"""The quick encoder: sentences are read once, and a stretch is what its sentences say, whatever stands beside it."""

from __future__ import annotations

import numpy as np
import pytest

from agents.language import sentences as quick
from agents.language.sentences import LONGEST, SentenceEncoder, joined, pieces_of, stretches

CALM = [f"on day {n} i walked to shop number {n} for {'milk ' * (n % 7)}" for n in range(60)]


@pytest.fixture(scope="module")
def encoder() -> SentenceEncoder:
    return SentenceEncoder("agents.risk")


def test_stretches_are_each_alone_then_every_two_then_every_three() -> None:
    assert stretches(1) == [(0, 1)]
    assert joined(["a", "b", "c"]) == ["a", "b", "c", "a. b", "b. c", "a. b. c"]
    assert len(stretches(60)) == 60 + 59 + 58


@pytest.mark.parametrize("count", [1, 2, 3, 22, 23, 24, 25, 26, 46, 47, 60])
def test_a_message_longer_than_a_window_gives_the_same_as_in_one_go(
    encoder: SentenceEncoder, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_windows = encoder.read(CALM[:count], 2)
    monkeypatch.setattr(quick, "_WINDOW", 1_000)
    at_once = encoder.read(CALM[:count], 2)
    assert by_windows.shape == (len(stretches(count)), 6)
    np.testing.assert_allclose(by_windows, at_once, atol=1e-4)


def test_what_stands_beside_a_stretch_changes_nothing_in_it(encoder: SentenceEncoder) -> None:
    told = ["the rope is in the car", "nobody will stop me tonight"]
    beside = [CALM[0], *told, CALM[1]]
    alone = dict(zip(joined(told), encoder.read(told, 2), strict=True))
    among = dict(zip(joined(beside), encoder.read(beside, 2), strict=True))
    for text, numbers in alone.items():
        np.testing.assert_allclose(among[text], numbers, atol=1e-4)


def test_full_stops_within_a_sentence_are_not_read_and_nothing_is_not_nothing(encoder: SentenceEncoder) -> None:
    assert pieces_of("i sleep... badly") == pieces_of("i sleep badly")
    assert len(pieces_of("tired " * 500)) == LONGEST
    assert encoder.read([""], 0).shape == (1, 6)
