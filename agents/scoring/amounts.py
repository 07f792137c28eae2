"""How much was drunk or smoked at a time: items 21 and 22 count by it."""

from __future__ import annotations

from dataclasses import dataclass

from agents.language.tagging import Token
from agents.scoring.answer import Answer
from agents.scoring.tables import Measures, measures

_REACH = 3  # words between a number and what is measured


@dataclass(frozen=True)
class Amount:
    start: int
    end: int
    value: float


def drinks(answer: Answer) -> list[Amount]:
    """In standard drinks, as far as a glass, a pint and a shot are one each."""
    return _amounts(answer.tokens, measures().drinks)


def a_night(answer: Answer) -> list[Amount]:
    """'Three every night': to a question about drinks, that many of them."""
    tokens = answer.tokens
    return [
        Amount(number.start, number.end, number.value)
        for number, every, day in zip(tokens, tokens[1:], tokens[2:], strict=False)
        if number.tag == "NUM" and number.value and every.tag == "EVERY" and day.tag == "DAY"
    ]


def cigarettes(answer: Answer) -> list[Amount]:
    return _amounts(answer.tokens, measures().tobacco)


def _amounts(tokens: tuple[Token, ...], table: Measures) -> list[Amount]:
    found: list[Amount] = []
    for at, token in enumerate(tokens):
        measured = _measured(tokens, at, table)
        if measured is None:
            continue
        end, each, more = measured
        number = _number(tokens, at)
        if number is not None and not (found and token.start < found[-1].end):
            found.append(Amount(token.start, tokens[end].end, (number + more) * each))
    return found


def _number(tokens: tuple[Token, ...], at: int) -> float | None:
    """A number, 'a', or 'half a'; of a range the upper end, since the amount follows it directly."""
    token = tokens[at]
    if token.tag == "A":
        halved = at > 0 and tokens[at - 1].tag == "HALF"
        if tokens[at + 1].text == "drink":  # "I like a drink" measures nothing
            return None
        return 0.5 if halved else 1.0
    if token.tag == "HALF":
        return None
    return token.value


def _measured(tokens: tuple[Token, ...], at: int, table: Measures) -> tuple[int, float, float] | None:
    """Where the thing that a number measures stands, how much one of it is, and the half that follows it."""
    if tokens[at].tag not in ("NUM", "ROUGH", "A"):
        return None
    for place in range(at + 1, min(at + 1 + _REACH, len(tokens))):
        token = tokens[place]
        if token.tag in ("NUM", "ROUGH", "A", "COMMA", "STOP", "DAY", "TIME", "HOUR"):
            return None
        if token.text in table.nothing:
            return place, 0.0, 0.0
        if token.text in table.each:
            return _with_contents(tokens, place, table)
    return None


def _with_contents(tokens: tuple[Token, ...], place: int, table: Measures) -> tuple[int, float, float]:
    """'a bottle of whisky' is more than a bottle, and a can of cola is none; 'a bottle and a half of wine'."""
    name = tokens[place].text
    each = table.each[name]
    halves = [token.text for token in tokens[place + 1 : place + 4]] == ["and", "a", "half"]
    end = place + 3 if halves else place
    more = 0.5 if halves else 0.0
    following = [token.text for token in tokens[end + 1 : end + 1 + _REACH]]
    if following[:1] != ["of"]:
        return end, each, more
    if any(word in table.nothing for word in following):
        return end + 2, 0.0, 0.0
    return (
        end + 2 if len(following) > 1 else end,
        (table.contents.get(following[1], each) if name in table.filled and len(following) > 1 else each),
        more,
    )
