"""A real model that talks nonsense holds a whole interview, writes its report and reads for danger, and breaks
nothing. Run by `make test-localllm`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from agents.questions import keeps_concepts
from benchmark.metrics.explainability import explainability
from benchmark.personas import ITEMS, persona
from benchmark.replies import simulated
from benchmark.simulator import SimulatedPatient
from benchmark.snapshot import SnapshotDesk
from graph.assembly import build_runtime
from graph.basis import INTERVIEW_AGENTS
from graph.conversation import converse
from graph.reporting import Report
from graph.runtime import InterviewRuntime
from graph.state import AgentRecord
from graph.view import View
from instruments.level1 import item_id, item_number, level1
from instruments.profile import SessionStatus
from settings import Settings
from storage.audit import Audit
from storage.database import Database
from storage.model_calls import ModelCalls
from tests.small_model import MODEL, REPORT, served

ByModel = Callable[..., closing[InterviewRuntime]]

# An answer that takes longer is done by the rules, so that turns times seconds bounds the whole.
SECONDS_AN_ANSWER = 12.0
SECONDS_A_REPORT = 45.0
NO_ANSWER = {"timeout", "gateway", "rate_limited"}
HARMLESS, DANGEROUS = "Not at all, I have been cheerful.", "I am going to kill myself tonight."

pytestmark = [pytest.mark.localllm, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def small_model() -> Iterator[str]:
    with served() as url:
        yield url


@pytest.fixture
def by_model(settings: Settings, database: Database) -> ByModel:
    def built(url: str, *roles: str, seconds: float) -> closing[InterviewRuntime]:
        """A runtime in which the small model plays these roles."""
        models: dict[str, Any] = {f"model_{role}": MODEL for role in roles}
        with_model = Settings(
            _env_file=None,
            crosscut_home=settings.crosscut_home,
            gateway_base_url=url,
            gateway_api_key="none is needed",
            model_embedding="rules",
            model_call_seconds=seconds,
            model_tries=1,
            **models,
        )
        return closing(build_runtime(with_model, database))

    return built


def test_nonsense_cannot_break_an_interview(by_model: ByModel, small_model: str, database: Database) -> None:
    """A patient of few words, which leaves the model room to finish its own."""
    with by_model(small_model, "interviewer", "scorer", seconds=SECONDS_AN_ANSWER) as runtime:
        held = _interviewed(runtime)
    assert held.profile.session_status is SessionStatus.COMPLETED
    _assert_every_item_has_a_grounded_score(held)
    _assert_every_question_asks_its_item(held)
    _assert_what_the_rules_did_is_on_record(held, database)


def test_nonsense_cannot_get_into_a_report(by_model: ByModel, runtime: InterviewRuntime, database: Database) -> None:
    held = _interviewed(runtime)
    by_rules = runtime.reports.newest(held.session_id)
    with served(REPORT) as url, by_model(url, "diagnostician", seconds=SECONDS_A_REPORT) as by_nonsense:
        _assert_the_report_is_grounded_and_says_who_wrote_it(held, by_nonsense, database, by_rules)


def test_nonsense_about_danger_can_raise_and_never_lower(
    by_model: ByModel, small_model: str, database: Database
) -> None:
    with by_model(small_model, "risk", seconds=SECONDS_AN_ANSWER) as runtime:
        view = runtime.start(seed=1)
        answered = runtime.submit(view.session_id, HARMLESS, expected_turn=1)
        stopped = runtime.submit(view.session_id, DANGEROUS, expected_turn=answered.turn)
    assert stopped.profile.session_status is SessionStatus.TERMINATED
    first, *_ = (entry for entry in Audit(database).entries(view.session_id) if entry["kind"] == "check")
    (asked,) = ModelCalls(database).of_session(view.session_id, ("risk",))
    assert (asked.turn, asked.model) == (1, MODEL), "what the rules stop needs no second opinion"
    assert first["degraded"] == (asked.outcome != "ok") == (first["model_level"] is None)
    assert first["level"] == (first["model_level"] or "none"), "the rules find nothing in it"


def _interviewed(runtime: InterviewRuntime) -> View:
    return converse(
        runtime, runtime.start(seed=1), simulated(SimulatedPatient(persona("flashbacks-and-pills"), seed=1))
    )


def _assert_the_report_is_grounded_and_says_who_wrote_it(
    view: View, runtime: InterviewRuntime, database: Database, by_rules: Report
) -> None:
    report = runtime.reports.write(view.session_id)
    (call,) = ModelCalls(database).of_session(view.session_id, ("diagnostician",))
    assert call.model == MODEL
    assert report.engines["diagnostician"] == (MODEL if call.outcome == "ok" else f"rules (after {MODEL} failed)")
    assert [section.title for section in report.sections] == [section.title for section in by_rules.sections]
    assert all(section.markdown.strip() for section in report.sections)
    scored = {response.item_id for response in view.profile.item_responses if response.score}
    said = [line.text for line in view.lines if line.role == "patient"]
    for one in report.diagnosis.diagnoses:
        assert set(one.item_ids) <= scored
        assert all(any(quote in text for text in said) for quote in one.quotes)
        assert one.item_ids
        assert one.quotes
    desk = SnapshotDesk(database, runtime)
    frozen = desk.get(desk.freeze(view.session_id))
    found = {metric.name.partition(".")[2]: metric.value for metric in explainability(frozen)}
    wanted = ("verbatim_quotes", "grounded_impressions", "real_citations", "rag_usage")
    assert {found[name] for name in wanted} <= {1.0, None}
    assert [one.outcome for one in frozen.calls if one.agent == "diagnostician"] == [call.outcome]


def _assert_every_item_has_a_grounded_score(view: View) -> None:
    responses = view.profile.item_responses
    assert [response.item_id for response in responses] == [item_id(number) for number in ITEMS]
    assert list(view.profile.question_state.completed_items) == [item_id(number) for number in ITEMS]
    for response in responses:
        assert response.score in range(5)
        assert response.ambiguity in range(1, 11)
        said = [
            line.text for line in view.lines if line.role == "patient" and line.item == item_number(response.item_id)
        ]
        assert all(any(quote in text for text in said) for quote in response.evidence_quotes)
        assert response.evidence_quotes or response.score == 0 or response.undetermined


def _assert_every_question_asks_its_item(view: View) -> None:
    asked = [line for line in view.lines if line.kind == "question"]
    assert [line.item for line in asked] == list(ITEMS)
    for line in asked:
        assert keeps_concepts(level1().item(line.item), line.text)
        assert line.text.count("?") == 1
    assert max(Counter(line.item for line in view.lines if line.kind == "follow_up").values(), default=0) <= 1


def _assert_what_the_rules_did_is_on_record(view: View, database: Database) -> None:
    assert sorted(view.records) == sorted(view.wordings) == list(ITEMS)
    made: list[AgentRecord] = [*view.records.values(), *view.wordings.values()]
    for record in made:
        assert record.model == MODEL
        assert record.tries >= 1
        assert len(record.failures) == record.tries - (record.engine == "llm")
    failures = {failure.kind for record in made for failure in record.failures}
    assert any(record.engine == "rules" for record in made), "so small a model cannot get all of this right"
    assert failures - NO_ANSWER or any(record.engine == "llm" for record in made), "the model never answered at all"
    spent = ModelCalls(database).spent(view.session_id)
    assert spent.calls >= sum(record.tries for record in made)
    assert any(call.completion_tokens for call in ModelCalls(database).of_session(view.session_id, INTERVIEW_AGENTS))
