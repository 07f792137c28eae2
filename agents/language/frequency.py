"""How often: every expression of frequency in a text, as days out of the last fourteen.

`frequencies(text)` knows nothing of symptoms, people or negated verbs: it reads quantity, unit and period, and says
what was said ("three or four times a week": 8 days, a count). What it is about is for the caller to find out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from agents.language.quantities import HOW, WINDOW_DAYS, Match
from agents.language.tagging import Grade, Rule, Said, Token, grammar, tagged

__all__ = ["WINDOW_DAYS", "Frequency", "frequencies", "read_frequencies"]

_REACH = 12  # words from a negation to what it negates
_NAME = re.compile(r"(?<!\(\?)\b[A-Z][A-Z0-9]*\b")


@dataclass(frozen=True, slots=True)
class Frequency:
    """`days` of fourteen. `form` tells what kind of expression it is; `negated`: 'not every day'; `week`: the one week
    of the two that it speaks of, in the speaker's words."""

    start: int
    end: int
    days: float
    grade: Grade
    form: str = "count"
    unit: str = "day"
    negated: bool = False
    week: str | None = None
    low: float | None = None
    """The lower end of a range."""


def frequencies(text: str) -> list[Frequency]:
    """From left to right, none overlapping another."""
    return read_frequencies(tagged(text))


def read_frequencies(tokens: list[Token]) -> list[Frequency]:
    letters = _letters()
    tags = "".join([letters[token.tag] for token in tokens])
    present = frozenset(tags)
    taken = [False] * len(tokens)
    found: list[tuple[int, Frequency]] = []
    for rule, pattern, needed in _rules():
        if needed.isdisjoint(present):
            continue
        for match in pattern.finditer(tags):
            first, last = match.span()
            if first == last or any(taken[first:last]):
                continue
            frequency = _frequency(Match(rule, tokens, match), tags)
            if frequency:
                found.append((first, frequency))
                taken[first:last] = [True] * (last - first)
    found += [(at, _said(token, tags, at)) for at, token in enumerate(tokens) if token.said and not taken[at]]
    return [frequency for _, frequency in sorted(found, key=lambda pair: pair[0])]


def _said(token: Token, tags: str, at: int) -> Frequency:
    said = token.said or Said(days=0, grade="vague", words=())
    negated = _is_negated(tags, at)
    return Frequency(token.start, token.end, said.days, said.grade, "said", negated=negated)


def _frequency(match: Match, tags: str) -> Frequency | None:
    reading = HOW[match.rule.how](match)
    first, last = match.match.span()
    negated = _is_negated(tags, first)
    if reading is None or (negated and match.rule.how.startswith("all_but")):
        return None
    return Frequency(
        start=match.tokens[first].start,
        end=match.tokens[last - 1].end,
        days=min(reading.days, WINDOW_DAYS),
        grade=match.rule.grade or reading.grade,
        form=reading.form or match.rule.form,
        unit=match.rule.unit,
        negated=negated,
        week=match.week,
        low=reading.low,
    )


def _is_negated(tags: str, first: int) -> bool:
    return bool(_negation().search(tags, max(0, first - _REACH), first))


@cache
def _letters() -> dict[str, str]:
    """One character for each class, so that a pattern over classes is a plain regular expression."""
    rules = grammar()
    tags = [*rules.values, *rules.classes, *dict.fromkeys(said.tag for said in rules.said)]
    return {tag: chr(0x4E00 + number) for number, tag in enumerate([*dict.fromkeys(tags), "WORD", "SIGN", "ORDINAL"])}


def _letter(tag: str) -> str:
    return _letters()[tag]


@cache
def _rules() -> tuple[tuple[Rule, re.Pattern[str], frozenset[str]], ...]:
    """The rules in order, each with the classes of which one must occur."""
    return tuple(
        (rule, _compiled(rule.pattern), frozenset(map(_letter, rule.needs.split()))) for rule in grammar().rules
    )


@cache
def _negation() -> re.Pattern[str]:
    return _compiled("NEG(?:FILL|ABOUT|ONLY|IN|ALMOST|ALWAYS|THERE)*(?:A SINGLE)?$")


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(_translated(pattern).replace(" ", ""))


def _translated(pattern: str) -> str:
    """Class names become characters, macros what they stand for. A name that is neither is an error."""
    macros, letters = grammar().macros, _letters()

    def letter(name: re.Match[str]) -> str:
        if name[0] in macros:
            return _translated(macros[name[0]])
        if name[0] not in letters:
            raise ValueError(f"pattern {pattern!r} uses the unknown class {name[0]!r}")
        return letters[name[0]]

    return _NAME.sub(letter, pattern)
