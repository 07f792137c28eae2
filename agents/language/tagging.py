"""Words by class: the first step of reading how often. The classes and their words are in `frequency.toml`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import product
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Grade = Literal["count", "anchor", "word", "rough", "vague"]
"""How exactly something is said: a number, the scale's own words, clear words, a rough number, or hardly at all."""

_TOKEN = re.compile(r"\d+(?:st|nd|rd|th)\b|\d+(?:\.\d+)?|[^\W\d_]+(?:'[^\W\d_]+)*|[^\w\s]")
_CHOICE = re.compile(r"\(([^()]*)\)(\??)")
_FIRST_YEAR = 1900
_FILES = ("frequency.toml", "frequency_rules.toml")


class Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class Said(Strict):
    """Words that name a frequency by themselves."""

    days: float
    grade: Grade
    tag: str = Field("SAID", alias="class")
    words: tuple[str, ...]


class Rule(Strict):
    name: str
    needs: str
    pattern: str
    how: str
    days: float | None = None
    grade: Grade | None = None
    form: str = "count"
    unit: Literal["day", "time"] = "day"


class Grammar(Strict):
    values: dict[str, dict[str, float]]
    classes: dict[str, tuple[str, ...]]
    said: tuple[Said, ...]
    macros: dict[str, str]
    rules: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class Token:
    text: str
    tag: str
    start: int
    end: int
    value: float | None = None
    said: Said | None = None


@dataclass(frozen=True, slots=True)
class _Entry:
    rest: tuple[str, ...]
    tag: str
    value: float | None
    said: Said | None


@cache
def grammar() -> Grammar:
    """The words and the rules, which are two files only because they are long."""
    folder = files("agents.language")
    tables = [tomllib.loads(folder.joinpath(name).read_text("utf-8")) for name in _FILES]
    return Grammar.model_validate({name: value for table in tables for name, value in table.items()})


def tagged(text: str) -> list[Token]:
    """The words, numbers and signs of a reading's text; several words that belong together are one token."""
    found = [(match[0], match.start(), match.end()) for match in _TOKEN.finditer(text)]
    words = [word for word, _, _ in found]
    entries = _entries()
    tokens: list[Token] = []
    at = 0
    while at < len(words):
        entry = _longest(entries.get(words[at]), words, at)
        end = at + 1 + (len(entry.rest) if entry else 0)
        tokens.append(_token(text, found[at][1], found[end - 1][2], entry))
        at = end
    return _joined_numbers(tokens)


def may_only_count(text: str) -> bool:
    """Whether no word is one that no entry has: a quick look, before all of a text is tagged."""
    return all(word in _entry_words() or not word[0].isalpha() for word in _TOKEN.findall(text))


@cache
def _entry_words() -> frozenset[str]:
    return frozenset(word for first, entries in _entries().items() for e in entries for word in (first, *e.rest))


def _longest(entries: list[_Entry] | None, words: list[str], at: int) -> _Entry | None:
    if entries is None:
        return None
    following = words[at + 1] if at + 1 < len(words) else ""
    for entry in entries:
        rest = entry.rest
        if not rest or (rest[0] == following and tuple(words[at + 1 : at + 1 + len(rest)]) == rest):
            return entry
    return None


def _token(text: str, start: int, end: int, entry: _Entry | None) -> Token:
    word = text[start:end]
    if entry:
        return Token(word, entry.tag, start, end, entry.value, entry.said)
    if word[0].isdigit():
        return _number(word, start, end)
    return Token(word, "WORD" if word[0].isalpha() else "SIGN", start, end)


def _number(word: str, start: int, end: int) -> Token:
    if not word.isdecimal():
        ordinal = word[:-2]
        tag = "ORDINAL" if ordinal.isdecimal() else "WORD"
        return Token(word, tag, start, end, float(ordinal[:6]) if tag == "ORDINAL" else None)
    value = float(word[:6])
    return Token(word, "WORD" if value >= _FIRST_YEAR else "NUM", start, end, value)


def _joined_numbers(tokens: list[Token]) -> list[Token]:
    """'twenty-five' and 'twenty five' are one number."""
    joined: list[Token] = []
    for token in tokens:
        tens = _tens_before(joined, token)
        if tens:
            head = joined[-tens]
            del joined[-tens:]
            total = (head.value or 0) + (token.value or 0)
            token = Token(head.text + token.text, "NUM", head.start, token.end, total)
        joined.append(token)
    return joined


def _tens_before(joined: list[Token], token: Token) -> int:
    """How many tokens before this one belong to the same number."""
    if token.tag != "NUM" or not token.text.isalpha() or not 0 < (token.value or 0) < 10:
        return 0
    dashes = 1 if joined and joined[-1].tag == "DASH" else 0
    if len(joined) <= dashes:
        return 0
    head = joined[-1 - dashes]
    is_tens = head.tag == "NUM" and head.text.isalpha() and 20 <= (head.value or 0) <= 90
    return 1 + dashes if is_tens else 0


@cache
def _entries() -> dict[str, list[_Entry]]:
    """By first word, the longest first; of two classes with the same words, the one listed first counts."""
    table: dict[tuple[str, ...], _Entry] = {}
    for words, entry in _listed():
        table.setdefault(words, entry)
    by_first: dict[str, list[_Entry]] = {}
    for words, entry in sorted(table.items(), key=lambda item: -len(item[0])):
        by_first.setdefault(words[0], []).append(entry)
    return by_first


def _listed() -> Iterator[tuple[tuple[str, ...], _Entry]]:
    rules = grammar()
    for tag, values in rules.values.items():
        for phrase, value in values.items():
            yield from _spelled(phrase, tag, value, None)
    for said in rules.said:
        for phrase in said.words:
            yield from _spelled(phrase, said.tag, None, said)
    for tag, phrases in rules.classes.items():
        for phrase in phrases:
            yield from _spelled(phrase, tag, None, None)


def _spelled(phrase: str, tag: str, value: float | None, said: Said | None) -> Iterator[tuple[tuple[str, ...], _Entry]]:
    for spelling in spellings(phrase):
        words = tuple(spelling.split())
        yield words, _Entry(words[1:], tag, value, said)


def spellings(phrase: str) -> Iterable[str]:
    """Everything that a phrase with `(a|b)` and `(a|b)?` stands for."""
    return (" ".join("".join(chosen).split()) for chosen in product(*_options(phrase)))


def words_of(phrase: str) -> set[str]:
    """Every word in any spelling of a phrase. Not every spelling is made for that: there may be millions."""
    whole: set[str] = set()
    begun = {""}
    for options in _options(phrase):
        grown = [(start + option).split(" ") for start in begun for option in options]
        whole.update(word for *finished, _ in grown for word in finished)
        begun = {words[-1] for words in grown}
    return (whole | begun) - {""}


def _options(phrase: str) -> list[list[str]]:
    """What may stand at each place of a phrase, one after the other."""
    parts = _CHOICE.split(phrase)
    return [
        [*parts[at].split("|"), *([""] if parts[at + 1] else [])] if at % 3 == 1 else [parts[at]]
        for at in range(len(parts))
        if at % 3 != 2
    ]


def vocabulary() -> frozenset[str]:
    """Every single word that the tables know."""
    return frozenset(word for first, entries in _entries().items() for e in entries for word in (first, *e.rest))
