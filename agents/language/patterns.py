r"""The cue tables' pattern language, compiled to regular expressions.

Plain words with spaces between; `(a|b)` is a choice; `(a)?` and `{group}?` may be absent together with their space;
`s?` is a letter that may be absent; `...` stands for up to four words; `{group}` for a named list of patterns. A
pattern matches whole words and never reaches over a clause boundary, which is the character `BOUNDARY` in the text;
`$` is the end of a clause, `\d` a digit and `[sz]` one of some letters.

Besides the expression, a pattern knows the two words it can begin with and the words it cannot do without, so that
`agents.language.matching` tries it only where it may match.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from agents.language.openings import LAST, NOTHING, NUMBER, WORD_ENDS, Begins, Piece, begins, letters

BOUNDARY = "¦"
Groups = Mapping[str, Iterable[str]]
Words = frozenset[str]

_SPACE = r"\s+"
# A gap swallows no negation: "have never wanted to" is not "have … wanted to".
_GAP = rf"(?:(?!(?:not|never|no|nor|n[eo]ither|without|cannot|\w+n't)\b)[^\s{BOUNDARY}]+\s+){{0,4}}?"
_TRAILING_GAP = re.compile(r"(\s*\(\s*\.\.\.\)\?|\s*\.\.\.\??)$")
_LETTER_CLASS = re.compile(r"\[([a-z]+)\]")
_NAME = re.compile(r"\{(\w+)\}")
_LETTERS = re.compile(r"(?:[^\W_]|')(?!\?)(?:(?:[^\W_]|')(?!\?))*")
_END = rf"(?=\s*(?:[{BOUNDARY}\"')]|$))"
_REPEATED = "{1,12}"  # `(a )+`: bounded, so that a long text costs no more than in proportion
_MAX_DEPTH = 6
_BETWEEN = Piece(_SPACE, WORD_ENDS, is_space=True)


@dataclass(frozen=True)
class Pattern:
    """`begins`: the words it can begin with, and the words that can follow each; None for any. `needed`: of each of
    these sets one word must occur. `crosses`: it names the boundary itself, and so reaches over the end of a clause."""

    source: str
    expression: str
    begins: Begins | None
    needed: tuple[Words, ...]
    crosses: bool = False

    @cached_property
    def regex(self) -> re.Pattern[str]:
        """Compiled when it is first tried: most patterns of a large table never are."""
        try:
            return re.compile(self.expression)
        except re.error as error:
            raise ValueError(f"pattern {self.source!r} is malformed: {error}") from None


class PatternParser:
    """Reads tables that share their groups; each group is read once."""

    def __init__(self, groups: Groups) -> None:
        self._parser = _Parser(groups, {})

    def patterns(self, sources: Iterable[str]) -> list[Pattern]:
        """The patterns that a table stands for, one for each top-level choice. A mistake is an error that names it."""
        return [_pattern(source, self._parser.sequence(part)) for source in sources for part in _split_choices(source)]


def _pattern(source: str, pieces: list[Piece]) -> Pattern:
    text = _regex(pieces)
    crosses = BOUNDARY in text.replace(_GAP, "").replace(_END, "")
    return Pattern(source, text + r"(?!\w)", begins(pieces), _needed(pieces), crosses)


def _needed(pieces: Sequence[Piece]) -> tuple[Words, ...]:
    found = []
    for at, piece in enumerate(pieces):
        begins_word = at == 0 or pieces[at - 1].is_space
        if begins_word and not piece.is_space and (first := begins(pieces[at:], words=1)):
            found.append(frozenset(first))
    return tuple(found)


class _Parser:
    def __init__(self, groups: Groups, known: dict[str, Piece], depth: int = 0) -> None:
        if depth > _MAX_DEPTH:
            raise ValueError("groups refer to each other in a circle")
        self._groups = groups
        self._known = known
        self._depth = depth

    def choice(self, source: str) -> Piece:
        return _either([self.sequence(part) for part in _split_choices(source)])

    def sequence(self, source: str) -> list[Piece]:
        source = _TRAILING_GAP.sub("", source)
        pieces: list[Piece] = []
        at = 0
        while at < len(source):
            begin = at
            piece, at = self._element(source, at)
            if piece.regex == "+" and pieces and pieces[-1].regex.startswith("(?:"):
                piece = Piece(_REPEATED)
            if at < len(source) and source[at] == "?" and not piece.is_space and piece.regex:
                at = _add_optional(pieces, piece, source, begin, at + 1)
            else:
                pieces.append(piece)
        return pieces

    def _element(self, source: str, at: int) -> tuple[Piece, int]:
        """One element and where the next one begins."""
        if source.startswith("...", at):
            end = at + 3 + (source[at + 3 : at + 4] == "?")
            return Piece(_GAP, None, is_space=True), end + (source[end : end + 1] == " ")
        if source.startswith(" ?", at):
            joins = source[at + 2 : at + 3] not in ("(", "{")  # "any ?more" may be one word, "x ?(a)?" may not
            return Piece(r"\s*", frozenset({(" ", False), ("", False)}) if joins else WORD_ENDS), at + 2
        if source[at] == " ":
            return _BETWEEN, at + 1
        if source[at] == "(":
            return self._parenthesis(source, at)
        if match := _NAME.match(source, at):
            return self._group(match[1]), match.end()
        if match := _LETTERS.match(source, at):
            return Piece(re.escape(match[0]), letters(match[0])), match.end()
        if match := _LETTER_CLASS.match(source, at):
            return Piece(match[0], frozenset((letter, False) for letter in match[1])), match.end()
        if source.startswith("\\d", at):
            return Piece(r"\d", NUMBER), at + 2
        if source[at] == "\\":
            return Piece(source[at : at + 2], None), at + 2
        return _sign(source[at]), at + 1

    def _parenthesis(self, source: str, at: int) -> tuple[Piece, int]:
        end = _closing(source, at)
        inside = source[at + 1 : end]
        if inside.startswith(("?!", "?=", "?<")):
            return Piece(f"({inside.replace(' ', _SPACE)})", NOTHING), end + 1
        return self.choice(inside), end + 1

    def _group(self, name: str) -> Piece:
        if name not in self._groups:
            raise ValueError(f"a pattern uses the unknown group {name!r}")
        if name not in self._known:
            inner = _Parser(self._groups, self._known, self._depth + 1)
            entries = [inner.sequence(part) for entry in self._groups[name] for part in _split_choices(entry)]
            self._known[name] = _either(entries)
        return self._known[name]


def _sign(char: str) -> Piece:
    if char == "$":
        return Piece(_END, LAST)
    if char in "[]+-":
        return Piece(char, WORD_ENDS if char == "-" else None)
    return Piece(re.escape(char), letters(char) if char.isalnum() or char == "'" else WORD_ENDS)


def _either(choices: list[list[Piece]]) -> Piece:
    return Piece("(?:" + "|".join(map(_regex, choices)) + ")", choices=tuple(choices))


def _regex(pieces: Iterable[Piece]) -> str:
    return "".join(piece.regex for piece in pieces)


def _add_optional(pieces: list[Piece], piece: Piece, source: str, begin: int, at: int) -> int:
    """Append a piece that may be absent, with its space if it is a word of its own. Gives where to go on."""
    stands_alone = (begin == 0 or source[begin - 1] in " ?") and not source.startswith("( ", begin)
    if stands_alone and source[at : at + 1] == " " and source[at : at + 2] != " ?":
        pieces.append(_optional(piece, _BETWEEN, is_space=True))
        return at + 1
    if at == len(source) and pieces and pieces[-1].regex == _SPACE:
        pieces[-1] = _optional(_BETWEEN, piece)
        return at
    pieces.append(_optional(piece))
    return at


def _optional(*pieces: Piece, is_space: bool = False) -> Piece:
    return Piece(f"(?:{_regex(pieces)})?", choices=(pieces,), is_optional=True, is_space=is_space)


def _split_choices(source: str) -> list[str]:
    """Split at the bars that stand outside of parentheses."""
    parts, depth, begin = [], 0, 0
    for at, char in enumerate(source):
        depth += (char == "(") - (char == ")")
        if char == "|" and depth == 0:
            parts.append(source[begin:at])
            begin = at + 1
    return [*parts, source[begin:]]


def _closing(source: str, at: int) -> int:
    depth = 0
    for index in range(at, len(source)):
        depth += (source[index] == "(") - (source[index] == ")")
        if depth == 0:
            return index
    raise ValueError(f"pattern {source!r} has an unclosed parenthesis")
