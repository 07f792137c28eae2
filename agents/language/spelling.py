"""How disguised, shortened and misspelt words are mended. Each mend gives the stretches to replace, in order."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import groupby

from pydantic import BaseModel, ConfigDict

from agents.language.markup import tags
from agents.language.readable import everyday_words

Changes = list[tuple[int, int, str]]

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_SPACED = re.compile(r"(?<![a-z0-9'])[a-z](?:[ .\-_*·/|]{1,4}[a-z]){2,}(?![a-z0-9'])")
_GAP = re.compile(r"[ .\-_*·/|]{2,4}")
_MASKED = re.compile(r"(?<!\w)\*{0,2}[a-z]+(?:\*+[a-z]*)+(?!\w)")
_CHUNK = re.compile(r"[^\s\"(),;:?.]+")
_HOUR = re.compile(r"\d{1,2}[ap]m")
_STUCK = re.compile(r"(?<=[a-z][a-z])(?:\.|[!?]+)(?=([a-z]+(?:'[a-z]+)?)(?![\w@/]))")
_ADDRESS = re.compile(r"@|://|www\.|\.(?:com|org|net|edu|gov|io)\b")
_AROUND = 40  # characters on each side of a full stop within which an address shows
_REPEAT = re.compile(r"([a-z])\1{2,}")
_RUN_TOGETHER = re.compile(
    r"(?<!\w)[a-z]*(?:kill|myself|suicide|mylife|todie|selfharm|goingto|gonna|wannadie|tonight|jump|endit)[a-z]*(?!\w)"
)
_GLUED = re.compile(r"(?<=\w)[\u2600-\u27bf\U0001f300-\U0001faff]+(?!\w)")
_KMS = re.compile(r"(?<![\w.])kms(?!\w)")
_MAX_LEET = 14
_LEAST_LETTERED = 3
_MAX_WORD = 10
_BESIDE_DISTANCE = 24  # characters before and after `kms`


class _Kms(BaseModel):
    """What tells a distance from a shorthand: expressions right before and right after it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    distance_before: tuple[str, ...]
    distance_after: tuple[str, ...]
    resolve_before: tuple[str, ...]


class _Tables(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    vocabulary: str
    small: str
    abbreviations: str
    objects: str
    guessable: str
    not_guesses: tuple[str, ...]
    leet: dict[str, str]
    styled: dict[str, str]
    look_alikes: dict[str, str]
    shorthand: dict[str, str]
    phrases: dict[str, str]
    kms: _Kms


@dataclass(frozen=True)
class Lexicon:
    vocabulary: frozenset[str]
    joining: frozenset[str]
    abbreviations: frozenset[str]
    objects: frozenset[str]
    mends: dict[str, str]
    collapsed: dict[str, str]
    leet: dict[str, str]
    leet_signs: re.Pattern[str]
    styled: dict[str, str]
    look_alikes: dict[str, str]
    phrases: dict[str, str]
    phrase: re.Pattern[str]
    distance_before: re.Pattern[str]
    distance_after: re.Pattern[str]
    resolve_before: re.Pattern[str]


def _markup(text: str) -> Changes:
    """`ki<b></b>ll` is one word, and what a tag's settings say is not said by anybody."""
    return list(tags(text))


def _look_alikes(text: str) -> Changes:
    """Letters of another alphabet in a word that also has ours."""
    if text.isascii():
        return []
    table = lexicon().look_alikes
    changes: Changes = []
    for match in _WORD.finditer(text):
        word = match[0]
        if not word.isascii() and any(c in table for c in word) and any("a" <= c <= "z" for c in word):
            changes.append((*match.span(), "".join(table.get(c, c) for c in word)))
    return changes


def _stuck_ends(text: str) -> Changes:
    """`nobody did.you were`: a sentence ends there, where an everyday word goes on; `kill.myself` is a disguise."""
    changes: Changes = []
    for match in _STUCK.finditer(text):
        if match[1] in everyday_words() and not _is_within_name(text, *match.span()):
            changes.append((*match.span(), " " if match[1] in lexicon().objects else f"{match[0]} "))
    return changes


def _is_within_name(text: str, start: int, end: int) -> bool:
    """`dr.who`, `someone@about.me`."""
    before = re.split(r"\s", text[max(0, start - _AROUND) : start])[-1]
    after = re.split(r"\s", text[end : end + _AROUND], maxsplit=1)[0]
    return before in lexicon().abbreviations or _ADDRESS.search(before + text[start:end] + after) is not None


def _spaced_letters(text: str) -> Changes:
    """`k i l l  m y s e l f` and `s.u.i.c.i.d.e`: letters apart that make words of the vocabulary together.

    A wider gap may stand between words, of which some need not be of the vocabulary then.
    """
    changes: Changes = []
    for match in _SPACED.finditer(text):
        words = _segmented(_letters(match[0])) or _parted_by_gaps(match[0])
        if words and any(word in lexicon().vocabulary for word in words):
            changes.append((*match.span(), " ".join(words)))
    return changes


def _letters(text: str) -> str:
    return "".join(c for c in text if c.isalpha())


def _parted_by_gaps(text: str) -> list[str] | None:
    groups = [_letters(group) for group in _GAP.split(text)]
    return groups if len(groups) > 1 else None


def _run_together(text: str) -> Changes:
    """`killmyself`, `#iwanttodie`."""
    changes: Changes = []
    for match in _RUN_TOGETHER.finditer(text):
        words = _segmented(match[0]) if match[0] not in lexicon().vocabulary else None
        if words and len(words) > 1:
            changes.append((*match.span(), " ".join(words)))
    return changes


def _segmented(letters: str) -> list[str] | None:
    """The letters as words of the vocabulary, the longest that fit."""
    known = lexicon().joining
    begins: list[int | None] = [0] + [None] * len(letters)  # of the word that ends at each place
    for end in range(1, len(letters) + 1):
        for begin in range(max(0, end - _MAX_WORD), end):
            if begins[begin] is not None and letters[begin:end] in known:
                begins[end] = begin
                break
    return _traced(letters, begins) or None


def _traced(letters: str, begins: list[int | None]) -> list[str]:
    """The words from the last to the first, turned round; none where the letters do not end with one."""
    words: list[str] = []
    end = len(letters)
    while end:
        begin = begins[end]
        if begin is None:
            return []
        words.append(letters[begin:end])
        end = begin
    return words[::-1]


def _masked(text: str) -> Changes:
    """`k*ll`, `s**cide`: a starred word that can only be one of the vocabulary."""
    if "*" not in text:
        return []
    changes: Changes = []
    for match in _MASKED.finditer(text):
        word = _unmasked(match[0])
        if word:
            changes.append((*match.span(), word))
    return changes


@cache
def _unmasked(starred: str) -> str | None:
    if sum(c.isalpha() for c in starred) < 2 or len(starred) > _MAX_LEET:
        return None
    shape = re.compile(re.sub(r"(?:\\\*)+", lambda m: f".{{1,{m[0].count('*') + 1}}}", re.escape(starred)))
    fitting = [word for word in lexicon().vocabulary if shape.fullmatch(word)]
    return min(fitting, key=lambda word: (abs(len(word) - len(starred)), word), default=None)


def _leet(text: str) -> Changes:
    changes: Changes = []
    if not lexicon().leet_signs.search(text):
        return changes
    for match in _CHUNK.finditer(text):
        chunk = match[0]
        if not lexicon().leet_signs.search(chunk) or not any(c.isalpha() for c in chunk):
            continue
        if chunk.rstrip("!") in everyday_words() or _HOUR.fullmatch(chunk):  # "it felt real!" is no "reall"
            continue
        for candidate in (chunk, chunk.rstrip("!*'")):
            if mended := _unleet(candidate):
                changes.append((match.start(), match.start() + len(candidate), mended))
                break
    return changes


def _unleet(word: str) -> str | None:
    if len(word) > _MAX_LEET:
        return None
    spellings = [""]
    for char in word:
        options = lexicon().leet.get(char, char)
        spellings = [s + o for s in spellings for o in options][:64]
    known = lexicon()
    may_be_any = _is_lettered(word)
    return next(
        (
            s
            for s in spellings
            if s != word and (s in known.joining or s in known.mends or (may_be_any and s in everyday_words()))
        ),
        None,
    )


def _is_lettered(word: str) -> bool:
    """More letters than digits, so that 'n0pe' may be a word and '50s', '4am' and 'b12' may not."""
    digits = sum(c.isdigit() for c in word)
    return len(word) >= _LEAST_LETTERED and 0 < digits < sum(c.isalpha() for c in word)


def _repeats(text: str) -> Changes:
    changes: Changes = []
    if not _REPEAT.search(text):
        return changes
    for match in _WORD.finditer(text):
        if _REPEAT.search(match[0]):
            mended = lexicon().collapsed.get(_collapse(match[0]))
            changes.append((*match.span(), mended or _REPEAT.sub(r"\1", match[0])))
    return changes


def _collapse(word: str) -> str:
    return "".join(letter for letter, _ in groupby(word))


def _distances(text: str) -> Changes:
    """`kms` is a shorthand, unless it is a distance: ran 5 kms, walked kms and kms along the beach."""
    return [(*match.span(), "kill myself") for match in _KMS.finditer(text) if not _is_distance(text, *match.span())]


def _is_distance(text: str, start: int, end: int) -> bool:
    before, after = text[max(0, start - _BESIDE_DISTANCE) : start], text[end : end + _BESIDE_DISTANCE]
    if lexicon().distance_before.search(before):
        return True
    return lexicon().distance_after.match(after) is not None and lexicon().resolve_before.search(before) is None


def _words(text: str) -> Changes:
    mends = lexicon().mends
    return [(*match.span(), mends[match[0]]) for match in _WORD.finditer(text) if match[0] in mends]


def _two_for_to(text: str) -> Changes:
    """`want 2 die`, `going 2 jump`."""
    return [(*match.span(2), "to") for match in _WANTS_TWO.finditer(text)]


_WANTS_TWO = re.compile(r"\b(want|wants|going|need|have|ready|about|wanted|planning|trying)\s+(2)(?=\s[a-z])")


def _phrases(text: str) -> Changes:
    found = lexicon().phrase.finditer(text)
    return [(*match.span(), lexicon().phrases[" ".join(match[0].split())]) for match in found]


def _glued_emoji(text: str) -> Changes:
    """A face at a word's end is no part of the word."""
    return [] if text.isascii() else [(*match.span(), f" {match[0]}") for match in _GLUED.finditer(text)]


MENDS: tuple[Callable[[str], Changes], ...] = (
    _markup,
    _glued_emoji,
    _look_alikes,
    _stuck_ends,
    _spaced_letters,
    _masked,
    _leet,
    _repeats,
    _run_together,
    _distances,
    _words,
    _two_for_to,
    _phrases,
)


@cache
def lexicon() -> Lexicon:
    tables = _Tables.model_validate(tomllib.loads(files("agents.language").joinpath("reading.toml").read_text("utf-8")))
    vocabulary = frozenset(tables.vocabulary.split())
    refused = vocabulary | set(tables.not_guesses) | set(tables.guessable.split())
    guesses = {slip: word for word in tables.guessable.split() for slip in _slips(word) if slip not in refused}
    return Lexicon(
        vocabulary=vocabulary,
        joining=vocabulary | frozenset(tables.small.split()),
        abbreviations=frozenset(tables.abbreviations.split()),
        objects=frozenset(tables.objects.split()),
        mends=guesses | tables.shorthand,
        collapsed={_collapse(word): word for word in sorted(vocabulary)},
        leet=tables.leet,
        leet_signs=re.compile("[" + re.escape("".join(tables.leet)) + "]"),
        styled=tables.styled,
        look_alikes=tables.look_alikes,
        phrases=tables.phrases,
        phrase=re.compile(r"\b(?:" + "|".join(map(_spaced, tables.phrases)) + r")\b"),
        distance_before=re.compile(rf"(?:\d|\b(?:{'|'.join(tables.kms.distance_before)}))\s*$"),
        distance_after=re.compile(rf"\s*(?:{'|'.join(tables.kms.distance_after)})\b"),
        resolve_before=re.compile(rf"\b(?:{'|'.join(tables.kms.resolve_before)})\s*$"),
    )


def _spaced(phrase: str) -> str:
    return r"\s+".join(map(re.escape, phrase.split()))


def _slips(word: str) -> set[str]:
    """A letter lost, doubled or swapped with its neighbour, the first letter excepted."""
    lost = {word[:i] + word[i + 1 :] for i in range(1, len(word))}
    doubled = {word[:i] + word[i] + word[i:] for i in range(len(word))}
    swapped = {word[:i] + word[i + 1] + word[i] + word[i + 2 :] for i in range(1, len(word) - 1)}
    return (lost | doubled | swapped) - {word}
