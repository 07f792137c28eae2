"""Many more texts like some given ones, for a pupil to learn from: what they mean, its teacher says.

A text goes over into another where both have the same two words; words are put in the place of others that stand
between the same neighbours, or have a vector like theirs; some are left out. Many make little sense, and that is no
harm: what is learned is to hear in them what the teacher hears.
"""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import islice, pairwise

import numpy as np

from minilm import wordpieces
from minilm.weights import weights

Told = tuple[int, str]
"""The number of the item, and a text."""

_WORD = re.compile(r"[a-z0-9']+|[^a-z0-9'\s]+")
_BEFORE_SIGN = re.compile(r"\s+([,;:.!?…])")
_SIGNS = re.compile(r"[.,!?;:]")
_NEIGHBOURS, _LIKE, _LONGEST = 60, 12, 90
_ITEMS = 24


class Variants:
    """Makes variants of `told`; `others` lend their words."""

    def __init__(self, told: Sequence[Told], others: Sequence[Told], seed: int) -> None:
        self._chance = random.Random(seed)
        self._told = [(item, _words(text)) for item, text in told]
        self._all = [*self._told, *((item, _words(text)) for item, text in others)]
        self._between = _between(self._all)
        self._like = _like(self._all)
        self._meeting: defaultdict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
        for number, (_, words) in enumerate(self._told):
            for at, pair in islice(enumerate(pairwise(words), start=1), max(len(words) - 2, 0)):
                self._meeting[pair].append((number, at))

    def make(self) -> Told | None:
        """One more, or none if this try led to nothing."""
        made = self._made()
        if made is None:
            return None
        item, words = made
        if self._is_drawn(0.08):
            item = self._chance.randrange(_ITEMS)
        text = _BEFORE_SIGN.sub(r"\1", " ".join(words))
        if self._is_drawn(0.1):
            text = text.replace("'", "")
        return item, _SIGNS.sub("", text) if self._is_drawn(0.1) else text

    def _made(self) -> tuple[int, list[str]] | None:
        draw = self._chance.random()
        number = self._chance.randrange(len(self._told))
        item, words = self._told[number]
        if draw < 0.5:
            crossed = self._crossed(number)
            if crossed is None or not self._is_drawn(0.25):
                return crossed
            return crossed[0], self._replaced(crossed[1], 0.15)
        if draw < 0.88:
            return item, self._replaced(words, self._chance.choice((0.12, 0.2, 0.35)))
        if draw < 0.94:
            return item, self._shortened(words)
        item, words = self._chance.choice(self._all)
        return item, self._replaced(words, 0.25)

    def _crossed(self, number: int) -> tuple[int, list[str]] | None:
        item, words = self._told[number]
        if len(words) < 5:
            return None
        at = self._chance.randrange(1, len(words) - 1)
        other, place = self._chance.choice(self._meeting[words[at - 1], words[at]])
        if other == number:
            return None
        other_item, other_words = self._told[other]
        both = words[: at + 1] + other_words[place + 1 :]
        return (item if self._is_drawn(0.7) else other_item), both[:_LONGEST]

    def _replaced(self, words: list[str], share: float) -> list[str]:
        around = ["", *words, ""]
        found = []
        for before, word, after in zip(around, words, around[2:], strict=False):
            between = self._between.get((before, after), [])
            if not word[0].isalpha() or not self._is_drawn(share):
                found.append(word)
            elif between and self._is_drawn(0.65):
                found.append(self._chance.choice(between))
            else:
                found.append(self._chance.choice(self._like.get(word, [word])))
        return found

    def _shortened(self, words: list[str]) -> list[str]:
        left = list(words)
        for _ in range(self._chance.choice((1, 1, 2))):
            if len(left) > 3:
                del left[self._chance.randrange(len(left))]
        return left

    def _is_drawn(self, share: float) -> bool:
        return self._chance.random() < share


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _between(texts: Sequence[tuple[int, list[str]]]) -> dict[tuple[str, str], list[str]]:
    """By the words before and after: what stands between them."""
    counts: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for _, words in texts:
        around = ["", *words, ""]
        for before, word, after in zip(around, words, around[2:], strict=False):
            counts[before, after][word] += 1
    return {place: [word for word, _ in c.most_common(_NEIGHBOURS)] for place, c in counts.items() if len(c) > 1}


def _like(texts: Sequence[tuple[int, list[str]]]) -> dict[str, list[str]]:
    """By a word: those whose vectors are most like its own."""
    often = Counter(word for _, words in texts for word in words)
    pieces = {word: wordpieces.tokenizer().token_to_id(word) for word, times in often.items() if times > 1}
    known = {word: piece for word, piece in pieces.items() if piece is not None}
    table = weights()["embeddings.word_embeddings.weight"][list(known.values())]
    table = table - table.mean(0)
    table /= np.linalg.norm(table, axis=1, keepdims=True)
    words = list(known)
    most = min(_LIKE, len(words) - 1)
    nearest = np.argpartition(-(table @ table.T), most, axis=1)[:, : most + 1]
    return {word: [words[n] for n in nearest[at] if n != at] for at, word in enumerate(words)}
