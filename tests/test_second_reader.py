"""The second reader may raise, and doubt what was only inferred. It clears nothing, and its failure fails nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agents.risk import check_risk, reader
from agents.risk.reader import Opinion

UNSURE = {"suicide": -1.0, "self_harm": -2.0, "violence": -3.0, "substance": -4.0}


def gives(monkeypatch: pytest.MonkeyPatch, *, stop: float = -9.0, risk: float = -9.0) -> None:
    monkeypatch.setattr(reader, "opinion", lambda *_: Opinion(stop, risk, dict(UNSURE)))  # type: ignore[arg-type]


def fails(text: str, item: int) -> Opinion:
    raise RuntimeError(text)


@pytest.mark.parametrize(
    "text",
    [
        "I did a practice run last night and I could go through with it. Tonight I will.",
        "I've given the dog to my sister and paid the rent up. After Thursday nobody needs to worry about me any more.",
        "Everything I own has a label on it now with a name. It only remains for me to go through with it tonight.",
    ],
)
def test_what_no_cue_lists_is_still_found(text: str) -> None:
    assert check_risk(text, 2).level == "stop"


def test_it_raises_a_harmless_reading_to_a_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    gives(monkeypatch, stop=9.0, risk=9.0)
    verdict = check_risk("The garden was quiet.", 1)
    assert (verdict.level, verdict.rule) == ("stop", "second-reader")
    assert verdict.flags.suicidality_mentioned
    assert [(s.start, s.end) for s in verdict.spans] == [(0, len("The garden was quiet"))]


def test_it_raises_a_harmless_reading_to_a_flag(monkeypatch: pytest.MonkeyPatch) -> None:
    gives(monkeypatch, risk=9.0)
    assert check_risk("The garden was quiet.", 1).level == "flag"


def test_an_explicit_stop_is_out_of_its_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    gives(monkeypatch)
    assert check_risk("I'm going to kill myself tonight.", 2).level == "stop"


def test_an_inferred_stop_that_it_doubts_is_a_flag_and_never_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "I wish I was dead and the pills are all counted out."
    gives(monkeypatch, stop=9.0)
    assert check_risk(text, 2).level == "stop"
    gives(monkeypatch)
    verdict = check_risk(text, 2)
    assert verdict.level == "flag"
    assert "second-reader-doubts" in verdict.cues


def test_it_clears_no_flag(monkeypatch: pytest.MonkeyPatch) -> None:
    gives(monkeypatch)
    assert check_risk("I wish I were dead.", 2).level == "flag"


@pytest.mark.parametrize(
    ("text", "level"),
    [("I'm going to kill myself tonight.", "stop"), ("I wish I were dead.", "flag"), ("The garden was quiet.", "none")],
)
def test_when_it_fails_the_rules_stand(monkeypatch: pytest.MonkeyPatch, text: str, level: str) -> None:
    monkeypatch.setattr(reader, "opinion", fails)
    verdict = check_risk(text, 2)
    assert verdict.level == level
    assert verdict.degraded is (level != "stop")


@pytest.mark.parametrize(
    ("text", "item", "shown"),
    [
        ("Several days.", 2, False),
        ("3", 5, False),
        ("Several days.", 11, True),
        ("Most days, tonight as well.", 2, True),
    ],
)
def test_a_bare_count_is_not_shown_to_it_unless_the_item_is_about_harm(
    monkeypatch: pytest.MonkeyPatch, text: str, item: int, shown: bool
) -> None:
    monkeypatch.setattr(reader, "opinion", fails)
    assert check_risk(text, item).degraded is shown


def test_its_failure_never_writes_the_patients_words(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(reader, "opinion", fails)
    check_risk("a canary sentence", 2)
    assert "RuntimeError" in caplog.text
    assert "canary" not in caplog.text


def test_it_is_not_asked_about_what_it_cannot_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "opinion", fails)
    verdict = check_risk("Żółta łódka płynie po jeziorze i wszyscy są zadowoleni.", 2)
    assert (verdict.rule, verdict.degraded) == ("unreadable", False)


def test_the_gravest_stretch_of_a_long_message_counts() -> None:
    grave = "I did a practice run last night and I could go through with it. Tonight I will. "
    filler: Callable[[int], str] = lambda n: "We planted beans and the neighbours came over for tea. " * n  # noqa: E731
    assert check_risk(filler(30) + grave + filler(30), 2).level == "stop"
    assert check_risk(filler(61), 2).level == "none"


def test_the_same_words_get_the_same_opinion() -> None:
    text = "I've said what I had to say to everyone."
    assert reader.opinion(text, 2) == reader.opinion(text, 2)


def test_the_item_is_part_of_what_is_read() -> None:
    assert reader.opinion("within the hour", 11).stop > reader.opinion("within the hour", 9).stop


def test_half_a_surrogate_pair_does_not_make_it_fail(caplog: pytest.LogCaptureFixture) -> None:
    verdict = check_risk("I did a practice run last night \ud83d and I could go through with it. Tonight I will.", 2)
    assert (verdict.level, verdict.degraded) == ("stop", False)
    assert not caplog.records


@pytest.mark.parametrize(
    "text",
    ["Can we stop here for today?", "ok, could we do the rest tomorrow please", "Hurt myself? On purpose? No!"],
)
def test_leaving_off_and_asking_back_are_not_shown_to_it(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    def opinion(shown: str, item: int) -> Opinion:
        odds = -9.0 if shown == "no" else 9.0
        return Opinion(odds, odds, dict(UNSURE))  # type: ignore[arg-type]

    monkeypatch.setattr(reader, "opinion", opinion)
    assert check_risk(text, 11).level == "none"


@pytest.mark.parametrize(
    "text", ["Can we stop here? I'll be dead by tonight.", "Hurt myself? Yes, tonight.", "I want to end it tonight."]
)
def test_what_is_said_beside_them_is_shown(text: str) -> None:
    assert check_risk(text, 11).level == "stop"
