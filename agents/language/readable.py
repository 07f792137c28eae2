"""Whether a text is English that the analyser can read at all."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from functools import cache
from importlib.resources import files

_WORDS = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_FEW_WORDS = 4
_KNOWN_SHARE = 0.2


def is_readable(text: str) -> bool:
    """Enough of it must be everyday English; a text of a few plain words need only not be foreign."""
    words = _WORDS.findall(unicodedata.normalize("NFKC", text).lower().replace("’", "'"))
    if not words:
        return any(char.isdigit() for char in text)
    everyday, small_words = _tables()["everyday"], _tables()["foreign"]
    unknown = [word for word in words if word not in everyday]
    known = len(words) - len(unknown)
    foreign = sum(word in small_words or not word.isascii() for word in unknown)
    if foreign > known:
        return False
    return known >= len(words) * _KNOWN_SHARE or len(words) < _FEW_WORDS


@cache
def _tables() -> dict[str, frozenset[str]]:
    data = tomllib.loads(files("agents.language").joinpath("readable.toml").read_text("utf-8"))
    return {name: frozenset(words.split()) for name, words in data.items()}
