"""Core sentences of danger in other languages. They are matched as they stand.

A plain denial of one is none, nor is one that somebody else has said, nor one that is covered by an idiom or by panic.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from pydantic import BaseModel, ConfigDict

from agents.risk.tables import Concern, load_table

_BESIDE = 14  # characters before and after, in which a denial may stand
_CLAUSE_END = re.compile(r"[.,;:!?\n।۔،]")
_SENTENCE_END = re.compile(r"[.!?\n।۔؟]")
_TOLD_WITHIN = 60  # characters before and after, in which it is told who has said it
_DOT = re.compile(r"(?<!\\)\.")  # of an expression
_MASK = "•"
_SIGNS = r"[\s,:;\"'—「『」』-]"


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    keys: tuple[str, ...]
    suicide: tuple[str, ...]
    violence: tuple[str, ...]
    wish: tuple[str, ...]
    not_before: tuple[str, ...] = ()
    between: tuple[str, ...] = ()
    not_inside: tuple[str, ...] = ()
    not_after: tuple[str, ...] = ()
    told_before: tuple[str, ...] = ()
    told_after: tuple[str, ...] = ()
    link: tuple[str, ...] = ()
    unmeant: tuple[str, ...] = ()


class _Quoting(BaseModel):
    """How another language is quoted in English."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    told_before: tuple[str, ...]
    told_after: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Language:
    """What means danger in another language; `keys` are letters without which no pattern can match."""

    name: str
    keys: tuple[str, ...]
    suicide: re.Pattern[str]
    violence: re.Pattern[str]
    wish: re.Pattern[str]
    not_before: re.Pattern[str]
    not_inside: re.Pattern[str]
    not_after: re.Pattern[str]
    told_before: re.Pattern[str]
    told_after: re.Pattern[str]
    unmeant: re.Pattern[str]

    def danger(self, text: str) -> tuple[Concern, re.Match[str]] | None:
        """The first sentence of danger in a text without accents."""
        said = self._covered(text)
        for match in self._meant(self.suicide, said):
            return "suicide", match
        for match in self._meant(self.violence, said):
            return "violence", match
        return None

    def wished(self, text: str) -> re.Match[str] | None:
        """The first wish to die."""
        return next(self._meant(self.wish, self._covered(text)), None)

    def _covered(self, text: str) -> str:
        return self.unmeant.sub(lambda match: _MASK * len(match[0]), text)

    def named(self, text: str) -> Iterator[tuple[int, int]]:
        """Where such sentences stand, whether they are meant or not."""
        for pattern in (self.suicide, self.violence, self.wish):
            yield from (match.span() for match in pattern.finditer(text))

    def _meant(self, pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
        at = 0
        while match := pattern.search(text, at):
            at = match.start() + 1  # a denied sentence may reach into one that is meant
            if not self._is_denied(text, match) and not self._is_told(text, match):
                yield match

    def _is_denied(self, text: str, match: re.Match[str]) -> bool:
        before = _CLAUSE_END.split(text[max(0, match.start() - _BESIDE) : match.start()])[-1]
        after = _CLAUSE_END.split(text[match.end() : match.end() + _BESIDE])[0]
        inside = match.re is not self.wish and self.not_inside.search(match[0])  # "not to live" is a wish with its not
        return bool(self.not_before.search(before) or inside or self.not_after.match(after))

    def _is_told(self, text: str, match: re.Match[str]) -> bool:
        """Whether right before or after it stands that somebody else has said so."""
        before = _SENTENCE_END.split(text[max(0, match.start() - _TOLD_WITHIN) : match.start()])[-1]
        after = text[match.end() : match.end() + _TOLD_WITHIN]
        return bool(self.told_before.search(before) or self.told_after.match(after))


def named_danger(text: str) -> dict[Language, list[tuple[int, int]]]:
    """Where a text without accents has sentences of danger in other languages, whether they are meant or not."""
    possible = {language for key, of in _keys(only_ascii=text.isascii()) if key in text for language in of}
    found = {language: list(language.named(text)) for language in languages() if language in possible}
    return {language: places for language, places in found.items() if places}


@cache
def _keys(*, only_ascii: bool) -> tuple[tuple[str, tuple[Language, ...]], ...]:
    keys = dict.fromkeys(key for one in languages() for key in one.keys if key.isascii() or not only_ascii)
    return tuple((key, tuple(one for one in languages() if key in one.keys)) for key in keys)


@cache
def languages() -> tuple[Language, ...]:
    table = load_table("languages.toml")
    quoting = _Quoting.model_validate(table["quoting"])
    return tuple(_language(_Data.model_validate(entry), quoting) for entry in table["languages"])


def _language(data: _Data, quoting: _Quoting) -> Language:
    """A word that denies stands right before, with a small word `between` at most; anywhere inside; or comes next.

    No other word may stand between: "no aguanto quiero matarme" is two sentences, and the second is meant.
    """
    small = "|".join(data.between)
    between = rf"(?:(?:{small})\s+)?" if small else ""
    link = rf"(?:(?:{'|'.join(data.link)}){_SIGNS}*)*" if data.link else ""
    return Language(
        name=data.name,
        keys=tuple(map(unaccented, data.keys)),
        suicide=_any_of(data.suicide),
        violence=_any_of(data.violence),
        wish=_any_of(data.wish),
        not_before=_any_of(data.not_before, rf"(?<!\w)(?:{{}})(?!\w)\s*{between}$"),
        not_inside=_any_of(data.not_inside),
        not_after=_any_of(data.not_after, r".{{0,6}}?(?:{})"),
        told_before=_any_of((*data.told_before, *quoting.told_before), f"(?:{{}}){_SIGNS}*{_in_braces(link)}$"),
        told_after=_any_of((*data.told_after, *quoting.told_after), f"{_SIGNS}*(?:{{}})"),
        unmeant=_any_of(data.unmeant),
    )


def _any_of(expressions: tuple[str, ...], within: str = "{}") -> re.Pattern[str]:
    """Nothing at all for no expressions. A dot is any sign but one that ends a sentence."""
    either = "|".join(f"(?:{expression})" for expression in expressions)
    return re.compile(_DOT.sub(r"[^.!?\\n।۔]", unaccented(within.format(either))) if either else r"(?!)")


def _in_braces(expression: str) -> str:
    return expression.replace("{", "{{").replace("}", "}}")


def unaccented(text: str) -> str:
    """Latin letters without accents, as many as before: 'zabiję się' and 'zabije sie' are the same to the tables."""
    return text if text.isascii() else text.translate(_accents())


@cache
def _accents() -> dict[int, str]:
    bare = {letter: unicodedata.normalize("NFD", letter)[0] for letter in map(chr, range(0xC0, 0x250))}
    found = {ord(letter): base for letter, base in bare.items() if base.isascii() and base != letter}
    return found | {ord(letter): base for letter, base in zip("ıłøđ", "ilod", strict=True)}
