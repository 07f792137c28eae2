"""How often: quantity, unit and period in English, as days of the last fourteen."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.language import read
from agents.language.frequency import WINDOW_DAYS, Frequency, frequencies


def only(text: str) -> Frequency:
    (found,) = frequencies(read(text).text)
    return found


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("three days", 3),
        ("on 5 of the days", 5),
        ("half a dozen nights", 6),
        ("three or four times", 4),
        ("between three and five days", 5),
        ("9, maybe 10 days of the 14", 10),
        ("four, sometimes five days a week", 10),
        ("once or twice", 2),
        ("a day or two", 2),
        ("one day, or possibly two", 2),
        ("4-5x", 5),
        ("twice a week", 4),
        ("three times per week", 6),
        ("once a month", 0.5),
        ("20 a day", 14),
        ("five nights out of seven", 10),
        ("10/14", 10),
        ("2x/wk", 4),
        ("five days from week", 10),
        ("four shifts a week", 8),
        ("five nights a week now", 10),
        ("a week now", 7),
        ("a week and a half", 10.5),
        ("for the last seven", 7),
        ("out of the fourteen there were only five", 5),
        ("mon wed fri", 3),
        ("on the saturday, both saturdays", 2),
        ("every fortnight", 1),
        ("erry day", 14),
        ("errrryday", 14),
        ("two days out of every three", 28 / 3),
        ("three quarters of the days", 10.5),
        ("about 70 percent of the days", 9.8),
        ("about half of each week", 7),
        ("every other day", 7),
        ("once every three days", 14 / 3),
        ("every single day", 14),
        ("Every. Single. Day.", 14),
        ("all fourteen", 14),
        ("nearly every night", 13),
        ("all but two days", 12),
        ("every day bar one", 13),
        ("every day except the weekends", 10),
        ("every day except Monday and Tuesday", 10),
        ("most days", 10),
        ("more days than not", 10),
        ("the majority of nights", 10),
        ("weekends only", 4),
        ("both Saturdays", 2),
        ("on the Tuesdays and the Fridays", 4),
        ("Monday, Thursday and again on Saturday", 3),
        ("Monday to Friday", 10),
        ("every weekday", 10),
        ("the whole of last week", 7),
        ("fourteen days straight", 14),
        ("for the last three days", 3),
        ("rarely", 1.5),
        ("one day aside", 13),
        ("bar the Wednesday", 13),
        ("haven't missed a night", 14),
        ("without a gap", 14),
        ("more bad days than good ones", 10),
        ("the lion's share of the days", 10),
        ("four of those, and then it stopped", 4),
        ("constantly", 14),
        ("zero days", 0),
    ],
)
def test_days_of_fourteen(text: str, days: float) -> None:
    assert only(text).days == pytest.approx(days)


@pytest.mark.parametrize(
    "text",
    [
        "all day",
        "three hours",
        "twice the dose",
        "at half past two",
        "there are two of them",
        "since I was ten",
        "the two weeks you asked about",
        "awake half the night",
        "all at once",
        "at two, three, four o'clock",
        "how many days",
    ],
)
def test_what_is_no_frequency(text: str) -> None:
    assert frequencies(read(text).text) == []


def test_a_negated_frequency_says_so() -> None:
    assert only("it isn't every day").negated
    assert only("I wouldn't say most days").negated
    assert not only("not a day without it").negated


def test_not_a_day_is_its_own_form() -> None:
    assert (only("there hasn't been a day").form, only("there hasn't been a day").days) == ("no_day", 0)
    assert (only("hardly a night goes by").form, only("hardly a night goes by").days) == ("no_day", 1)


def test_a_week_of_the_two_is_named() -> None:
    last, this = frequencies("last week every day, this week just twice")
    assert (last.week, this.week) == ("last week", "this week")


def test_a_week_is_found_over_small_words() -> None:
    first, second = frequencies("week one it was about six days, week two only three")
    assert (first.week, second.week) == ("week one", "week two")


def test_severity_and_scale_are_no_counts() -> None:
    assert only("a 9 out of 10").form == "severity"
    assert only("I'd say a 3").form == "scale"
    assert only("3 out of 4").form == "scale"


@given(st.text(max_size=120))
def test_any_text_gives_days_within_the_window(text: str) -> None:
    reading = read(text).text
    found = frequencies(reading)
    assert all(0 <= f.days <= WINDOW_DAYS and 0 <= f.start < f.end <= len(reading) for f in found)
    assert found == sorted(found, key=lambda f: f.start)
