"""Quotes must be the speaker's own words: exact substrings, or nothing.

Models retype what they quote: straight quotes for curly ones, other case, other spacing. Such a quote is replaced by
the exact span of the original that it stands for; one that is not there under any of these foldings is dropped.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import cache

# A letter with its marks folds as one, composed or not. Hangul vowels and finals compose too, yet are no marks.
_MARKS = ("Mn", "Mc", "Me")
_ALIKE = str.maketrans(
    dict.fromkeys("‘’‚‛ʼ′´`", "'") | dict.fromkeys("“”„‟″«»", '"') | dict.fromkeys("‐‑‒–—―−", "-"),
)


def grounded_quotes(quotes: Iterable[str], *texts: str) -> tuple[str, ...]:
    """The quotes that are in one of the texts, as they stand there, each once, in the order given."""
    folding = cache(_Folded)  # most quotes are exact, so most texts are never folded, and none twice
    found = (_ground(quote, texts, folding) for quote in quotes)
    return tuple(dict.fromkeys(span for span in found if span is not None))


def fold(text: str) -> str:
    """What two spellings of the same words have in common."""
    return _Folded(text).folded.strip()


def _ground(quote: str, texts: tuple[str, ...], folding: Callable[[str], _Folded]) -> str | None:
    if not any(c.isalnum() for c in quote):  # a lone comma is in every text and evidence of nothing
        return None
    if any(quote in text for text in texts):
        return quote
    wanted = fold(quote)
    return next((span for text in texts if (span := folding(text).find(wanted))), None)


class _Folded:
    """A text, its folding, and where in the text each folded part came from."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts: list[int] = []  # in the folding
        self._origins: list[int] = []  # in the text
        parts: list[str] = []
        length = 0
        for origin, cluster in _clusters(text):
            part = _fold_cluster(cluster)
            self._starts.append(length)
            self._origins.append(origin)
            parts.append(part)
            length += len(part)
        self._origins.append(len(text))
        self.folded = "".join(parts)

    def find(self, wanted: str) -> str | None:
        """The span of whole clusters around the first occurrence: half of a ligature is given as the ligature."""
        at = self.folded.find(wanted) if wanted else -1
        if at < 0:
            return None
        first = bisect_right(self._starts, at) - 1
        last = bisect_right(self._starts, at + len(wanted) - 1) - 1
        return self._text[self._origins[first] : self._origins[last + 1]]


def _clusters(text: str) -> Iterator[tuple[int, str]]:
    """Runs of white space, and single characters with the marks that follow them."""
    start = 0
    for end in range(1, len(text) + 1):
        if end == len(text) or not _joins(text[end - 1], text[end]):
            yield start, text[start:end]
            start = end


def _joins(before: str, char: str) -> bool:
    if char.isspace():
        return before.isspace()
    return unicodedata.category(char) in _MARKS or "\u1160" <= char <= "\u11ff"


def _fold_cluster(cluster: str) -> str:
    if cluster.isspace():
        return " "
    for _ in range(2):  # normalising can make new look-alikes, casefolding can undo the normal form
        cluster = unicodedata.normalize("NFKC", cluster.translate(_ALIKE)).casefold()
    return unicodedata.normalize("NFKC", cluster)
