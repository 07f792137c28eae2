"""A reading: the text as it is meant to be read, with the way back to the original for every character."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from agents.language.spelling import MENDS, Changes, lexicon

_QUOTES = str.maketrans({"‘": "'", "’": "'", "‚": "'", "‛": "'", "ʼ": "'", "´": "'", "`": "'", "“": '"', "”": '"',
                         "„": '"', "«": '"', "»": '"', "–": "—", "―": "—", "−": "-", "‐": "-", "‑": "-", "…": ".",
                         "،": ",", "、": ",", "。": ".", "！": "!", "？": "?"})  # fmt: skip
_HIDDEN = re.compile(r"(?<=[^\W\d_])[\x00-\x08\x0e-\x1f\x7f-\x9f]+(?=[^\W\d_])")
_CONTROLS = {code: " " for code in (*range(0x20), *range(0x7F, 0xA0)) if code != 0x0A} | {
    0x0D: "\n",
    0x60: "'",
    ord("¦"): "|",
    ord("•"): "*",
}
_SPACES = re.compile(r"\s{2,}|[^\S ]")


@dataclass(frozen=True)
class Reading:
    """`starts` and `ends` give for each character of `text` where it comes from in `original`."""

    original: str
    text: str
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where a stretch of the reading stands in the original."""
        if start >= end:
            return (0, 0)
        return min(self.starts[start:end]), max(self.ends[start:end])

    def replaced(self, changes: Changes) -> Reading:
        """The same reading with some disjoint stretches, given in order, read as something else."""
        draft = object.__new__(_Draft)
        draft.text, draft.starts, draft.ends = self.text, list(self.starts), list(self.ends)
        draft.replace(changes)
        return Reading(self.original, draft.text, tuple(draft.starts), tuple(draft.ends))


class _Draft:
    """Text under normalisation: the characters, and where each comes from."""

    def __init__(self, original: str) -> None:
        if original.isascii():
            self.text = original.lower().translate(_CONTROLS)
            self.starts = list(range(len(original)))
        else:
            letters = [_plain(char) for char in original]
            self.text = "".join(letters)
            self.starts = [index for index, letter in enumerate(letters) for _ in letter]
        self.ends = [index + 1 for index in self.starts]

    def replace(self, changes: Changes) -> None:
        """Apply replacements of disjoint stretches, given in order."""
        text: list[str] = []
        starts: list[int] = []
        ends: list[int] = []
        at = 0
        for begin, end, new in changes:
            text += self.text[at:begin], new
            starts += self.starts[at:begin]
            starts += [self.starts[begin]] * len(new)
            ends += self.ends[at:begin]
            ends += [self.ends[end - 1]] * len(new)
            at = end
        self.text = "".join(text) + self.text[at:]
        self.starts = starts + self.starts[at:]
        self.ends = ends + self.ends[at:]


def read(text: str) -> Reading:
    """Fold case, width, quotes and invisible characters, then undo spelling tricks and shorthand."""
    draft = _Draft(text)
    draft.replace(_within_words(text, draft.starts))
    for mend in (*MENDS, _spaces):
        changes = mend(draft.text)
        if changes:
            draft.replace(changes)
    return Reading(text, draft.text, tuple(draft.starts), tuple(draft.ends))


def _within_words(text: str, starts: list[int]) -> Changes:
    """`ki\\x00ll` is one word: what nobody sees does not part the letters beside it."""
    return [(bisect_left(starts, start), bisect_left(starts, end), "") for start, end in hidden(text)]


def hidden(text: str) -> Iterator[tuple[int, int]]:
    """Where signs that nobody sees stand within a word."""
    return (match.span() for match in _HIDDEN.finditer(text))


def parted(text: str) -> str:
    """The text with a space for each sign that nobody sees within a word: they may stand between two words instead."""
    return _HIDDEN.sub(lambda match: " " * len(match[0]), text)


@lru_cache(maxsize=4096)
def _plain(char: str) -> str:
    """One character as it is read; nothing for one that is invisible or only struck over another."""
    if unicodedata.category(char) == "Cf" or "\u0300" <= char <= "\u036f" or "\ufe00" <= char <= "\ufe0f":
        return ""
    folded = unicodedata.normalize("NFKC", char).lower().replace("\u0307", "").translate(_QUOTES).translate(_CONTROLS)
    return lexicon().styled.get(folded, folded)


def _spaces(text: str) -> Changes:
    """One space between words; an empty line ends a sentence, a single line break does not."""
    return [(*match.span(), "\n" if match[0].count("\n") > 1 else " ") for match in _SPACES.finditer(text)]
