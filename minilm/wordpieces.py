"""The word pieces of a text and the vectors that the first layer reads."""

from __future__ import annotations

import re
from functools import cache

from tokenizers import Encoding, Tokenizer

from minilm.weights import Floats, model_folder, weights

_HALVES = re.compile("[\ud800-\udfff]")


def encode(text: str, beside: str | None = None, *, bare: bool = False) -> Encoding:
    """One text, or two side by side; `bare` is without the marks around them.

    Half of a surrogate pair is no character, and is read as the sign for that.
    """
    return tokenizer().encode(_whole(text), None if beside is None else _whole(beside), add_special_tokens=not bare)


def _whole(text: str) -> str:
    return _HALVES.sub("\ufffd", text)


@cache
def tokenizer() -> Tokenizer:
    found = Tokenizer.from_file(str(model_folder() / "tokenizer.json"))
    found.no_padding()
    found.no_truncation()
    return found


def vectors(pieces: list[int], segments: list[int]) -> Floats:
    """The sum of a piece's, its place's and its segment's vector."""
    words, places, sides = (
        weights()[f"embeddings.{kind}_embeddings.weight"] for kind in ("word", "position", "token_type")
    )
    total: Floats = words[pieces] + places[: len(pieces)] + sides[segments]
    return total
