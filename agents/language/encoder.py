"""A small trained encoder that runs inside the process: two texts in, a few numbers out.

Its vectors are the embedded MiniLM's (`minilm/`); its layers stand in an ONNX file beside the module that uses
it, made by `python -m tools.train`.
"""

from __future__ import annotations

from functools import cached_property, lru_cache

import numpy as np
import onnxruntime

from agents.language.network import READER, session_of
from minilm import wordpieces

LONGEST = 160
"""Pieces: what the encoders were trained on."""
_REMEMBERED = 4096
_SEPARATORS = 3


def is_known_word(word: str) -> bool:
    """Whether the vocabulary has a word as one piece: it has the words of English, and no row of keys."""
    return wordpieces.tokenizer().token_to_id(word) is not None


class Encoder:
    def __init__(self, package: str, file: str = READER) -> None:
        self._package = package
        self._file = file
        self._remembered = lru_cache(_REMEMBERED)(self._read)

    @cached_property
    def _session(self) -> onnxruntime.InferenceSession:
        return session_of(self._package, self._file)

    def read(self, about: str, text: str) -> list[float]:
        """What the encoder makes of a text, as answer to what it is about. Asked again, it need not read again."""
        return list(self._remembered(about, text))

    def holds(self, about: str, text: str) -> bool:
        """Whether it reads all of a text; what goes beyond would be cut off unseen."""
        signs = len(about) + len(text) + _SEPARATORS  # a piece has at least one sign
        return signs <= LONGEST or len(wordpieces.encode(about, text).ids) <= LONGEST

    def forget(self) -> None:
        """So that what is read next is read in truth, and can be timed."""
        self._remembered.cache_clear()

    def _read(self, about: str, text: str) -> tuple[float, ...]:
        encoded = wordpieces.encode(about, text)
        vectors = wordpieces.vectors(encoded.ids[:LONGEST], encoded.type_ids[:LONGEST])[np.newaxis]
        (outputs,) = self._session.run(None, {"vectors": vectors})
        return tuple(float(value) for value in outputs[0])
