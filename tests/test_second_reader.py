"""The second reader may raise, and doubt a stop to a flag. It clears nothing, and its failure fails nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from agents.language import read
from agents.risk import RiskVerdict, check_risk, reader, second
from agents.risk.message import Message
from agents.risk.parts import line_parts, parts
from agents.risk.reader import Opinion
from agents.risk.tables import Concern
from agents.risk.version import version
from tests.readers import hears

UNSURE: dict[Concern, float] = {"suicide": -1.0, "self_harm": -2.0, "violence": -3.0, "substance": -4.0}


def gives(
    monkeypatch: pytest.MonkeyPatch, *, stop: float = -9.0, risk: float = -9.0, concerns: dict[Concern, float] = UNSURE
) -> None:
    hears(monkeypatch, lambda *_: Opinion(stop, risk, dict(concerns)))


def quotes(text: str, verdict: RiskVerdict) -> list[str]:
    return [text[span.start : span.end] for span in verdict.spans]


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


def test_what_it_found_is_marked_wherever_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    words = "the box is under the bed"
    calm = [f"On day {n} I walked to shop number {n} for milk" for n in range(40)]

    def opinion(text: str, _: int) -> Opinion:
        return Opinion(stop=9.0 if words in text else -9.0, risk=9.0, concerns=UNSURE)

    hears(monkeypatch, opinion)
    late = ". ".join([*calm, f"Now {words}", *calm[:3]])
    unended = [" and ".join([*calm[:9], "so" * n, words, *calm]) for n in range(20)]  # wherever a cut falls
    for text in (late, *unended, f"<b>quiet</b> today. {calm[0]} <i>{words}</i>"):
        (span,) = check_risk(text, 2).spans
        assert words in text[span.start : span.end]
        assert span.end - span.start <= 400


def test_lines_without_full_stops_are_read_as_sentences_and_a_wrapped_line_is_not() -> None:
    lines = line_parts(Message(read("Went to Lidl\nThe guard laughed\ni went back for his rota")))
    assert [part.text for part in lines] == ["went to lidl", "the guard laughed", "i went back for his rota"]
    wrapped = Message(read("I would never think of\nhurting myself"))
    assert [part.text for part in parts(wrapped)] == ["i would never think of hurting myself"]
    assert line_parts(wrapped) == []


def test_it_raises_a_harmless_reading_to_a_flag(monkeypatch: pytest.MonkeyPatch) -> None:
    gives(monkeypatch, risk=9.0)
    assert check_risk("The garden was quiet.", 1).level == "flag"


def test_who_asks_back_is_not_flagged_and_who_ends_a_statement_so_is(monkeypatch: pytest.MonkeyPatch) -> None:
    gives(monkeypatch, risk=9.0)
    assert check_risk("Sorry, what do you mean by the garden?", 1).level == "none"
    assert check_risk("I keep walking round the garden in the dark now?", 1).level == "flag"


def test_it_must_be_surer_of_drink_and_drugs_than_of_a_danger(monkeypatch: pytest.MonkeyPatch) -> None:
    gives(monkeypatch, risk=-1.0)
    assert check_risk("The garden was quiet.", 21).level == "flag"
    gives(monkeypatch, risk=-1.0, concerns={**UNSURE, "substance": 1.0})
    assert check_risk("The garden was quiet.", 21).level == "none"


@pytest.mark.parametrize(
    "text",
    [
        "I'm going to kill myself tonight.",
        "im gonna k!ll mys3lf",
        "I will hang myself on Friday.",
        "I'm taking my own life this weekend, it's all arranged.",
    ],
)
def test_a_stop_in_the_plainest_words_is_out_of_its_reach(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    gives(monkeypatch)
    assert check_risk(text, 2).level == "stop"


@pytest.mark.parametrize("text", ["I'm ending it all this Saturday.", "I'll kill him when he comes home tonight."])
def test_a_stop_in_other_words_takes_all_its_doubt_to_be_a_flag(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    limits = reader.limits()
    gives(monkeypatch, stop=(limits.doubt_inferred + limits.doubt_said) / 2)
    assert check_risk(text, 3).level == "stop"
    gives(monkeypatch)
    verdict = check_risk(text, 3)
    assert verdict.level == "flag"
    assert "second-reader-doubts" in verdict.cues


@pytest.mark.parametrize(
    "text",
    [
        "I'm leaving this world behind, the world of investment banking, to keep bees.",
        "I'm ending it all this Saturday: the stamp club, the newsletter, the committee. Retirement at last.",
        "My little brother broke my base so I'm gonna kill him in game tonight, the whole squad is coming.",
    ],
)
def test_words_of_danger_in_a_harmless_story_do_not_end_the_interview(text: str) -> None:
    assert check_risk(text, 5).level != "stop"


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
    hears(monkeypatch, fails)
    verdict = check_risk(text, 2)
    assert verdict.level == level
    assert verdict.degraded is (level != "stop")


def test_when_it_fails_a_stop_that_it_might_have_doubted_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    hears(monkeypatch, fails)
    verdict = check_risk("I'm ending it all this Saturday.", 2)
    assert (verdict.level, verdict.degraded) == ("stop", True)


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
    hears(monkeypatch, fails)
    assert check_risk(text, item).degraded is shown


def test_its_failure_never_writes_the_patients_words(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    hears(monkeypatch, fails)
    check_risk("a canary sentence", 2)
    assert "RuntimeError" in caplog.text
    assert "canary" not in caplog.text


def test_it_is_not_asked_about_what_it_cannot_read(monkeypatch: pytest.MonkeyPatch) -> None:
    hears(monkeypatch, fails)
    verdict = check_risk("Żółta łódka płynie po jeziorze i wszyscy są zadowoleni.", 2)
    assert (verdict.rule, verdict.degraded) == ("unreadable", False)


def test_the_gravest_stretch_of_a_long_message_counts() -> None:
    grave = "I did a practice run last night and I could go through with it. Tonight I will. "
    filler: Callable[[int], str] = lambda n: "We planted beans and the neighbours came over for tea. " * n  # noqa: E731
    assert check_risk(filler(30) + grave + filler(30), 2).level == "stop"
    assert check_risk(filler(61), 2).level == "none"


def test_the_same_words_get_the_same_opinion() -> None:
    text = "I've said what I had to say to everyone."
    assert reader.opinions([text], 2) == reader.opinions([text], 2)


def test_the_item_is_part_of_what_is_read() -> None:
    (asked,), (beside,) = (reader.opinions(["within the hour"], item) for item in (11, 9))
    assert asked.stop > beside.stop


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
        return Opinion(odds, odds, dict(UNSURE))

    hears(monkeypatch, opinion)
    assert check_risk(text, 11).level == "none"


@pytest.mark.parametrize(
    "text", ["Can we stop here? I'll be dead by tonight.", "Hurt myself? Yes, tonight.", "I want to end it tonight."]
)
def test_what_is_said_beside_them_is_shown(text: str) -> None:
    assert check_risk(text, 11).level == "stop"


# ---- the quick reader and the thorough one ----


def test_the_thorough_reader_is_asked_where_the_quick_one_is_unsure_and_nowhere_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []
    thorough = reader.thorough

    def ask(text: str, item: int) -> Opinion:
        asked.append(text)
        return thorough(text, item)

    monkeypatch.setattr(reader, "thorough", ask)
    calm = ["i water the plants in the morning", "my sister brought soup"]
    assert len(reader.opinions(calm, 2)) == 3
    assert asked == []
    rows = reader._QUICK.read(calm, 2)
    rows[2, 0] = 0.0  # of both together
    monkeypatch.setattr(reader._QUICK, "read", lambda *_: rows)
    found = reader.opinions(calm, 2)
    assert asked == [". ".join(calm)]
    assert found[2] == thorough(". ".join(calm), 2)


def test_a_risk_that_is_no_concern_of_the_four_is_not_taken_from_the_quick_reader(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = np.array([[-9.0, 3.0, -2.0, -2.0, -2.0, -2.0]], np.float32)
    monkeypatch.setattr(reader._QUICK, "read", lambda *_: rows)
    assert reader.opinions(["the garden was quiet"], 1) == [reader.thorough("the garden was quiet", 1)]


@pytest.mark.parametrize("quick", [-9.0, 0.0])
def test_a_stop_of_the_rules_is_doubted_by_the_thorough_reader_alone(
    monkeypatch: pytest.MonkeyPatch, quick: float
) -> None:
    gives(monkeypatch, stop=quick)
    monkeypatch.setattr(reader, "thorough", lambda *_: Opinion(-1.0, -1.0, dict(UNSURE)))
    assert check_risk("I'm ending it all this Saturday.", 2).level == "stop"


# ---- what the therapist is shown ----


def test_what_made_it_a_stop_is_quoted_first_and_the_flag_after_it() -> None:
    text = "I drink a bottle of vodka every day. I'm writing the letters to my kids now so they'll have them after."
    verdict = check_risk(text, 2)
    assert (verdict.level, verdict.rule) == ("stop", "second-reader")
    first, *others = quotes(text, verdict)
    assert first == "I'm writing the letters to my kids now so they'll have them after"
    assert any("vodka" in words for words in others)


def _by_word(monkeypatch: pytest.MonkeyPatch, **opinions: Opinion) -> None:
    """The gravest of the words that stand in a stretch decides; any other stretch is harmless."""
    calm = Opinion(-9.0, -9.0, dict(UNSURE))

    def opinion(text: str, _: int) -> Opinion:
        found = [opinions[word] for word in opinions if word in text]
        return max(found, key=lambda o: o.stop, default=calm)

    hears(monkeypatch, opinion)


def test_the_concerns_of_every_grave_stretch_count(monkeypatch: pytest.MonkeyPatch) -> None:
    _by_word(
        monkeypatch,
        garden=Opinion(5.0, 5.0, {**UNSURE, "suicide": 3.0}),
        fence=Opinion(2.0, 5.0, {**UNSURE, "violence": 3.0}),
        cellar=Opinion(-9.0, 5.0, {**UNSURE, "substance": 3.0}),
        kettle=Opinion(-9.0, -9.0, {**UNSURE, "self_harm": 3.0}),
    )
    filler = "We had tea. We had tea again. We had cake."
    flags = check_risk(f"The garden. {filler} The fence. {filler} The cellar. {filler} The kettle.", 2).flags
    assert (flags.suicidality_mentioned, flags.violence_risk, flags.substance_abuse_signal) == (True, True, True)
    assert not flags.self_harm_ideation


def test_each_stretch_is_held_to_the_limit_of_its_own_concern(monkeypatch: pytest.MonkeyPatch) -> None:
    drink = Opinion(-5.0, -0.9, {**UNSURE, "substance": 3.0})
    danger = Opinion(-6.0, -1.0, {**UNSURE, "suicide": 3.0})
    filler = "We had tea. We had tea again. We had cake."
    _by_word(monkeypatch, garden=drink)
    assert check_risk("The garden was quiet.", 2).level == "none"
    _by_word(monkeypatch, garden=drink, fence=danger)
    text = f"The garden was quiet. {filler} The fence was green."
    verdict = check_risk(text, 2)
    assert (verdict.level, quotes(text, verdict)) == ("flag", ["The fence was green"])
    assert not verdict.flags.substance_abuse_signal


def test_an_added_up_stop_quotes_whole_clauses_and_what_it_was_added_to(monkeypatch: pytest.MonkeyPatch) -> None:
    gives(monkeypatch, stop=9.0)
    text = "I wish I was dead, and the pills are all counted out,  this time I'm not telling anyone."
    verdict = check_risk(text, 2)
    assert verdict.rule is not None
    assert verdict.rule.startswith("self-plan")
    assert quotes(text, verdict) == ["and the pills are all counted out", "I wish I was dead"]


def test_of_an_endless_clause_only_what_stands_near_is_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    gives(monkeypatch)
    near = "so i wish i was dead today"
    text = f"{'we had tea with cake ' * 60}{near} {'with some more tea ' * 60}"
    (words,) = quotes(text, check_risk(text, 2))
    assert near in words
    assert len(words) < 300
    assert words == words.strip()


def test_the_same_place_is_quoted_once_and_many_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    gives(monkeypatch)
    text = " ".join(f"I wish I was dead on day {n}." for n in range(30))
    found = quotes(text, check_risk(text, 2))
    assert len(found) == len(set(found)) == 8


# ---- what is on record ----


def test_the_engine_names_the_reader_where_it_changed_the_level(monkeypatch: pytest.MonkeyPatch) -> None:
    gives(monkeypatch, stop=9.0, risk=9.0)
    assert check_risk("The garden was quiet.", 1).engine == "rules+reader"
    assert check_risk("I'm going to kill myself tonight.", 2).engine == "rules"
    gives(monkeypatch, risk=9.0)
    assert check_risk("The garden was quiet.", 1).engine == "rules+reader"
    gives(monkeypatch)
    assert check_risk("I wish I was dead and the pills are all counted out.", 2).engine == "rules+reader"
    assert check_risk("I wish I were dead.", 2).engine == "rules"
    assert check_risk("The garden was quiet.", 1).engine == "rules"


def test_a_verdict_names_the_version_of_tables_and_reader() -> None:
    tables = check_risk("The garden was quiet.", 1).tables
    assert tables == check_risk("I'm going to kill myself.", 2).tables == version()
    assert len(version()) == 12


# ---- its threads ----


@pytest.mark.parametrize(
    "text",
    [
        "I'm not going to kill myself tonight.",
        "I don't think I'd kill myself today.",
        "I won't kill myself tonight, I promise.",
        "Please don't worry, I've got no intention of ending my life this weekend.",
        "I have decided not to kill myself.",
        "I'm not going to kill myself today. My husband would be lost and I've the allotment.",
    ],
)
def test_who_only_says_that_it_will_not_be_done_is_no_stop(text: str) -> None:
    assert check_risk(text, 2).level == "flag"


@pytest.mark.parametrize(
    "text",
    [
        "I'm not going to kill myself here, I'll do it at the lake tonight.",
        "I'm not going to kill myself until the kids are at school tomorrow.",
        "I won't kill myself tonight, I'll wait for Sunday.",
        "I'm not going to kill myself tonight. Tomorrow.",
        "I'm not killing myself tonight. After the funeral.",
    ],
)
def test_a_denial_that_is_taken_back_is_read_with_the_rest(text: str) -> None:
    assert check_risk(text, 2).level == "stop"


@pytest.mark.parametrize(
    "text",
    [
        "I'm going to help my mum tonight.",
        "I'm going to see him tomorrow.",
        "Fine, thanks. I'm going to visit my brother on Saturday.",
        "I'll take her out tonight.",
        "I'm going to take it easy tomorrow.",
    ],
)
def test_an_ordinary_plan_is_nothing(text: str) -> None:
    assert check_risk(text, 1).level == "none"


@pytest.mark.parametrize(
    "text",
    [
        "I'm going to hurt my brother tonight.",
        "I keep thinking of hurting him. I'm going to see him tomorrow.",
        "I'm going to get him tomorrow, he will bleed.",
        "I can't stand being alive. I'm going to see my dead mum tonight.",
    ],
)
def test_an_ordinary_plan_beside_a_worry_hides_nothing(text: str) -> None:
    assert check_risk(text, 1).level != "none"


@pytest.mark.parametrize("beside", ["I'm not going to hurt anyone.", "I'm going to help my mum tonight."])
def test_neither_a_denial_nor_an_ordinary_plan_beside_it_hides_a_danger(beside: str) -> None:
    lines = (Path(__file__).parent / "data" / "risk_tune.jsonl").read_text("utf-8").splitlines()
    dangers = [row for row in map(json.loads, lines) if row["level"] == "stop" and row["item"] != 11][::150]
    found = [row for row in dangers if check_risk(row["text"], row["item"] or 0).level == "stop"]
    assert len(found) > 30
    for row in found:
        text = f"{row['text'].rstrip('. ')}. {beside}"
        assert check_risk(text, row["item"] or 0).level == "stop", row["id"]


@pytest.mark.parametrize("text", ["I don't know if I can go on", "I don't know", "not sure", "idk"])
def test_who_is_unsure_does_not_only_count(text: str) -> None:
    assert not second._only_counts(Message(read(text)))
    assert second._only_counts(Message(read("nearly every day")))
