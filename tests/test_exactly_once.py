"""Whatever is killed, wherever in a turn it happens: the message is taken once, scored once, and nothing is lost.

Nothing here waits for a moment: processes die at a numbered event of their own turn, and every event gets its turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest

from errors import CrosscutError
from graph.runtime import InterviewRuntime
from graph.state import Setup, first_state
from graph.view import View
from instruments.profile import PatientProfile, QuestionState, SessionMeta
from settings import Settings
from storage.audit import Audit
from storage.crypto import Vault
from storage.database import Database
from tests.answers import answer_until
from tests.mortal import Errand, Nursery, eventful_runtime, nursery
from tests.support import wait_until

CLEAR = "9 days"
VAGUE = "My brother visited from Leeds."
DANGER = "I am going to kill myself tonight."
MOST_EVENTS = 60
"""More than any turn has; a loop that gets there is not ending."""


def _at_the_beginning(runtime: InterviewRuntime) -> View:
    return runtime.start(seed=1)


def _in_the_middle(runtime: InterviewRuntime) -> View:
    return answer_until(runtime, runtime.start(seed=1), 3)


def _before_a_follow_up_answer(runtime: InterviewRuntime) -> View:
    view = runtime.start(seed=1)
    return runtime.submit(view.session_id, VAGUE, expected_turn=1)


def _before_the_last_answer(runtime: InterviewRuntime) -> View:
    session = runtime.sessions.create().id
    items = tuple(f"L1-{n:02d}" for n in range(1, 24))
    meta = SessionMeta(session_id=session, model_version="test", prompt_version="test")
    state = QuestionState(pending_items=items[-1:], completed_items=items[:-1])
    first = first_state(Setup(session_id=session, seed=1), PatientProfile(session_meta=meta, question_state=state))
    config: Any = {"configurable": {"thread_id": session}}
    runtime.graph.invoke(first, config, durability="sync")
    return runtime.view(session)


@dataclass(frozen=True)
class Case:
    name: str
    begin: Callable[[InterviewRuntime], View]
    text: str


CASES = [
    Case("a question is answered and the next one asked", _at_the_beginning, CLEAR),
    Case("a follow-up is asked", _in_the_middle, VAGUE),
    Case("a follow-up is answered", _before_a_follow_up_answer, CLEAR),
    Case("the last question is answered", _before_the_last_answer, CLEAR),
    Case("danger stops the session", _in_the_middle, DANGER),
]
by_name = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))


@pytest.fixture(scope="module")
def children(home: Path) -> Iterator[Nursery]:
    with nursery(home) as born:
        yield born


def _told(view: View) -> dict[str, Any]:
    """What a patient and a therapist can tell two sessions apart by."""
    lines = [(line.turn, line.role, line.kind, line.item, line.text) for line in view.lines]
    profile = view.profile.model_dump(exclude={"transcript", "session_meta", "completed_at"})
    return {"lines": lines, "profile": profile, "turn": view.turn, "item": view.item}


def _undisturbed(runtime: InterviewRuntime, case: Case) -> dict[str, Any]:
    view = case.begin(runtime)
    return _told(runtime.submit(view.session_id, case.text, expected_turn=view.turn, message_id="the message"))


def _assert_taken_once(
    runtime: InterviewRuntime, database: Database, before: View, case: Case, expected: dict[str, Any], where: str
) -> None:
    """After whatever happened: a reload works, the message sent again ends as if nothing had happened."""
    session = before.session_id
    wait_until(lambda: _nobody_holds_a_lock(database))
    assert runtime.view(session).turn in (before.turn, before.turn + 1), where
    again = runtime.submit(session, case.text, expected_turn=before.turn, message_id="the message")
    assert _told(again) == expected, where
    assert _told(runtime.view(session)) == expected, where
    assert [t.text for t in runtime.turns.of_session(session) if t.message_id == "the message"] == [case.text], where
    entries = Audit(database).entries(session)
    checks = [entry for entry in entries if entry["turn"] == before.turn and not entry["refused"]]
    assert len(checks) == 1, where
    assert runtime.sessions.get(session).status == again.profile.session_status.value, where


def _nobody_holds_a_lock(database: Database) -> bool:
    """Postgres notices a moment later that a client is gone; until then it is "still being worked on"."""
    held = database.one(
        "SELECT count(*) FROM pg_locks JOIN pg_database d ON d.oid = database "
        "WHERE locktype = 'advisory' AND d.datname = current_database()"
    )
    return held == {"count": 0}


@by_name
def test_a_process_killed_at_any_event_of_a_turn_loses_and_doubles_nothing(
    runtime: InterviewRuntime, database: Database, children: Nursery, case: Case
) -> None:
    expected = _undisturbed(runtime, case)
    for event in count(1):
        assert event < MOST_EVENTS
        before = case.begin(runtime)
        errand = Errand(database.url, before.session_id, before.turn, case.text, "the message", dies_at=event)
        (end,) = children.send(errand)
        _assert_taken_once(runtime, database, before, case, expected, where=f"killed {(end.events or ['?'])[-1]}")
        if not end.killed:  # it has no more events than that
            assert event > 10, end
            assert end.outcome == f"turn {before.turn + 1}"
            break


# A pool takes a second to find its feet again, so not every case has its turn here.
@pytest.mark.parametrize("case", [CASES[0], CASES[-1]], ids=lambda case: case.name.replace(" ", "-"))
def test_connections_killed_at_any_event_of_a_turn_lose_and_double_nothing(
    runtime: InterviewRuntime, settings: Settings, database: Database, vault: Vault, case: Case
) -> None:
    expected = _undisturbed(runtime, case)
    for event in count(1):
        assert event < MOST_EVENTS
        before = case.begin(runtime)
        others = _connections(database)
        with Database(database.url, vault) as own:
            seen = _submit_and_cut(settings, own, before, case, event, spared=others)
        _assert_taken_once(runtime, database, before, case, expected, where=f"cut {seen[event - 1 : event]}")
        if len(seen) < event:
            break


def _submit_and_cut(
    settings: Settings, database: Database, before: View, case: Case, event: int, spared: list[int]
) -> list[str]:
    """Submit over connections that are all cut at this event; a pool makes new ones."""
    seen: list[str] = []

    def on_event(name: str) -> None:
        seen.append(name)
        if len(seen) == event:
            _cut_connections(database.url, spared)

    with eventful_runtime(settings, database, on_event) as runtime, suppress(CrosscutError, psycopg.Error):
        runtime.submit(before.session_id, case.text, expected_turn=before.turn, message_id="the message")
    return seen


def _connections(database: Database) -> list[int]:
    return [row["pid"] for row in database.all("SELECT pid FROM pg_stat_activity WHERE datname = current_database()")]


def _cut_connections(url: str, spared: list[int]) -> None:
    with psycopg.connect(url, autocommit=True) as killer:
        killer.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid() AND pid <> ALL(%s)",
            (spared,),
        )


def test_of_two_processes_that_answer_the_same_turn_one_is_taken(
    runtime: InterviewRuntime, database: Database, children: Nursery
) -> None:
    view = runtime.start(seed=1)
    for turn in range(1, 9):
        tabs = [Errand(database.url, view.session_id, turn, f"{n} days", f"{turn}-{n}") for n in (3, 9)]
        ends = children.send(*tabs)
        taken = [tab for tab, end in zip(tabs, ends, strict=True) if end.outcome == f"turn {turn + 1}"]
        refused = {end.outcome for end in ends} - {f"turn {turn + 1}"}
        assert len(taken) == 1, ends
        assert refused <= {"TurnInProgress", "StaleTurn"}, ends
        ledger = runtime.turns.get(view.session_id, turn)
        assert ledger is not None
        assert ledger.text == taken[0].text
        view = runtime.view(view.session_id)
        assert view.profile.item_responses[turn - 1].score == {"3 days": 2, "9 days": 3}[taken[0].text]
    assert len(runtime.turns.of_session(view.session_id)) == 8


def test_the_same_message_from_two_processes_is_one_turn(
    runtime: InterviewRuntime, database: Database, children: Nursery
) -> None:
    view = runtime.start(seed=1)
    for turn in range(1, 9):
        twice = [Errand(database.url, view.session_id, turn, CLEAR, f"message {turn}")] * 2
        ends = children.send(*twice)
        assert {end.outcome for end in ends} <= {f"turn {turn + 1}", "TurnInProgress"}, ends
        assert sum("before scorer" in end.events for end in ends) == 1, ends
    view = runtime.view(view.session_id)
    assert [line.text for line in view.lines if line.role == "patient"] == [CLEAR] * 8
    assert [entry["turn"] for entry in Audit(database).entries(view.session_id) if not entry["refused"]] == [
        *range(1, 9)
    ]
