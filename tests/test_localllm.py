"""A real model that talks nonsense drives a whole interview, and cannot break it. Run by `make test-localllm`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from agents.questions import keeps_concepts
from benchmark.personas import ITEMS, persona
from benchmark.replies import simulated
from benchmark.simulator import SimulatedPatient
from graph.assembly import build_runtime
from graph.conversation import converse
from graph.state import AgentRecord
from graph.view import View
from instruments.level1 import item_id, item_number, level1
from instruments.profile import SessionStatus
from settings import Settings
from storage.database import Database
from storage.model_calls import ModelCalls
from tests.small_model import MODEL, served

# An answer that takes longer is done by the rules, so that turns times seconds bounds the whole.
SECONDS_AN_ANSWER = 12.0
NO_ANSWER = {"timeout", "gateway", "rate_limited"}

pytestmark = [pytest.mark.localllm, pytest.mark.timeout(420)]


@pytest.fixture(scope="module")
def small_model() -> Iterator[str]:
    with served() as url:
        yield url


@pytest.fixture
def held(settings: Settings, database: Database, small_model: str) -> View:
    """A patient of few words, which leaves the model room to finish its own, interviewed by it."""
    with_model = Settings(
        _env_file=None,
        crosscut_home=settings.crosscut_home,
        gateway_base_url=small_model,
        gateway_api_key="none is needed",
        model_interviewer=MODEL,
        model_scorer=MODEL,
        model_call_seconds=SECONDS_AN_ANSWER,
        model_tries=1,
    )
    runtime = build_runtime(with_model, database)
    try:
        patient = SimulatedPatient(persona("flashbacks-and-pills"), seed=1)
        return converse(runtime, runtime.start(seed=1), simulated(patient))
    finally:
        runtime.close()


def test_nonsense_cannot_break_an_interview(held: View, database: Database) -> None:
    assert held.profile.session_status is SessionStatus.COMPLETED
    _assert_every_item_has_a_grounded_score(held)
    _assert_every_question_asks_its_item(held)
    _assert_what_the_rules_did_is_on_record(held, database)


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
    assert spent.completion_tokens > 0
