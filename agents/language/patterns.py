r"""The cue tables' pattern language, compiled to regular expressions.

Plain words with spaces between; `(a|b)` is a choice; `(a)?` and `{group}?` may be absent together with their space;
`s?` is a letter that may be absent; `...` stands for up to four words; `{group}` for a named list of patterns. A
pattern matches whole words and never reaches over a clause boundary, which is the character `BOUNDARY` in the text;
`$` is the end of a clause, `\d` a digit and `[sz]` one of some letters.

Besides the expression, a pattern knows the words it can begin with and the words it cannot do without, so that
`agents.language.matching` tries it only where it may match.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

BOUNDARY = "¦"
DIGITS = "#"  # stands for any word that begins with a digit
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
_MAX_WORDS = 1500
_MAX_DEPTH = 6

# How a piece can begin: (letters, whether the word ends there). None: it can begin with anything.
_Openings = frozenset[tuple[str, bool]] | None
_NOTHING: _Openings = frozenset({("", False)})
_WORD_ENDS: _Openings = frozenset({("", True)})


@dataclass(frozen=True)
class Pattern:
    """`firsts`: the words it can begin with, None for any. `needed`: of each of these sets one word must occur.
    `crosses`: it names the boundary itself, and so reaches over the end of a clause."""

    source: str
    expression: str
    firsts: Words | None
    needed: tuple[Words, ...]
    crosses: bool = False

    @cached_property
    def regex(self) -> re.Pattern[str]:
        """Compiled when it is first tried: most patterns of a large table never are."""
        try:
            return re.compile(self.expression)
        except re.error as error:
            raise ValueError(f"pattern {self.source!r} is malformed: {error}") from None


@dataclass(frozen=True)
class _Piece:
    regex: str
    openings: _Openings
    is_space: bool = False


class PatternParser:
    """Reads tables that share their groups; each group is read once."""

    def __init__(self, groups: Groups) -> None:
        self._parser = _Parser(groups, {})

    def patterns(self, sources: Iterable[str]) -> list[Pattern]:
        """The patterns that a table stands for, one for each top-level choice. A mistake is an error that names it."""
        return [_pattern(source, self._parser.sequence(part)) for source in sources for part in _split_choices(source)]


def _pattern(source: str, pieces: list[_Piece]) -> Pattern:
    text = "".join(piece.regex for piece in pieces)
    crosses = BOUNDARY in text.replace(_GAP, "").replace(_END, "")
    return Pattern(source, text + r"(?!\w)", _words(pieces), _needed(pieces), crosses)


def _needed(pieces: list[_Piece]) -> tuple[Words, ...]:
    found = []
    for at, piece in enumerate(pieces):
        begins_word = at == 0 or pieces[at - 1].is_space
        if begins_word and not piece.is_space and (words := _words(pieces[at:])):
            found.append(words)
    return tuple(found)


def _words(pieces: list[_Piece]) -> Words | None:
    """The first words of a sequence; an apostrophe's ending may or may not be part of them."""
    openings = _openings(pieces, at_word=True)
    if openings is None or ("", True) in openings or ("", False) in openings:
        return None
    return frozenset(word for word, _ in openings)


def _openings(pieces: list[_Piece], *, at_word: bool = False) -> _Openings:
    """How a sequence begins; `at_word` where a word begins, so that a space before any letter is none."""
    reached: _Openings = _NOTHING
    for piece in pieces:
        if reached is None or all(ended for _, ended in reached):
            break
        reached = _joined(reached, piece.openings)
        if at_word and reached and ("", True) in reached:
            reached = reached - {("", True)} | {("", False)}
    return reached


def _joined(left: _Openings, right: _Openings) -> _Openings:
    if left is None or right is None:
        return None
    ended = {opening for opening in left if opening[1]}
    grown = {(word + more, end) for word, done in left if not done for more, end in right}
    return frozenset(ended | grown) if len(ended) + len(grown) <= _MAX_WORDS else None


class _Parser:
    def __init__(self, groups: Groups, known: dict[str, _Piece], depth: int = 0) -> None:
        if depth > _MAX_DEPTH:
            raise ValueError("groups refer to each other in a circle")
        self._groups = groups
        self._known = known
        self._depth = depth

    def choice(self, source: str) -> _Piece:
        return _either([self.sequence(part) for part in _split_choices(source)])

    def sequence(self, source: str) -> list[_Piece]:
        source = _TRAILING_GAP.sub("", source)
        pieces: list[_Piece] = []
        at = 0
        while at < len(source):
            begin = at
            piece, at = self._element(source, at)
            if piece.regex == "+" and pieces and pieces[-1].regex.startswith("(?:"):
                piece = _Piece(_REPEATED, piece.openings)
            if at < len(source) and source[at] == "?" and not piece.is_space and piece.regex:
                at = _add_optional(pieces, piece, source, begin, at + 1)
            else:
                pieces.append(piece)
        return pieces

    def _element(self, source: str, at: int) -> tuple[_Piece, int]:
        """One element and where the next one begins."""
        if source.startswith("...", at):
            end = at + 3 + (source[at + 3 : at + 4] == "?")
            return _Piece(_GAP, None, is_space=True), end + (source[end : end + 1] == " ")
        if source.startswith(" ?", at):
            joins = source[at + 2 : at + 3] not in ("(", "{")  # "any ?more" may be one word, "x ?(a)?" may not
            return _Piece(r"\s*", frozenset({("", True), ("", False)}) if joins else _WORD_ENDS), at + 2
        if source[at] == " ":
            return _Piece(_SPACE, _WORD_ENDS, is_space=True), at + 1
        if source[at] == "(":
            return self._parenthesis(source, at)
        if match := _NAME.match(source, at):
            return self._group(match[1]), match.end()
        if match := _LETTERS.match(source, at):
            return _Piece(re.escape(match[0]), frozenset({(match[0], False)})), match.end()
        if match := _LETTER_CLASS.match(source, at):
            return _Piece(match[0], frozenset((letter, False) for letter in match[1])), match.end()
        if source.startswith("\\d", at):
            return _Piece(r"\d", frozenset({(DIGITS, True)})), at + 2
        if source[at] == "\\":
            return _Piece(source[at : at + 2], None), at + 2
        return _sign(source[at]), at + 1

    def _parenthesis(self, source: str, at: int) -> tuple[_Piece, int]:
        end = _closing(source, at)
        inside = source[at + 1 : end]
        if inside.startswith(("?!", "?=", "?<")):
            return _Piece(f"({inside.replace(' ', _SPACE)})", _NOTHING), end + 1
        return self.choice(inside), end + 1

    def _group(self, name: str) -> _Piece:
        if name not in self._groups:
            raise ValueError(f"a pattern uses the unknown group {name!r}")
        if name not in self._known:
            inner = _Parser(self._groups, self._known, self._depth + 1)
            entries = [inner.sequence(part) for entry in self._groups[name] for part in _split_choices(entry)]
            self._known[name] = _either(entries)
        return self._known[name]


def _sign(char: str) -> _Piece:
    if char == "$":
        return _Piece(_END, _WORD_ENDS)
    if char in "[]+-":
        return _Piece(char, _WORD_ENDS if char == "-" else None)
    return _Piece(re.escape(char), frozenset({(char, False)}) if char.isalnum() or char == "'" else _WORD_ENDS)


def _either(sequences: list[list[_Piece]]) -> _Piece:
    regex = "(?:" + "|".join("".join(piece.regex for piece in pieces) for pieces in sequences) + ")"
    every: set[tuple[str, bool]] = set()
    for pieces in sequences:
        openings = _openings(pieces)
        if openings is None or len(every) > _MAX_WORDS:
            return _Piece(regex, None)
        every |= openings
    return _Piece(regex, frozenset(every))


def _add_optional(pieces: list[_Piece], piece: _Piece, source: str, begin: int, at: int) -> int:
    """Append a piece that may be absent, with its space if it is a word of its own. Gives where to go on."""
    stands_alone = (begin == 0 or source[begin - 1] in " ?") and not source.startswith("( ", begin)
    if stands_alone and source[at : at + 1] == " " and source[at : at + 2] != " ?":
        inner = [piece, _Piece(_SPACE, _WORD_ENDS)]
        pieces.append(_absent(f"(?:{piece.regex}{_SPACE})?", _openings(inner), is_space=True))
        return at + 1
    if at == len(source) and pieces and pieces[-1].regex == _SPACE:
        pieces[-1] = _absent(f"(?:{_SPACE}{piece.regex})?", _WORD_ENDS)
        return at
    pieces.append(_absent(f"(?:{piece.regex})?", piece.openings))
    return at


def _absent(regex: str, openings: _Openings, *, is_space: bool = False) -> _Piece:
    both = None if openings is None else openings | {("", False)}
    return _Piece(regex, both, is_space=is_space)


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
