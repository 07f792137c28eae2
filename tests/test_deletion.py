"""A deleted session is gone from every table and from the disk; its content-free audit stays and still verifies."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from errors import NotFoundError, UnrecordedStop
from graph.replay import Replay
from graph.runtime import InterviewRuntime
from graph.view import View
from settings import Settings
from storage.audit import Audit
from storage.checkpoints import TABLES as CHECKPOINT_TABLES
from storage.corrections import Corrections
from storage.crypto import Vault
from storage.database import Database
from storage.jobs import Jobs
from storage.labels import Labels
from storage.model_calls import ModelCall, ModelCalls
from storage.notices import Notices
from storage.raised import Raised
from storage.results import Results
from storage.sessions import Sessions
from storage.snapshots import Snapshots
from storage.spool import Spool
from tests.answers import answer_all, answer_until
from tests.product import run_cli
from tests.support import wait_until
from tests.tables import rows_naming, rows_of, tables
from tests.wrapped import wrapped_runtime

WORRY = "I sometimes wish I was dead, then it passes. Several days."
DANGER = "I am going to kill myself tonight."
KEPT = {"audit", "audit_ends"}
FORGETFUL = {"cells"}
"""Keeps its figures, which hold no words, and forgets which session they were taken from."""


def _with_everything(runtime: InterviewRuntime, database: Database) -> View:
    """A session that has left something in every table that sessions can leave something in."""
    view = runtime.submit(runtime.start().session_id, WORRY, expected_turn=1)
    session = view.session_id
    database.run("UPDATE sessions SET status = 'completed' WHERE id = %s", session)
    sha256 = Snapshots(database).freeze(session, {"report": session})
    database.run("UPDATE sessions SET status = 'active' WHERE id = %s", session)
    Results(database).put(sha256, "judge", "1", {"note": session})
    Corrections(database).add(session, 1, 0, "told me so", "therapist")
    Labels(database).add(session, 1, "missed", "therapist")
    Jobs(database).enqueue("benchmark", session, session_id=session)
    Notices(database).acknowledge(session, by="therapist", note="called back")
    call = ModelCall(session, 1, "scorer", 1, "openai/gpt-4.1", "1", "0" * 64, "ok", 1, 1, 0.0, 0.1)
    ModelCalls(database).add([call])
    return answer_until(runtime, view, 4)


def _stop_record(session: str) -> Raised:
    return Raised(session, 4, "m", DANGER, "rule", (), (), "en-US", "1", datetime.now(UTC))


def test_no_row_of_a_deleted_session_is_left_anywhere_but_in_the_audit(
    runtime: InterviewRuntime, database: Database
) -> None:
    session = _with_everything(runtime, database).session_id
    other = _with_everything(runtime, database).session_id
    bystander = rows_of(database, other)
    named = rows_naming(database, session)
    with_session = {
        "sessions",
        "turns",
        "snapshots",
        "jobs",
        "model_calls",
        "notices",
        "corrections",
        "labels",
        *CHECKPOINT_TABLES,
        *KEPT,
    }
    assert named.keys() == with_session, "the session was everywhere"
    audited = Audit(database).entries(session)

    assert runtime.delete(session) == (session,)

    assert rows_naming(database, session).keys() == KEPT
    assert rows_of(database, other) == bystander
    entries = Audit(database).entries(session)
    assert entries[:-1] == audited
    assert entries[-1].keys() == {"kind", "at", "with"}
    assert (entries[-1]["kind"], entries[-1]["with"]) == ("deletion", None)
    assert Audit(database).verify()[1] == []
    assert runtime.view(other).turn == 4


def test_every_table_that_names_sessions_is_reached_by_a_deletion(database: Database) -> None:
    """A table that is added later must hang on the sessions table, or be added to what a deletion removes."""
    columns = database.all(
        "SELECT table_name FROM information_schema.columns "
        "WHERE table_schema = 'public' AND column_name IN ('session_id', 'thread_id')"
    )
    cascading = database.all(
        """
        SELECT conrelid::regclass::text AS table_name FROM pg_constraint
        WHERE contype = 'f' AND confrelid = 'sessions'::regclass AND confdeltype = 'c'
        """
    )
    naming = {row["table_name"] for row in columns}
    assert naming - {row["table_name"] for row in cascading} == {*CHECKPOINT_TABLES, *KEPT, *FORGETFUL}
    assert naming <= set(tables(database))


def test_its_key_is_destroyed(runtime: InterviewRuntime, database: Database) -> None:
    view = answer_until(runtime, runtime.start(), 3)
    runtime.delete(view.session_id)
    with pytest.raises(NotFoundError):
        runtime.sessions.audit_key(view.session_id)
    assert runtime._desk._audit_key.cache_info().currsize == 0


def test_a_second_deletion_says_not_found(runtime: InterviewRuntime) -> None:
    session = runtime.start().session_id
    runtime.delete(session)
    with pytest.raises(NotFoundError, match="was not found"):
        runtime.delete(session)
    with pytest.raises(NotFoundError, match="was not found"):
        runtime.delete("never-was")


def test_forks_go_with_their_session_since_they_hold_the_same_words(
    runtime: InterviewRuntime, database: Database
) -> None:
    replay = Replay(database, runtime)
    session = answer_until(runtime, runtime.start(), 4).session_id
    fork = replay.fork(session, "6", "9 days").session_id
    grandchild = replay.fork(fork, "6", "1 day").session_id
    sibling = replay.fork(session, "3", "9 days").session_id
    assert set(runtime.sessions.forks_of(session)) == {fork, grandchild, sibling}
    gone = runtime.delete(session)
    assert gone[0] == session
    assert set(gone) == {session, fork, grandchild, sibling}
    for identifier in gone:
        assert rows_naming(database, identifier).keys() == KEPT
        last = Audit(database).entries(identifier)[-1]
        assert (last["kind"], last["with"]) == ("deletion", None if identifier == session else session)
    assert Audit(database).verify()[1] == []


def test_a_fork_can_be_deleted_alone(runtime: InterviewRuntime, database: Database) -> None:
    view = answer_until(runtime, runtime.start(), 4)
    before = rows_of(database, view.session_id)
    fork = Replay(database, runtime).fork(view.session_id, "6", "9 days").session_id
    assert runtime.delete(fork) == (fork,)
    assert rows_of(database, view.session_id) == before
    assert runtime.view(view.session_id) == view


def test_a_fork_of_a_session_that_goes_meanwhile_is_not_made(runtime: InterviewRuntime, database: Database) -> None:
    parent = runtime.sessions.get(runtime.start().session_id)
    runtime.delete(parent.id)
    with pytest.raises(NotFoundError, match="any more"), database.transaction() as connection:
        runtime.sessions.fork_within(connection, parent, "some-checkpoint")


def test_a_message_to_a_deleted_session_is_refused_and_leaves_no_trace(
    runtime: InterviewRuntime, database: Database
) -> None:
    view = answer_until(runtime, runtime.start(), 3)
    runtime.delete(view.session_id)
    before = {table: rows_naming(database, view.session_id).get(table) for table in tables(database)}
    for text in ("Several days.", WORRY):
        with pytest.raises(NotFoundError):
            runtime.submit(view.session_id, text, expected_turn=3)
    with pytest.raises(UnrecordedStop):  # who writes this sees the script, whatever became of the session
        runtime.submit(view.session_id, DANGER, expected_turn=3)
    with pytest.raises(NotFoundError):
        runtime.stop(view.session_id)
    assert {table: rows_naming(database, view.session_id).get(table) for table in tables(database)} == before


def test_another_process_that_still_knows_the_key_adds_nothing_to_a_deleted_session(
    settings: Settings, runtime: InterviewRuntime, database: Database, second_runtime: InterviewRuntime
) -> None:
    view = answer_until(second_runtime, runtime.start(), 3)
    runtime.delete(view.session_id)
    rows = Audit(database).entries(view.session_id)
    for text in ("Several days.", WORRY):
        with pytest.raises(NotFoundError):
            second_runtime.submit(view.session_id, text, expected_turn=3)
    assert Audit(database).entries(view.session_id) == rows


@pytest.fixture
def second_runtime(settings: Settings, database: Database) -> Iterator[InterviewRuntime]:
    with wrapped_runtime(settings, database, lambda _, function: function) as made:
        yield made


def test_a_turn_that_is_being_worked_on_ends_before_its_session_does(settings: Settings, database: Database) -> None:
    entered, go_on = Event(), Event()

    def held(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            entered.set()
            assert go_on.wait(20)
            return function(*arguments)

        return run if name == "scorer" else function

    with wrapped_runtime(settings, database, held) as runtime, ThreadPoolExecutor(2) as pool:
        session = runtime.start().session_id
        turn = pool.submit(runtime.submit, session, "9 days", expected_turn=1)
        assert entered.wait(20)
        deletion = pool.submit(runtime.delete, session)
        wait_until(lambda: _somebody_waits_for_a_lock(database))
        go_on.set()
        assert turn.result().turn == 2
        assert deletion.result() == (session,)
    assert rows_naming(database, session).keys() == KEPT


def _somebody_waits_for_a_lock(database: Database) -> bool:
    row = database.one(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    return row != {"count": 0}


# ---- the spool ----


def test_a_stop_that_waits_on_disk_is_audited_and_then_goes_with_its_session(
    runtime: InterviewRuntime, database: Database
) -> None:
    session = answer_until(runtime, runtime.start(), 4).session_id
    runtime._desk.spool.put(_stop_record(session))
    runtime.delete(session)
    assert runtime._desk.spool.empty
    assert [entry.get("level") for entry in Audit(database).entries(session)[-2:]] == ["stop", None]
    assert rows_naming(database, session).keys() == KEPT


def test_the_spool_lets_go_of_deleted_sessions_and_of_no_others(tmp_path: Path, vault: Vault) -> None:
    spool = Spool(tmp_path, vault)
    assert spool.discard(["gone"]) == 0
    for session in ("gone", "there", "gone"):
        spool.put(_stop_record(session))
    (tmp_path / "spool" / "00000000000000000001-broken.stop").write_bytes(b"not sealed")
    assert spool.discard(["gone"]) == 2
    assert [record.session_id for record in spool.pending()] == ["there"]
    assert len(spool.damaged) == 1, "what does not open is kept for a person to look at"


# ---- what has a lifetime ----


def test_sessions_whose_lifetime_has_passed_are_deleted_and_no_others(
    runtime: InterviewRuntime, database: Database
) -> None:
    passed = runtime.start(origin="batch", lifetime=timedelta(0)).session_id
    kept = [runtime.start(origin="batch", lifetime=timedelta(hours=1)), runtime.start(origin="batch"), runtime.start()]
    assert runtime.delete_expired() == [passed]
    assert runtime.delete_expired() == []
    assert all(runtime.view(view.session_id) == view for view in kept)


# ---- the command line ----


def test_the_command_asks_first_and_says_not_found_the_second_time(
    database_url: str, settings: Settings, runtime: InterviewRuntime, database: Database
) -> None:
    session = answer_all(runtime, runtime.start()).session_id
    Replay(database, runtime).fork(session, "3", "9 days")

    def crosscut(*words: str, stdin: str = "") -> Any:
        return run_cli(settings.crosscut_home, *words, stdin=stdin, DATABASE_URL=database_url)

    refused = crosscut("delete", session, stdin="n\n")
    assert refused.returncode == 1
    assert f"Delete session {session} (completed) and 1 fork(s) of it for good? [y/N]" in refused.stdout
    assert runtime.sessions.get(session)
    done = crosscut("delete", session, stdin="y\n")
    assert (done.returncode, f"Deleted {session}" in done.stdout) == (0, True), done.stderr
    again = crosscut("delete", session, "--yes")
    assert again.returncode == 1
    assert "not found" in again.stderr
    verified = crosscut("audit", "verify")
    assert (verified.returncode, "0 broken chains" in verified.stdout) == (0, True), verified.stdout
    shown = crosscut("audit", "show", session).stdout.splitlines()
    assert json.loads(shown[-1])["kind"] == "deletion"


def test_no_session_is_named_like_an_option_of_a_command(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = iter(["-W038a", "--yes", "a-name"])
    monkeypatch.setattr("storage.sessions.secrets.token_urlsafe", lambda _: next(drawn))
    assert Sessions(database).create().id == "a-name"
