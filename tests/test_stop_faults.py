"""What may go wrong around a stop: the script is shown all the same, the words are kept, and nobody else waits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from functools import reduce
from pathlib import Path
from threading import Event
from typing import Any

import psycopg
import pytest

from agents.escalation import escalation
from agents.risk import check_risk
from errors import InputError, SealError, ServiceError, StaleTurn, UnrecordedStop
from graph import interview as interviews
from graph import runtime as runtimes
from graph.assembly import build_runtime
from graph.interview import ReceivedMessage
from graph.replay import Replay
from graph.runtime import InterviewRuntime
from graph.view import View
from instruments.profile import SessionStatus
from settings import Settings
from storage.audit import Audit
from storage.database import Database
from storage.raised import RaisedMessages
from tests import gateway as stand_in
from tests.answers import answer_until
from tests.attached import gone
from tests.gateway import Gateway
from tests.support import wait_until
from tests.wrapped import held_scorer

DANGER = "I am going to kill myself tonight."
SCRIPT = escalation("en-US").script
OPINION = {"suicidality": True, "selfHarm": False, "violence": False, "substance": False}


def _is_stopped(view: View) -> bool:
    return view.profile.session_status is SessionStatus.TERMINATED and view.lines[-1].text == SCRIPT


def _said(view: View) -> list[str]:
    return [line.text for line in view.lines if line.role == "patient"]


def _with_risk_model(home: Path, gate: Gateway) -> Settings:
    return Settings(
        _env_file=None,
        crosscut_home=home,
        gateway_base_url=gate.base_url,
        gateway_api_key="k",
        model_risk="openai/gpt-4.1",
    )


@pytest.fixture
def own(tmp_path: Path, database: Database) -> Iterator[InterviewRuntime]:
    """A runtime with a home, and so a spool, of its own."""
    made = build_runtime(Settings(_env_file=None, crosscut_home=tmp_path), database)
    yield made
    made.close()


def test_a_stop_that_hangs_is_spooled_and_its_script_shown(
    own: InterviewRuntime, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = answer_until(own, own.start(), 3)
    monkeypatch.setattr(runtimes, "_STOP_SECONDS", 0.5)
    with psycopg.connect(database.url) as other:
        other.execute("SELECT FROM sessions WHERE id = %s FOR UPDATE", (view.session_id,))
        with pytest.raises(UnrecordedStop) as told:
            own.submit(view.session_id, DANGER, expected_turn=3, message_id="m3")
        assert told.value.script == SCRIPT
        assert not own._desk.spool.empty
    monkeypatch.setattr(runtimes, "_STOP_SECONDS", 60.0)
    assert own.start().open, "the spool is drained before anything else"
    assert own._desk.spool.empty
    stopped = own.view(view.session_id)
    assert _is_stopped(stopped)
    assert _said(stopped).count(DANGER) == 1
    checks = [entry for entry in Audit(database).entries(view.session_id) if entry["turn"] == 3]
    assert [entry["refused"] for entry in checks] == [""], "entered by both, it is on record once"


def test_with_a_database_that_hangs_whoever_writes_is_told_that_nothing_was_kept(
    own: InterviewRuntime, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = answer_until(own, own.start(), 3)
    monkeypatch.setattr(runtimes, "_ANSWER_SECONDS", 0.2)
    answers_again = Event()
    with monkeypatch.context() as hanging:
        hanging.setattr(Database, "is_there", lambda _: answers_again.wait(60))
        with pytest.raises(ServiceError):
            own.submit(view.session_id, "Several days.", expected_turn=3, message_id="m3")
        answers_again.set()
    assert own.submit(view.session_id, "Several days.", expected_turn=3, message_id="m3").turn > 3


def test_while_the_database_is_gone_who_was_stopped_sees_the_script_whatever_they_write(
    own: InterviewRuntime, database: Database
) -> None:
    view = answer_until(own, own.start(), 3)
    with gone(database.url):
        for text in (DANGER, "Several days.", "Hello?"):
            with pytest.raises(UnrecordedStop) as told:
                own.submit(view.session_id, text, expected_turn=3)
            assert told.value.script == SCRIPT
    wait_until(database.is_there)
    wait_until(lambda: _is_entered(own, view.session_id))


def test_a_stop_that_waited_keeps_the_moment_at_which_it_was_said(own: InterviewRuntime, database: Database) -> None:
    view = answer_until(own, own.start(), 3)
    earlier = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
    own._desk.spool_stop(ReceivedMessage(view.session_id, 3, "m3", DANGER, at=earlier), check_risk(DANGER))
    own.start()
    said = next(line for line in own.view(view.session_id).lines if line.text == DANGER)
    assert said.at == earlier
    assert Audit(database).entries(view.session_id)[-1]["at"].startswith("2026-01-02T03:04")


def test_with_the_database_gone_a_stop_asks_it_nothing_before_its_script(
    own: InterviewRuntime, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = answer_until(own, own.start(), 3)
    asked: list[str] = []
    with monkeypatch.context() as watched, gone(database.url):
        for pool in (database.pool, database.locks):
            watched.setattr(pool, "connection", _noting(asked, pool.connection))
        with pytest.raises(UnrecordedStop) as told:
            own.submit(view.session_id, DANGER, expected_turn=3, invited=_uninvited(asked))
        assert told.value.script == SCRIPT
    assert asked == ["connection"], "one glance at the pool, and nothing is waited for"
    wait_until(database.is_there)
    wait_until(lambda: _is_entered(own, view.session_id))
    assert _said(own.view(view.session_id))[-1] == DANGER


def _uninvited(asked: list[str]) -> Callable[[], bool]:
    def told() -> bool:
        asked.append("link")
        return False

    return told


def _noting(asked: list[str], connection: Callable[..., Any]) -> Callable[..., Any]:
    def noted(**given: Any) -> Any:
        asked.append("connection")
        return connection(**given)

    return noted


def _is_entered(runtime: InterviewRuntime, session_id: str) -> bool:
    """Connections to a database that was away come back one after the other."""
    with suppress(ServiceError, UnrecordedStop):
        return _is_stopped(runtime.view(session_id))
    return False


def test_danger_does_not_wait_for_who_may_still_answer_and_nothing_else_is_taken_from_others(
    own: InterviewRuntime,
) -> None:
    asked: list[str] = []
    first, other = (answer_until(own, own.start(), 3).session_id for _ in range(2))
    assert _is_stopped(own.submit(first, DANGER, expected_turn=3, invited=_uninvited(asked)))
    assert asked == []
    with pytest.raises(StaleTurn):
        own.submit(other, "Several days.", expected_turn=3, invited=_uninvited(asked))
    assert asked == ["link"]
    assert own.view(other).turn == 3


def test_a_spool_that_cannot_be_used_costs_no_stop(own: InterviewRuntime, tmp_path: Path) -> None:
    view = answer_until(own, own.start(), 3)
    (tmp_path / "spool").rmdir()
    (tmp_path / "spool").write_text("in the way")
    assert _is_stopped(own.submit(view.session_id, DANGER, expected_turn=3))


def test_a_conversation_that_cannot_be_read_keeps_no_other_stop_waiting(
    own: InterviewRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken, sound = (answer_until(own, own.start(), 3).session_id for _ in range(2))
    for session in (broken, sound):
        own._desk.spool_stop(ReceivedMessage(session, 3, "m3", DANGER), check_risk(DANGER))
    load = own._threads.load

    def loaded(session_id: str) -> Any:
        if session_id == broken:
            raise SealError("it does not open")
        return load(session_id)

    monkeypatch.setattr(own._threads, "load", loaded)
    assert own.start().open
    assert _is_stopped(own.view(sound))
    assert own.sessions.get(broken).status == "terminated_for_safety"
    with pytest.raises(UnrecordedStop):
        own.view(broken)
    assert own._desk.spool.empty
    assert own._desk.spool.damaged == []


def test_a_stop_that_its_session_does_not_take_stays_in_the_spool_and_holds_the_session(
    own: InterviewRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = answer_until(own, own.start(), 3).session_id
    own._desk.spool_stop(ReceivedMessage(broken, 3, "m3", DANGER), check_risk(DANGER))
    with monkeypatch.context() as fault:
        fault.setattr(own, "_closed", _does_not_open)
        assert own.start().open, "the others go on"
        with pytest.raises(UnrecordedStop):
            own.view(broken)
        with pytest.raises(UnrecordedStop):
            own.submit(broken, "Several days.", expected_turn=3)
        assert not own._desk.spool.empty
        assert own._desk.spool.damaged == []
    assert _is_stopped(own.view(broken))


def test_a_stop_that_neither_database_nor_disk_takes_is_held(
    own: InterviewRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = answer_until(own, own.start(), 3)
    with monkeypatch.context() as fault:
        fault.setattr(own, "_closed", _fails)
        fault.setattr(own._desk.spool, "put", _fails)
        for text in (DANGER, "Several days."):
            with pytest.raises(UnrecordedStop):
                own.submit(view.session_id, text, expected_turn=3)
        assert own.start().open, "the others go on"
    stopped = own.view(view.session_id)
    assert _is_stopped(stopped)
    assert _said(stopped)[-1] == DANGER
    assert own._desk.held == []


def test_after_a_pause_the_check_does_not_hang_on_the_reader_of_replies(
    own: InterviewRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = answer_until(own, own.start(), 3)
    assert interviews.item_answered("I'm ready.", 11, paused=True) == 0
    with monkeypatch.context() as fault:
        fault.setattr(interviews, "read_reply", _fails)
        assert interviews.item_answered("I'm ready.", 11, paused=True) == 11
        with pytest.raises(UnrecordedStop) as shown:
            own.submit(view.session_id, DANGER, expected_turn=3, item=11, paused=True)
    assert shown.value.script == SCRIPT
    assert _is_stopped(own.view(view.session_id))


def _does_not_open(*_: Any) -> Any:
    raise SealError("it does not open")


def _fails(*_: Any, **__: Any) -> Any:
    raise RuntimeError("nobody thought of this")


@pytest.mark.parametrize("broken", ["_desk.record", "_threads.locked", "sessions.get", "_closed"])
def test_a_fault_that_nobody_thought_of_keeps_no_script_from_the_patient_and_no_stop_from_the_record(
    own: InterviewRuntime, database: Database, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    view, other = answer_until(own, own.start(), 3), own.start()
    with monkeypatch.context() as fault:
        *way, name = broken.split(".")
        fault.setattr(reduce(getattr, way, own), name, _fails)
        with pytest.raises(UnrecordedStop) as told:
            own.submit(view.session_id, DANGER, expected_turn=3, message_id="m3")
        assert told.value.script == SCRIPT
        with pytest.raises(UnrecordedStop):
            own.view(view.session_id)
        with pytest.raises(UnrecordedStop):
            own.submit(view.session_id, "I take that back.", expected_turn=3)
    assert own.submit(other.session_id, "Several days.", expected_turn=1).items_completed == 1
    stopped = own.view(view.session_id)
    assert _is_stopped(stopped)
    assert _said(stopped).count(DANGER) == 1
    assert own._desk.spool.empty
    levels = [entry["level"] for entry in Audit(database).entries(view.session_id) if not entry["refused"]]
    assert levels == ["none", "none", "stop"]


def test_a_stop_that_cannot_be_entered_holds_up_nobody_else(
    own: InterviewRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    view, other = answer_until(own, own.start(), 3), own.start()
    entered = own._closed
    monkeypatch.setattr(own, "_closed", _fails)
    with pytest.raises(UnrecordedStop):
        own.submit(view.session_id, DANGER, expected_turn=3)
    assert own.submit(other.session_id, "Several days.", expected_turn=1).items_completed == 1
    with pytest.raises(UnrecordedStop):
        own.view(view.session_id)
    assert [record.session_id for record in own._desk.spool.pending()] == [view.session_id]
    monkeypatch.setattr(own, "_closed", entered)
    assert _is_stopped(own.view(view.session_id))


def test_a_stopped_session_that_cannot_be_shown_shows_the_script(
    own: InterviewRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = own.start()
    own.submit(view.session_id, DANGER, expected_turn=1)
    monkeypatch.setattr(own._threads, "load", _fails)
    for look in (own.view, own.watch):
        with pytest.raises(UnrecordedStop) as told:
            look(view.session_id)
        assert told.value.script == SCRIPT
    with pytest.raises(UnrecordedStop):
        own.submit(view.session_id, "Hello?", expected_turn=2)
    with pytest.raises(RuntimeError):
        own.view(own.sessions.create().id)


def test_a_connection_that_is_lost_while_a_stop_is_entered_loses_none_of_its_words(
    own: InterviewRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = answer_until(own, own.start(), 3)
    with monkeypatch.context() as fault:
        fault.setattr(own._threads, "resume", _is_lost)
        with pytest.raises(UnrecordedStop):
            own.submit(view.session_id, DANGER, expected_turn=3, message_id="m3")
    stopped = own.submit(view.session_id, DANGER, expected_turn=3, message_id="m3")
    assert _is_stopped(stopped)
    assert [line.text for line in stopped.lines[-2:]] == [DANGER, SCRIPT]


def _is_lost(*_: object) -> None:
    raise psycopg.OperationalError("the connection is lost")


def test_a_therapists_stop_meets_a_fault_that_nobody_thought_of(
    own: InterviewRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = answer_until(own, own.start(), 3)
    with monkeypatch.context() as fault:
        fault.setattr(own.sessions, "get", _fails)
        with pytest.raises(UnrecordedStop):
            own.stop(view.session_id)
    assert _is_stopped(own.view(view.session_id))


def test_a_stop_that_a_model_finds_meets_a_fault_that_nobody_thought_of(
    tmp_path: Path, database: Database, gate: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate.default = stand_in.json_reply({**OPINION, "level": "stop"})
    runtime = build_runtime(_with_risk_model(tmp_path, gate), database)
    view = runtime.start()
    with monkeypatch.context() as fault:
        fault.setattr(Audit, "once", _fails)
        with pytest.raises(UnrecordedStop) as told:
            runtime.submit(view.session_id, "The kettle is on.", expected_turn=1)
        assert told.value.script == SCRIPT
    assert _is_stopped(runtime.view(view.session_id))
    runtime.close()


def test_danger_written_to_a_session_that_was_deleted_meanwhile_is_met_with_the_script(own: InterviewRuntime) -> None:
    view = answer_until(own, own.start(), 3)
    own.delete(view.session_id)
    with pytest.raises(UnrecordedStop) as told:
        own.submit(view.session_id, DANGER, expected_turn=3)
    assert told.value.script == SCRIPT


def test_words_that_stopped_a_session_stay_readable_when_a_model_stops_it_for_others(
    tmp_path: Path, database: Database, gate: Gateway
) -> None:
    """Danger comes while the model reads the message before it, and the model finds danger there, too."""
    gate.default = stand_in.json_reply({**OPINION, "level": "none"})
    runtime = build_runtime(_with_risk_model(tmp_path, gate), database)
    view = answer_until(runtime, runtime.start(), 3)

    def meanwhile(_: Any) -> stand_in.Behaviour:
        assert _is_stopped(runtime.submit(view.session_id, DANGER, expected_turn=3))
        return stand_in.json_reply({**OPINION, "level": "stop"})

    gate.default = meanwhile
    stopped = runtime.submit(view.session_id, "The kettle is on.", expected_turn=3)
    runtime.close()
    assert _is_stopped(stopped)
    kept = [one.text for one in RaisedMessages(database).refused(view.session_id)]
    assert {"The kettle is on.", DANGER} <= {*_said(stopped), *kept}


def test_where_a_stop_cut_a_turn_short_there_is_nothing_to_fork_from(settings: Settings, database: Database) -> None:
    with held_scorer(settings, database) as (runtime, scorer):
        view = answer_until(runtime, runtime.start(), 3)
        scorer.hold()
        with ThreadPoolExecutor(1) as pool:
            first = pool.submit(runtime.submit, view.session_id, "Several days.", expected_turn=3)
            scorer.wait_until_asked()
            runtime.submit(view.session_id, DANGER, expected_turn=3)
            scorer.let_go()
            assert _is_stopped(first.result())
        replay = Replay(database, runtime)
        open_ones = [c for c in replay.checkpoints(view.session_id) if c.status is SessionStatus.ACTIVE]
        with pytest.raises(InputError, match="nothing is asked any more"):
            replay.fork(view.session_id, open_ones[-1].checkpoint_id, "Not at all.")
        assert runtime.sessions.forks_of(view.session_id) == []
        assert runtime.recover_all() == []
