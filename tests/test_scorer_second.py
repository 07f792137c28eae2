"""The scorer's second reader: what it may change, what it may not, and that its failure changes nothing."""

from __future__ import annotations

import logging

import pytest

from agents.grounding import grounded_quotes
from agents.scorer import AnswerToScore, ItemScore, score_by_rules
from agents.scoring import reader
from agents.scoring.answer import Answer
from agents.scoring.reader import Opinion
from agents.scoring.weigh import Finding

COUNTED = "I was nervous on ten of the days, and on two of them my sister came round."


def score(text: str, item: int = 6) -> ItemScore:
    return score_by_rules(AnswerToScore(item=item, question="Have you been on edge?", answer=text))


def thinks(monkeypatch: pytest.MonkeyPatch, wanted: int, *, sure: float = 0.97, vague: float = 0.01) -> None:
    rest = (1 - sure) / 4
    scores = tuple(sure if number == wanted else rest for number in range(5))
    monkeypatch.setattr(reader, "opinion", lambda *_: Opinion(scores, vague))


def fails(answer: Answer, finding: Finding) -> Opinion:
    raise RuntimeError(answer.reading.original)


def test_it_corrects_a_score_and_quotes_the_clause_that_counts_it(monkeypatch: pytest.MonkeyPatch) -> None:
    thinks(monkeypatch, 1)
    found = score(COUNTED)
    assert (found.score, found.ambiguity) == (1, 4)
    assert any("two of them" in quote for quote in found.evidence_quotes)


def test_a_score_above_zero_is_quoted_even_where_nothing_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    thinks(monkeypatch, 4)
    text = "My stomach turns over at the sight of the car park, there is no getting round it."
    found = score(text)
    assert found.score == 4
    assert found.evidence_quotes
    assert tuple(grounded_quotes(found.evidence_quotes, text)) == found.evidence_quotes


def test_a_doubtful_opinion_does_not_move_what_was_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    thinks(monkeypatch, 1, sure=0.4)
    assert score(COUNTED).score == 3


def test_a_far_correction_that_is_not_sure_reads_as_unclear(monkeypatch: pytest.MonkeyPatch) -> None:
    thinks(monkeypatch, 0, sure=0.63)
    found = score(COUNTED)
    assert found.ambiguity >= 5


def test_a_far_correction_of_a_sure_count_of_ones_own_is_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    thinks(monkeypatch, 0)
    assert score("I was nervous on ten of the days, and the bus was late.").ambiguity >= 5
    assert score("My sister was nervous on ten of the days, and the bus was late.").ambiguity <= 4


@pytest.mark.parametrize("text", ["I was nervous every day but I slept fine.", "Worried every day. No panic though."])
def test_another_symptom_that_was_not_there_is_not_its_business(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    thinks(monkeypatch, 0)
    assert score(text).score == 4


def test_a_healthy_habit_is_not_made_a_clear_symptom(monkeypatch: pytest.MonkeyPatch) -> None:
    thinks(monkeypatch, 4)
    assert score("I'm grateful every day.", 11).ambiguity >= 5


@pytest.mark.parametrize("text", ["lkjh", "blah blah blah", "As I said."])
def test_what_says_nothing_is_not_shown_to_it(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    thinks(monkeypatch, 2, vague=0.9)
    found = score(text)
    assert (found.score, found.ambiguity >= 8, found.evidence_quotes) == (0, True, ())


def test_an_answer_longer_than_it_reads_is_left_to_the_rules() -> None:
    about_something_else = "We went to the shops and came back and had tea with biscuits. " * 40
    found = score("I was nervous every day. " + about_something_else)
    assert (found.score, found.ambiguity) == (4, 2)
    found = score("word " * 5000)
    assert (found.score, found.ambiguity >= 8) == (0, True)


def test_what_it_finds_vague_is_vague(monkeypatch: pytest.MonkeyPatch) -> None:
    thinks(monkeypatch, 2, vague=0.9)
    found = score(COUNTED)
    assert (found.score, found.ambiguity >= 5) == (2, True)
    assert found.evidence_quotes


def test_a_denial_that_it_finds_vague_stays_a_denial_to_ask_about(monkeypatch: pytest.MonkeyPatch) -> None:
    thinks(monkeypatch, 2, vague=0.9)
    found = score("I'm not nervous, I leave that to my brother.")
    assert (found.score, found.ambiguity >= 5) == (0, True)


def test_a_count_of_another_matter_is_no_score_and_one_beside_the_items_own_words_is_asked_about(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    thinks(monkeypatch, 0, vague=0.95)
    other = score("I buffed the old wagon on ten days.")
    assert (other.score, other.ambiguity >= 8) == (0, True)
    own = score(COUNTED)
    assert (own.score, 5 <= own.ambiguity < 8) == (3, True)


def test_a_count_that_it_makes_nothing_of_is_no_clear_denial(monkeypatch: pytest.MonkeyPatch) -> None:
    thinks(monkeypatch, 0, vague=0.4)
    assert score(COUNTED).ambiguity >= 5


@pytest.mark.parametrize(
    ("item", "text"),
    [
        (12, "Headaches most days."),
        (21, "I sleep badly nearly every night."),
        (13, "I smoke every day."),
        (11, "My back aches every day."),
        (23, "I cry most days."),
        (5, "I hear my name called about twice a week."),
        (12, "My neighbour plays music every night."),
    ],
)
def test_how_often_another_symptom_came_is_no_score_of_this_one(item: int, text: str) -> None:
    found = score(text, item)
    assert (found.score, found.ambiguity >= 8) == (0, True)


def test_voices_that_are_told_oddly_are_no_zero() -> None:
    assert score("There's a woman muttering behind the wardrobe about once a week.", 12).score == 1


@pytest.mark.parametrize(("text", "expected"), [("Several days.", 2), ("3", 3), ("Not at all.", 0), ("ten days", 3)])
def test_an_anchor_or_a_number_alone_is_not_shown_to_it(
    monkeypatch: pytest.MonkeyPatch, text: str, expected: int
) -> None:
    thinks(monkeypatch, 4 - expected)
    assert score(text).score == expected


def test_when_it_fails_the_rules_stand_and_the_patients_words_stay_out_of_the_log(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(reader, "opinion", fails)
    with caplog.at_level(logging.DEBUG):
        found = score(COUNTED)
    assert (found.score, found.ambiguity) == (3, 2)
    assert "RuntimeError" in caplog.text
    assert "nervous" not in caplog.text


@pytest.mark.parametrize(
    ("item", "text", "expected"),
    [
        (1, "The guitar has stayed in its case the entire fortnight and I could not care less.", 4),
        (14, "I am lying there watching the ceiling until it gets light, ten nights out of these fourteen.", 3),
        (20, "My sister rings each evening and we laugh till it hurts, I am lucky in my people.", 0),
    ],
)
def test_what_no_table_lists_is_still_read(item: int, text: str, expected: int) -> None:
    assert score(text, item).score == expected


def test_half_a_surrogate_pair_does_not_make_it_fail(caplog: pytest.LogCaptureFixture) -> None:
    text = "The guitar has stayed in its case \ud83d the entire fortnight and I could not care less."
    with caplog.at_level(logging.ERROR):
        found = score(text, 1)
    assert found.score == 4
    assert not caplog.records
