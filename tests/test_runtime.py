"""A turn is never lost and never doubled; whatever was killed is taken up again."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from langgraph.types import Command

from agents.contract import Agent, Budget
from agents.escalation import escalation
from agents.interviewer import interviewer
from agents.risk.checker import RiskChecker
from agents.scorer import AnswerToScore, ItemScore, score_by_rules
from errors import InputError, NotFoundError, StaleTurn, StorageError, TurnInProgress
from graph.interview import InterviewAgents
from graph.provenance import provenance_of
from graph.runtime import InterviewRuntime
from graph.safety import SafetyDesk
from graph.state import STATE_VERSION, InterviewState
from graph.threads import Versions
from instruments.profile import SessionStatus
from settings import Settings
from storage.database import Database
from storage.spool import Spool
from tests.answers import CLEAR, answer_all, answer_until

VAGUE = "My brother visited from Leeds."


def test_an_interview_covers_all_items_in_order(runtime: InterviewRuntime) -> None:
    view = answer_all(runtime, runtime.start())
    profile = view.profile
    assert profile.session_status is SessionStatus.COMPLETED
    assert profile.completed_at is not None
    assert [r.item_id for r in profile.item_responses] == [f"L1-{n:02d}" for n in range(1, 24)]
    assert profile.question_state.pending_items == ()
    assert [line.item for line in view.lines if line.kind == "question"] == list(range(1, 24))
    assert view.lines[0].kind == "intro"
    assert view.lines[-1].kind == "closing"
    assert {r.engine for r in view.records.values()} == {"rules"}


def test_every_quote_is_in_what_the_patient_said(runtime: InterviewRuntime) -> None:
    said = "Oh, most days I would say."
    view = answer_all(runtime, runtime.start(), said)
    quotes = [quote for r in view.profile.item_responses for quote in r.evidence_quotes]
    assert len(quotes) >= 23
    assert all("most days" in quote and quote in said for quote in quotes)


def test_an_unclear_answer_gets_one_follow_up_and_then_the_next_item(runtime: InterviewRuntime) -> None:
    view = runtime.start()
    view = runtime.submit(view.session_id, VAGUE, expected_turn=1)
    assert (view.lines[-1].kind, view.item) == ("follow_up", 1)
    view = runtime.submit(view.session_id, VAGUE, expected_turn=2)
    assert (view.lines[-1].kind, view.item) == ("question", 2)
    assert view.profile.question_state.follow_ups_needed == ("L1-01",)
    assert view.profile.item_responses[0].undetermined


def test_a_follow_up_that_settles_it_counts(runtime: InterviewRuntime) -> None:
    view = runtime.start()
    view = runtime.submit(view.session_id, VAGUE, expected_turn=1)
    view = runtime.submit(view.session_id, "9 days", expected_turn=2)
    assert view.profile.item_responses[0].score == 3
    assert view.profile.question_state.follow_ups_needed == ()


def test_the_same_message_again_gives_the_same_view(runtime: InterviewRuntime) -> None:
    start = runtime.start()
    first = runtime.submit(start.session_id, CLEAR, expected_turn=1, message_id="m1")
    again = runtime.submit(start.session_id, CLEAR, expected_turn=1, message_id="m1")
    assert again == first
    assert len(runtime.turns.of_session(start.session_id)) == 1


def test_another_message_for_an_answered_turn_is_stale_and_changes_nothing(runtime: InterviewRuntime) -> None:
    start = runtime.start()
    first = runtime.submit(start.session_id, CLEAR, expected_turn=1)
    with pytest.raises(StaleTurn, match="the conversation is at turn 2"):
        runtime.submit(start.session_id, "Never", expected_turn=1)
    assert runtime.view(start.session_id) == first


def test_a_finished_session_takes_no_more(runtime: InterviewRuntime) -> None:
    done = answer_all(runtime, runtime.start())
    assert runtime.submit(done.session_id, "one more thing", expected_turn=done.turn) == done
    assert runtime.view(done.session_id) == done


def test_a_stop_ends_the_session_with_the_script_alone(runtime: InterviewRuntime) -> None:
    view = answer_until(runtime, runtime.start(), 4)
    stopped = runtime.submit(view.session_id, "I am going to kill myself.", expected_turn=view.turn)
    assert stopped.profile.session_status is SessionStatus.TERMINATED
    assert stopped.profile.risk_flags.suicidality_mentioned
    assert stopped.lines[-1].kind == "safety_script"
    assert len(stopped.profile.item_responses) == 3
    assert runtime.submit(view.session_id, "Never mind.", expected_turn=stopped.turn) == stopped
    assert runtime.sessions.get(view.session_id).status == "terminated_for_safety"


def test_an_outside_command_scores_nothing_after_a_stop(runtime: InterviewRuntime) -> None:
    view = runtime.start()
    stopped = runtime.submit(view.session_id, "I am going to kill myself.", expected_turn=1)
    config: Any = {"configurable": {"thread_id": view.session_id}}
    runtime.graph.invoke(Command(goto="SCORE_ITEM"), config, durability="sync")
    assert runtime.view(view.session_id) == stopped


def test_an_unknown_session_and_an_overlong_message_are_refused(runtime: InterviewRuntime) -> None:
    with pytest.raises(NotFoundError):
        runtime.view("no-such-session")
    with pytest.raises(NotFoundError):
        runtime.submit("no-such-session", CLEAR, expected_turn=1)
    view = runtime.start()
    with pytest.raises(InputError, match="100,000 characters"):
        runtime.submit(view.session_id, "x" * 100_001, expected_turn=1)
    assert runtime.view(view.session_id).turn == 1


def test_progress_is_listed(runtime: InterviewRuntime) -> None:
    view = answer_until(runtime, runtime.start(mode="screening"), 6)
    listed = runtime.sessions.get(view.session_id)
    assert (listed.items_completed, listed.next_turn, listed.mode) == (5, 6, "screening")


def test_a_turn_in_the_ledger_that_was_never_worked_on_is_taken_up(runtime: InterviewRuntime) -> None:
    view = answer_until(runtime, runtime.start(), 3)
    runtime.turns.add(view.session_id, 3, "m3", "Nearly every day.")
    assert runtime.sessions.unfinished() == [view.session_id]
    assert runtime.recover_all() == [view.session_id]
    assert runtime.sessions.unfinished() == []
    recovered = runtime.view(view.session_id)
    assert (recovered.turn, recovered.profile.item_responses[2].score) == (4, 4)


def test_a_session_that_was_created_but_never_begun_begins_when_it_is_opened(runtime: InterviewRuntime) -> None:
    session = runtime.sessions.create()
    assert [line.kind for line in runtime.view(session.id).lines] == ["intro", "question"]


def test_connections_killed_between_turns_lose_nothing(runtime: InterviewRuntime, database: Database) -> None:
    view = runtime.start()
    for _ in range(6):
        with psycopg.connect(database.url, autocommit=True) as killer:
            killer.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        view = runtime.submit(view.session_id, CLEAR, expected_turn=view.turn)
    assert view.items_completed == 6


def test_a_state_of_an_unknown_version_is_refused() -> None:
    with pytest.raises(StorageError, match=f"state version 99, this Crosscut reads {STATE_VERSION}"):
        InterviewState({"state_version": 99})


class _Scorer:
    """Rules that can be held up or made to fail, and count how often they are asked."""

    def __init__(self) -> None:
        self.entered, self.go_on = threading.Event(), threading.Event()
        self.go_on.set()
        self.asked = 0
        self.fails = False

    def __call__(self, answer: AnswerToScore) -> ItemScore:
        self.asked += 1
        self.entered.set()
        assert self.go_on.wait(20)
        if self.fails:
            raise RuntimeError("the scorer broke")
        return score_by_rules(answer)


@pytest.fixture
def scorer() -> _Scorer:
    return _Scorer()


@pytest.fixture
def held_runtime(settings: Settings, database: Database, scorer: _Scorer) -> Iterator[InterviewRuntime]:
    agents = InterviewAgents(
        interviewer=interviewer(None, Budget()),
        scorer=Agent(name="scorer", rules=scorer),
        risk=RiskChecker(),
        script=escalation("en-US").script,
        follow_up_threshold=5,
    )
    desk = SafetyDesk(database, escalation("en-US"), Spool(settings.crosscut_home, database.vault))
    runtime = InterviewRuntime(database, agents, Versions("test", "test", provenance_of(settings, [])), desk)
    yield runtime
    scorer.go_on.set()
    runtime.close()


def test_of_eight_tabs_that_answer_at_once_one_is_taken(held_runtime: InterviewRuntime, scorer: _Scorer) -> None:
    view = held_runtime.start()
    scorer.go_on.clear()
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(held_runtime.submit, view.session_id, CLEAR, expected_turn=1)
        assert scorer.entered.wait(20)
        for _ in range(7):
            with pytest.raises(TurnInProgress):
                held_runtime.submit(view.session_id, "Never", expected_turn=1)
        scorer.go_on.set()
        assert first.result().turn == 2
    assert scorer.asked == 1
    assert [t.text for t in held_runtime.turns.of_session(view.session_id)] == [CLEAR]


def test_a_node_that_fails_is_loud_and_its_turn_is_scored_once_when_it_works_again(
    held_runtime: InterviewRuntime, scorer: _Scorer
) -> None:
    view = held_runtime.start()
    scorer.fails = True
    with pytest.raises(RuntimeError, match="the scorer broke"):
        held_runtime.submit(view.session_id, "9 days", expected_turn=1, message_id="m1")
    scorer.fails = False
    recovered = held_runtime.view(view.session_id)
    assert (recovered.turn, recovered.profile.item_responses[0].score) == (2, 3)
    assert [line.kind for line in recovered.lines] == ["intro", "question", "answer", "question"]
    assert held_runtime.submit(view.session_id, "9 days", expected_turn=1, message_id="m1") == recovered
