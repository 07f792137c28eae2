"""Whether a text is English that the analyser can read at all."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from functools import cache
from importlib.resources import files

_WORDS = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_SENTENCES = re.compile(r"[.!?;\n]+")
_FEW_WORDS = 4
_KNOWN_SHARE = 0.2


def is_readable(text: str) -> bool:
    """Enough of it must be everyday English, and no sentence foreign; a few plain words need only not be foreign."""
    folded = unicodedata.normalize("NFKC", text).lower().replace("’", "'")
    words = _WORDS.findall(folded)
    if not words:
        return any(char.isdigit() for char in text)
    known, foreign = _counts(words)
    if foreign > known or (known < len(words) * _KNOWN_SHARE and len(words) >= _FEW_WORDS):
        return False
    return not any(_is_foreign(sentence) for sentence in _SENTENCES.split(folded))


def everyday_words() -> frozenset[str]:
    return _tables()["everyday"]


def _is_foreign(sentence: str) -> bool:
    known, foreign = _counts(_WORDS.findall(sentence))
    return foreign > max(known, 1)


def _counts(words: list[str]) -> tuple[int, int]:
    """How many of the words are everyday English, and how many are clearly not English."""
    everyday, small_words = _tables()["everyday"], _tables()["foreign"]
    unknown = [word for word in words if word not in everyday]
    return len(words) - len(unknown), sum(word in small_words or not word.isascii() for word in unknown)


@cache
def _tables() -> dict[str, frozenset[str]]:
    data = tomllib.loads(files("agents.language").joinpath("readable.toml").read_text("utf-8"))
    return {name: frozenset(words.split()) for name, words in data.items()}
