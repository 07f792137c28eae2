"""A model words the questions, code keeps the PRD's rules: what breaks one is sent back with the reason, three times at
most, and then the rules' own words are used and the record says so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from agents.contract import Agent, Budget
from agents.interviewer import Draft, QuestionBrief, check_draft, interviewer, word_by_rules
from agents.models import ModelFactory
from graph.assembly import build_runtime
from graph.runtime import InterviewRuntime
from instruments.level1 import Item, level1
from settings import Settings
from storage.database import Database
from storage.model_calls import ModelCalls
from tests import gateway as stand_in
from tests.gateway import Gateway

MODEL = "openai/gpt-4.1"
GOOD_FOLLOW_UP = "On about how many of the past two weeks' days were you low?"
BRIEF = QuestionBrief(item=2, seed=1)

# Item 2 is about feeling down, depressed or hopeless.
BAD_QUESTIONS: list[tuple[str, str, str]] = [
    ("two questions", "Have you felt low these two weeks? Or hopeless?", "exactly one question"),
    ("two under one mark", "How often in the two weeks were you low, and were you angry too?", "asks a second one"),
    ("no question", "Please tell me how low you felt these two weeks.", "exactly one question"),
    ("verbatim", "In the past two weeks, have you been feeling down, depressed, or hopeless?", "not quote it"),
    ("too long", "In the past two weeks, have you felt low " + "or low " * 30 + "?", "at most 60 words"),
    ("empty", "   ", "must not be empty"),
    ("concept lost", "How has your sleep been in the past two weeks?", "keep the idea of: down or depressed"),
    ("no window", "Have you been feeling low at all?", "past two weeks"),
    (
        "diagnosis",
        "In the past two weeks, have you had low days that could be a depressive disorder?",
        "must not diagnose",
    ),
    ("interpretation", "It seems that you are low; how often in the past two weeks?", "must not diagnose or interpret"),
    ("severity", "How severe was your low mood in the past two weeks?", "must not diagnose or interpret"),
    ("advice", "You should see a doctor, but were you low in the past two weeks?", "must not advise"),
    ("reassurance", "Don't worry, but have you felt low in the past two weeks?", "must not advise, reassure"),
    ("own safety script", "Call 911 if you must; were you low in the past two weeks?", "must not advise, reassure"),
    ("thanks", "Thank you. Have you felt low in the past two weeks?", "must not acknowledge or comment"),
    ("sympathy", "I'm sorry to hear that. Were you low in the past two weeks?", "must not acknowledge or comment"),
    ("recap", "You mentioned your job; were you low in the past two weeks?", "must not acknowledge or comment"),
    ("leading", "Surely you have felt low in the past two weeks?", "must not lead"),
    ("tag question", "You were low in the past two weeks, weren't you, or haven't you noticed?", "must not lead"),
    ("markdown", "**Question:** have you felt low in the past two weeks?", "plain text on one line"),
    ("several lines", "Next item.\nHave you felt low in the past two weeks?", "plain text on one line"),
    ("html", "<b>Have you felt low in the past two weeks?</b>?", "plain text on one line"),
]
BAD_FOLLOW_UPS: list[tuple[str, str, str]] = [
    ("not about days", "In the past two weeks, was it bad when you were low?", "on how many days"),
    ("no window in it", "On how many days were you low?", "follow_up must say that it is about the past two weeks"),
    ("comment", "I see, and on how many days of the past two weeks were you low?", "follow_up must not acknowledge"),
    ("advice in it", "You should rest; on how many days of the two weeks were you low?", "follow_up must not advise"),
    ("concept lost in it", "On how many days of the two weeks did you sleep?", "follow_up must keep the idea of"),
    ("two in one", "How many days in the two weeks? And nights?", "follow_up must be exactly one question"),
]


ITEM_1_FOLLOW_UP = "On about how many of the past fourteen days did you enjoy things less?"
"""Item 1 comes first in an interview."""


def _draft(question: str, follow_up: str = GOOD_FOLLOW_UP) -> dict[str, str]:
    return {"question": question, "follow_up": follow_up}


GOOD = _draft("In the past two weeks, how often have you felt low or without hope?")


@pytest.fixture
def agent(gate: Gateway) -> Iterator[Agent[QuestionBrief, Draft]]:
    settings = Settings(_env_file=None, gateway_base_url=gate.base_url, gateway_api_key="k", model_interviewer=MODEL)
    models = ModelFactory(settings)
    yield interviewer(models.chat("interviewer"), Budget(tries=3, seconds=10))
    models.close()


VIOLATIONS = [(name, _draft(question), reason) for name, question, reason in BAD_QUESTIONS] + [
    (name, _draft(GOOD["question"], follow_up), reason) for name, follow_up, reason in BAD_FOLLOW_UPS
]


@pytest.mark.parametrize(("name", "bad", "reason"), VIOLATIONS, ids=[v[0] for v in VIOLATIONS])
def test_a_violation_is_sent_back_with_its_reason_and_a_mended_question_is_taken(
    gate: Gateway, agent: Agent[QuestionBrief, Draft], name: str, bad: dict[str, str], reason: str
) -> None:
    gate.script(stand_in.json_reply(bad), stand_in.json_reply(GOOD))
    result = agent.run(BRIEF)
    assert (result.engine, result.tries, result.output.question) == ("llm", 2, GOOD["question"])
    (failure,) = result.failures
    assert failure.kind == "rejected"
    assert reason in failure.reason
    assert failure.reason in gate.requests[1].message("user")
    assert failure.reason not in gate.requests[0].message("user")


@pytest.mark.parametrize("item", level1().items, ids=lambda item: item.id)
def test_the_model_is_told_each_concept_in_its_first_wordings(
    gate: Gateway, agent: Agent[QuestionBrief, Draft], item: Item
) -> None:
    gate.default = stand_in.json_reply(word_by_rules(QuestionBrief(item=item.number, seed=1)).model_dump())
    agent.run(QuestionBrief(item=item.number, seed=1))
    told = gate.requests[0].message("user").partition("Concepts to keep: ")[2].split("; ")
    assert [part.split(" or ") for part in told] == [list(group[:4]) for group in item.concepts]


def test_the_good_draft_of_these_tests_is_good() -> None:
    draft = Draft(**GOOD)
    assert check_draft(BRIEF, draft) == draft


@pytest.mark.parametrize(("name", "bad", "reason"), VIOLATIONS[:3] + VIOLATIONS[-2:], ids=lambda v: str(v)[:20])
def test_a_model_that_does_not_mend_it_is_replaced_by_the_rules(
    gate: Gateway, agent: Agent[QuestionBrief, Draft], name: str, bad: dict[str, str], reason: str
) -> None:
    gate.default = stand_in.json_reply(bad)
    result = agent.run(BRIEF)
    assert (result.engine, result.output) == ("rules", word_by_rules(BRIEF))
    assert [failure.kind for failure in result.failures] == ["rejected"] * 3
    assert len(gate.requests) == 3


@pytest.fixture
def modelled(settings: Settings, database: Database, gate: Gateway) -> Iterator[InterviewRuntime]:
    extra: dict[str, Any] = {"crosscut_home": settings.crosscut_home, "gateway_base_url": gate.base_url}
    made = build_runtime(Settings(_env_file=None, gateway_api_key="k", model_interviewer=MODEL, **extra), database)
    yield made
    made.close()


def test_the_session_records_who_worded_each_item_and_the_patient_never_sees_a_violation(
    modelled: InterviewRuntime, database: Database, gate: Gateway
) -> None:
    bad = _draft("You should see a doctor, don't you think so?")
    gate.default = stand_in.json_reply(bad)
    view = modelled.submit(modelled.start(seed=5).session_id, "Not at all.", expected_turn=1)
    assert {item: record.engine for item, record in view.wordings.items()} == {1: "rules", 2: "rules"}
    assert {failure.kind for record in view.wordings.values() for failure in record.failures} == {"rejected"}
    assert view.wordings[1].model == MODEL
    assert not any("doctor" in line.text for line in view.lines)
    rules = word_by_rules(QuestionBrief(item=2, seed=5)).question
    assert view.lines[-1].text.endswith(rules)
    assert ModelCalls(database).spent(view.session_id).calls == 6


def test_a_models_good_words_are_what_the_patient_reads(modelled: InterviewRuntime, gate: Gateway) -> None:
    first = _draft(
        "To start, in these two weeks, how often did you enjoy things less than you used to?", ITEM_1_FOLLOW_UP
    )
    gate.script(stand_in.json_reply(first))
    view = modelled.start()
    assert view.lines[-1].text == first["question"]
    assert view.wordings[1].engine == "llm"


def test_a_vague_answer_gets_the_models_follow_up_and_a_question_back_gets_the_rules_words(
    modelled: InterviewRuntime, gate: Gateway
) -> None:
    first = _draft("In these two weeks, how often did you enjoy things less than you used to?", ITEM_1_FOLLOW_UP)
    gate.default = stand_in.json_reply(first)
    vague, puzzled = modelled.start(), modelled.start()
    asked = modelled.submit(vague.session_id, "Hm, that is hard to say.", expected_turn=1)
    assert asked.lines[-1].kind == "follow_up"
    assert asked.lines[-1].text.endswith(ITEM_1_FOLLOW_UP)
    explained = modelled.submit(puzzled.session_id, "What do you mean?", expected_turn=1)
    assert explained.lines[-1].kind == "follow_up"
    assert ITEM_1_FOLLOW_UP not in explained.lines[-1].text
