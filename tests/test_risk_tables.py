"""The cue tables through their index: no shortcut of it hides a pattern that would match."""

from __future__ import annotations

import pytest

from agents.language import BOUNDARY, Words, read
from agents.language.matching import Scanner
from agents.risk.message import Message
from agents.risk.tables import apart_scanner, meaning_scanner, panic_scanner, support_scanner
from tools.figures import load

SCANNERS = {
    "support": support_scanner,
    "meaning": meaning_scanner,
    "apart": apart_scanner,
    "panic": panic_scanner,
}


@pytest.mark.parametrize("name", SCANNERS)
def test_the_index_finds_what_trying_every_pattern_at_every_word_finds(name: str) -> None:
    scanner = SCANNERS[name]()
    found = 0
    for turn in load("risk_tune.jsonl")[::600]:
        for sentence in Message(read(turn.text)).sentences:
            words = Words(sentence.marked)
            places = {(place.label, place.start) for place in scanner.scan(words)}
            assert _tried(scanner, words) == places, sentence.marked
            found += len(places)
    assert found or name == "panic"


def _tried(scanner: Scanner, words: Words) -> set[tuple[str, int]]:
    return {
        (entry.label, token.at)
        for entry in scanner.entries
        for token in words.everywhere.tokens
        if (match := entry.pattern.regex.match(words.text, token.at))
        and (entry.pattern.crosses or BOUNDARY not in match[0])
    }


def test_a_year_after_in_is_a_date_of_the_past() -> None:
    (sentence,) = Message(read("i jumped off a bridge in 1991")).sentences
    assert sentence.has("past")
