"""What comes as lines of JSON: odd characters are read, and a bad line is told with its id."""

from __future__ import annotations

import json

import pytest

from agents.risk.batch import check_lines
from agents.scoring.batch import score_lines
from instruments.text import whole

HALF = "\\ud83d"


def test_half_a_character_and_a_byte_order_mark_keep_no_danger_from_being_read() -> None:
    line = f'\ufeff{{"id": 1, "text": "I want to kill myself tonight {HALF}"}}'
    (told,) = map(json.loads, check_lines([line]))
    assert (told["id"], told["level"]) == (1, "stop")


def test_an_answer_with_half_a_character_is_scored() -> None:
    line = f'{{"id": "a", "item": 2, "question": "How often?", "answer": "On two days {HALF}"}}'
    (told,) = map(json.loads, score_lines([line]))
    assert (told["id"], told["score"]) == ("a", 1)


def test_a_bad_line_is_an_error_with_its_id_where_it_has_one_and_the_rest_go_on() -> None:
    lines = ['{"id": 7, "item": 24, "text": "x"}', "no JSON", '["list"]', "", '{"id": 8, "text": "Fine."}']
    told = list(map(json.loads, check_lines(lines)))
    assert [one["id"] for one in told] == [7, None, None, 8]
    assert ["error" in one for one in told] == [True, True, True, False]
    assert told[0]["error"].startswith("line 1: item:")


@pytest.mark.parametrize(
    ("text", "meant"),
    [("plain", "plain"), ("\ud83d\ude00", "\U0001f600"), ("a\ud83d", "a\ufffd"), ("\ude00b", "\ufffdb")],
)
def test_halves_are_joined_or_become_the_sign_for_an_unknown_character(text: str, meant: str) -> None:
    assert whole(text) == meant
