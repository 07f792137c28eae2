"""A small encoder of sentences that runs inside the process: a message in, a few numbers for every stretch of it out.

Each sentence is read once, by itself; a stretch of one, two or three in a row is what its sentences say together. So
what stands beside a stretch changes nothing in it, and the time grows with the length of the message. The network
stands in an ONNX file beside the module that uses it, made by `python -m tools.train`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property

import numpy as np
import numpy.typing as npt
import onnxruntime

from agents.language.network import session_of
from minilm import wordpieces

QUICK = "quick.onnx"
TOGETHER = 3
"""Sentences in the longest stretch."""
LONGEST = 96
"""Pieces of a sentence that are read."""
_WINDOW = 10  # sentences that are read at once: a longer message takes more calls, and no more memory
_FAR = np.float32(-1e4)  # how little pieces of one sentence see of another
_STOP, _UNKNOWN = 1012, 100  # of MiniLM's vocabulary: '.', and what stands for nothing known
Numbers = npt.NDArray[np.float32]


def stretches(count: int) -> list[tuple[int, int]]:
    """From and to of every stretch of so many sentences: each alone, then every two in a row, then every three."""
    return [(at, at + size) for size in range(1, TOGETHER + 1) for at in range(count - size + 1)]


def joined(sentences: Sequence[str]) -> list[str]:
    """Each of these stretches as one text."""
    return [". ".join(sentences[start:end]) for start, end in stretches(len(sentences))]


class SentenceEncoder:
    def __init__(self, package: str, file: str = QUICK) -> None:
        self._package = package
        self._file = file

    @cached_property
    def _session(self) -> onnxruntime.InferenceSession:
        return session_of(self._package, self._file)

    def read(self, sentences: Sequence[str], about: int) -> Numbers:
        """One row for each of `stretches(len(sentences))`, as answer to the question number `about`."""
        pieces = [pieces_of(sentence) for sentence in sentences]
        step = _WINDOW - TOGETHER + 1
        windows = [pieces[at : at + _WINDOW] for at in range(0, max(len(pieces) - TOGETHER + 1, 1), step)]
        return _together([self._read(window, about) for window in windows], [len(window) for window in windows])

    def _read(self, pieces: list[list[int]], about: int) -> Numbers:
        """The sentences stand in one row, so that none is filled up to the length of another."""
        row = np.array([[piece for one in pieces for piece in one]], np.int32)
        lengths = [len(one) for one in pieces]
        owners = np.repeat(np.arange(len(pieces)), lengths)
        ends = np.cumsum(lengths)
        starts = ends - lengths
        members, belongs = _members(len(pieces))
        shares = belongs[:, owners]
        inputs = {
            "pieces": row,
            "about": np.full_like(row, about),
            "places": (np.arange(row.size, dtype=np.int32) - starts[owners].astype(np.int32))[None],
            "apart": np.where(owners[:, None] == owners, np.float32(0), _FAR)[None, None],
            "rows": np.minimum(starts[:, None] + np.arange(max(lengths)), ends[:, None] - 1),
            "members": members,
            "shares": shares / shares.sum(1, keepdims=True),
        }
        found: Numbers = self._session.run(None, inputs)[0]
        return found


@cache
def _members(count: int) -> tuple[npt.NDArray[np.int64], Numbers]:
    """The sentences of each stretch: their numbers, the last one over again in a shorter one, and as a table."""
    members = np.array([[min(at, end - 1) for at in range(start, start + TOGETHER)] for start, end in stretches(count)])
    belongs = np.zeros((len(members), count), np.float32)
    np.put_along_axis(belongs, members, 1, 1)
    return members, belongs


def pieces_of(sentence: str) -> list[int]:
    """Without full stops: those within a sentence say nothing, and none ends it."""
    found = [piece for piece in wordpieces.encode(sentence, bare=True).ids if piece != _STOP]
    return found[:LONGEST] or [_UNKNOWN]


def _together(windows: list[Numbers], counts: list[int]) -> Numbers:
    """In the order of `stretches` of the whole: what a window shares with the one before it is left out."""
    if len(windows) == 1:
        return windows[0]
    by_size: list[list[Numbers]] = [[] for _ in range(TOGETHER)]
    for number, (window, count) in enumerate(zip(windows, counts, strict=True)):
        at = 0
        for size in range(TOGETHER):
            shared = TOGETHER - 1 - size if number else 0
            by_size[size].append(window[at + shared : at + count - size])
            at += max(count - size, 0)
    return np.concatenate([rows for of_size in by_size for rows in of_size])
