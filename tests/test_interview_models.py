"""Interviews with a model behind them, good and bad: the conversation always goes on and says what happened."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event
from typing import Any

import pytest

from agents.interviewer import QuestionBrief, check_draft, word_by_rules
from errors import RejectedOutput
from graph.assembly import build_runtime
from graph.runtime import InterviewRuntime
from instruments.level1 import level1
from instruments.profile import SessionStatus
from settings import Settings
from storage.database import Database
from storage.model_calls import ModelCalls
from storage.notices import Notices
from tests import gateway as stand_in
from tests.answers import answer_all
from tests.gateway import Gateway

MODEL = "openai/gpt-4.1"
_PATIENCE = 20.0  # seconds, for what happens at once unless it never does


@contextmanager
def _runtime(settings: Settings, database: Database, url: str, **extra: Any) -> Iterator[InterviewRuntime]:
    with_models = Settings(
        _env_file=None,
        crosscut_home=settings.crosscut_home,
        gateway_base_url=url,
        gateway_api_key="k",
        model_interviewer=MODEL,
        model_scorer=MODEL,
        **{"model_call_seconds": 5.0, **extra},
    )
    runtime = build_runtime(with_models, database)
    yield runtime
    runtime.close()


def _is_scoring(body: dict[str, Any]) -> bool:
    return bool(body["response_format"]["json_schema"]["name"] == "ItemScore")


def _good(body: dict[str, Any]) -> Any:
    if _is_scoring(body):
        flags = dict.fromkeys(
            ("suicidalityMentioned", "selfHarmIdeation", "violenceRisk", "substanceAbuseSignal"), False
        )
        score = {"score": 2, "ambiguity": 2, "evidenceQuotes": ["Several days"], "confidence": 0.9}
        return stand_in.json_reply({**score, "riskFlagsPatch": flags})
    number = int(body["messages"][1]["content"].split("Item ", 1)[1].split(" of 23")[0])
    words = word_by_rules(QuestionBrief(item=number, seed=1))
    return stand_in.json_reply({"question": words.question, "follow_up": words.follow_up})


def test_a_model_interview_records_engine_tokens_and_cost(
    settings: Settings, database: Database, gate: Gateway
) -> None:
    gate.default = _good
    with _runtime(settings, database, gate.base_url) as runtime:
        view = answer_all(runtime, runtime.start())
    assert view.profile.session_status is SessionStatus.COMPLETED
    assert {r.engine for r in view.records.values()} == {"llm"}
    spent = ModelCalls(database).spent(view.session_id)
    assert spent.calls == 46
    assert spent.prompt_tokens
    assert spent.cost_usd is not None
    assert "scorer=openai/gpt-4.1" in view.profile.session_meta.model_version


def test_the_next_question_is_worded_while_the_answer_is_scored(
    settings: Settings, database: Database, gate: Gateway
) -> None:
    """One call on the critical path: the score is held back until the next question has been asked for."""
    asked, overlapped = Event(), []

    def held(body: dict[str, Any]) -> Any:
        if _is_scoring(body):
            overlapped.append(asked.wait(_PATIENCE))
        else:
            asked.set()
        return _good(body)

    gate.default = _good
    with _runtime(settings, database, gate.base_url, model_call_seconds=2 * _PATIENCE) as runtime:
        view = runtime.start()
        before, gate.default = len(gate.requests), held
        for turn in (1, 2, 3):
            asked.clear()
            view = runtime.submit(view.session_id, "Several days.", expected_turn=turn)
    assert overlapped == [True] * 3
    assert len(gate.requests) - before == 6, "no turn waits for a third call"
    assert view.item == 4
    assert {wording.engine for wording in view.wordings.values()} == {"llm"}


def test_no_prompt_carries_the_transcript(settings: Settings, database: Database, gate: Gateway) -> None:
    gate.default = _good
    with _runtime(settings, database, gate.base_url) as runtime:
        view = runtime.start()
        for number in range(1, 6):
            view = runtime.submit(view.session_id, f"Several days, marker{number}.", expected_turn=view.turn)
    sent = [json.dumps(request.body) for request in gate.requests]
    assert max(sum(f"marker{n}" in text for n in range(1, 6)) for text in sent) == 1
    worded = [text for text in sent if '"Draft"' in text]
    assert worded
    assert not any("marker" in text for text in worded)


FAULTS: list[tuple[str, Any, str]] = [
    ("server error", stand_in.server_error(500), "gateway"),
    ("malformed json", stand_in.malformed_json(), "invalid_json"),
    ("wrong schema", stand_in.wrong_schema(), "schema"),
    ("refusal", stand_in.refusal(), "refusal"),
    ("empty", stand_in.empty(), "empty"),
    ("unauthorised", stand_in.unauthorised(), "gateway"),
]


@pytest.mark.parametrize(("name", "fault", "kind"), FAULTS, ids=[f[0] for f in FAULTS])
def test_a_failing_model_leaves_a_recorded_fallback_and_no_lost_turn(
    settings: Settings, database: Database, gate: Gateway, name: str, fault: Any, kind: str
) -> None:
    gate.default = fault
    with _runtime(settings, database, gate.base_url, model_tries=1) as runtime:
        view = answer_all(runtime, runtime.start(), "9 days")
    assert len(view.profile.item_responses) == 23
    assert all(r.score == 3 for r in view.profile.item_responses)
    assert {r.engine for r in view.records.values()} == {"rules"}
    assert {f.kind for r in view.records.values() for f in r.failures} == {kind}


def test_a_gateway_that_is_down_ends_no_interview(settings: Settings, database: Database) -> None:
    with _runtime(settings, database, "http://127.0.0.1:9/v1", model_tries=1) as runtime:
        view = answer_all(runtime, runtime.start(), "9 days")
    assert view.profile.session_status is SessionStatus.COMPLETED
    assert {f.kind for r in view.records.values() for f in r.failures} == {"gateway"}


def test_a_quote_that_the_patient_never_said_is_not_taken(
    settings: Settings, database: Database, gate: Gateway
) -> None:
    def invents(body: dict[str, Any]) -> Any:
        if not _is_scoring(body):
            return _good(body)
        flags = dict.fromkeys(
            ("suicidalityMentioned", "selfHarmIdeation", "violenceRisk", "substanceAbuseSignal"), False
        )
        quotes = ["I cry every single day"]
        return stand_in.json_reply(
            {"score": 4, "ambiguity": 1, "evidenceQuotes": quotes, "confidence": 1, "riskFlagsPatch": flags}
        )

    gate.default = invents
    with _runtime(settings, database, gate.base_url) as runtime:
        view = runtime.start()
        view = runtime.submit(view.session_id, "9 days", expected_turn=1)
    (response,) = view.profile.item_responses
    assert (response.score, response.evidence_quotes) == (3, ("9 days",))
    assert [f.kind for f in view.records[1].failures] == ["rejected"] * 3


def test_a_flag_that_only_the_scoring_model_saw_tells_an_absent_therapist(
    settings: Settings, database: Database, gate: Gateway
) -> None:
    def worries(body: dict[str, Any]) -> Any:
        if not _is_scoring(body):
            return _good(body)
        flags = {"suicidalityMentioned": False, "selfHarmIdeation": False, "violenceRisk": True}
        score = {"score": 2, "ambiguity": 2, "evidenceQuotes": ["Several days"], "confidence": 0.9}
        return stand_in.json_reply({**score, "riskFlagsPatch": {**flags, "substanceAbuseSignal": False}})

    gate.default = worries
    with _runtime(settings, database, gate.base_url) as runtime:
        view = runtime.start()
        view = runtime.submit(view.session_id, "Several days.", expected_turn=1)
    assert view.profile.risk_flags.violence_risk
    assert view.risks == {}, "the risk check found nothing"
    assert [(notice.kind, notice.turn) for notice in Notices(database).of_session(view.session_id)] == [("flag", 1)]


def _draft(question: str, follow_up: str = "On how many days was that so?") -> Any:
    from agents.interviewer import Draft

    return Draft(question=question, follow_up=follow_up)


@pytest.mark.parametrize(
    ("item", "question", "reason"),
    [
        (9, "Have you had pain in the past two weeks?", "keep the idea"),
        (21, "Have you been drinking alcohol in the past two weeks?", "keep the idea"),
        (1, "Have you lost interest? And pleasure?", "exactly one question"),
        (1, "Tell me about your interest in things.", "exactly one question"),
        (1, "little interest or pleasure in doing things?", "not quote it"),
        (1, "Have you lost interest " + "really " * 60 + "?", "at most 60 words"),
        (1, "  ", "must not be empty"),
    ],
)
def test_a_question_that_breaks_a_rule_is_rejected_with_the_reason(item: int, question: str, reason: str) -> None:
    with pytest.raises(RejectedOutput, match=reason):
        check_draft(QuestionBrief(item=item, seed=1), _draft(question))


@pytest.mark.parametrize("item", range(1, 24))
def test_the_rules_own_words_keep_the_rules(item: int) -> None:
    for seed in range(12):
        brief = QuestionBrief(item=item, seed=seed)
        assert check_draft(brief, word_by_rules(brief))
    assert level1().item(item).number == item
