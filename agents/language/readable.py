"""Whether a text is English that the analyser can read at all."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from functools import cache
from importlib.resources import files

_WORDS = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_SENTENCES = re.compile(r"[.!?;\n]+")
_BETWEEN_ENDS = re.compile(r"[^.!?;\n…。！？।۔]+")
_HELD = re.compile(r"(.)\1{2,}")
_LONGEST = 24
_FEW_WORDS = 4
_SHORT = 8
_KNOWN_SHARE = 0.2
_MOSTLY = 0.4
_RUN = 3  # everyday words in a row that nobody writes by accident in another language


def is_readable(text: str) -> bool:
    """Enough of it must be everyday English, and no sentence foreign; a few plain words need only not be foreign."""
    folded = _folded(text)
    words = _WORDS.findall(folded)
    if not words:
        return any(char.isdigit() for char in text)
    known, foreign = _counts(words)
    if foreign > known - _shared(words) or (known < len(words) * _KNOWN_SHARE and len(words) >= _FEW_WORDS):
        return False
    return not any(_is_foreign(sentence) for sentence in _SENTENCES.split(folded))


def _is_endless(word: str) -> bool:
    """Longer than any word: a sentence without spaces, or a hand on the keys. A letter that is held is but one."""
    return len(word) > _LONGEST and len(_HELD.sub(r"\1", word)) > _LONGEST


def readable_part(text: str) -> str:
    """The text with all that is not English blanked, so that each place stays what it was; nothing if none is.

    Sentence by sentence, and within a sentence of two languages by its runs of English words.
    """
    kept = _BETWEEN_ENDS.sub(lambda part: part[0] if _is_english(part[0]) else _english_runs(part[0]), text)
    if not is_readable(kept):
        kept = _BETWEEN_ENDS.sub(lambda part: part[0] if is_readable(part[0]) else " " * len(part[0]), kept)
    return kept if _counts(_WORDS.findall(_folded(kept)))[0] else ""


def _is_english(sentence: str) -> bool:
    """Beside another language, a sentence with a word of that kind must be mostly everyday English."""
    words = _WORDS.findall(_folded(sentence))
    known, foreign = _counts(words)
    if foreign:
        return foreign <= max(known, 1) and known >= len(words) * _MOSTLY
    return known > 0 or len(words) < _FEW_WORDS


def _english_runs(sentence: str) -> str:
    """The words between foreign ones, where most are everyday English; the rest is blanked."""
    chars = [" "] * len(sentence)
    run: list[re.Match[str]] = []
    for word in [*_WORDS.finditer(sentence), None]:
        if word is not None and not _counts([_folded(word[0])])[1]:
            run.append(word)
            continue
        known, _ = _counts([_folded(one[0]) for one in run])
        if known >= max(_RUN, len(run) / 2):
            start, end = run[0].start(), run[-1].end()
            chars[start:end] = sentence[start:end]
        run = []
    return "".join(chars)


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).lower().replace("’", "'")


def everyday_words() -> frozenset[str]:
    return _tables()["everyday"]


def _is_foreign(sentence: str) -> bool:
    words = _WORDS.findall(sentence)
    known, foreign = _counts(words)
    return foreign > max(known - _shared(words), 1)


def _shared(words: list[str]) -> int:
    """How many of a short sentence's English words are another language's too: in "me corto los brazos" the "me"."""
    return sum(word in _shared_words() for word in words) if len(words) < _SHORT else 0


def _counts(words: list[str]) -> tuple[int, int]:
    """How many of the words are everyday English, and how many are clearly not English."""
    everyday, small_words = _tables()["everyday"], _tables()["foreign"]
    unknown = [word for word in words if word not in everyday]
    foreign = (word in small_words or not word.isascii() or _is_endless(word) for word in unknown)
    return len(words) - len(unknown), sum(foreign)


@cache
def _shared_words() -> frozenset[str]:
    """English that is a small word of another language as well."""
    return _tables()["everyday"] & _tables()["foreign"]


@cache
def _tables() -> dict[str, frozenset[str]]:
    data = tomllib.loads(files("agents.language").joinpath("readable.toml").read_text("utf-8"))
    return {name: frozenset(words.split()) for name, words in data.items()}
