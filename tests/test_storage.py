"""Repositories and encryption against a real Postgres."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import psycopg
import pytest
from alembic import command
from hypothesis import given
from hypothesis import strategies as st

from errors import InputError, NotFoundError, SealError, ServiceError, SettingsError, StaleTurn, StorageError
from graph.assembly import prepare_database
from settings import Settings
from storage import migrate
from storage.audit import Audit, text_mac
from storage.crypto import Vault, key_path, load_vault, new_key
from storage.database import Database
from storage.deletion import delete_session
from storage.jobs import Jobs
from storage.model_calls import ModelCall, ModelCalls
from storage.sessions import Progress, Sessions
from storage.snapshots import Snapshots, address
from storage.turns import Turns

KEY = bytes(range(32))


@given(st.binary(max_size=200), st.text(max_size=20))
def test_what_is_sealed_opens_again_and_only_for_its_own_row(plain: bytes, row: str) -> None:
    vault = Vault(KEY)
    sealed = vault.seal(plain, row)
    assert vault.open(sealed, row) == plain
    with pytest.raises(SealError):
        vault.open(sealed, row + "!")


@given(st.text())
def test_any_text_survives_sealing(text: str) -> None:
    vault = Vault(KEY)
    assert vault.open_text(vault.seal_text(text, "s:1"), "s:1") == text


def test_a_changed_byte_or_another_key_does_not_open() -> None:
    sealed = bytearray(Vault(KEY).seal(b"words", "s:1"))
    with pytest.raises(SealError, match="do not open"):
        Vault(bytes(32)).open(bytes(sealed), "s:1")
    sealed[-1] ^= 1
    with pytest.raises(SealError, match="do not open"):
        Vault(KEY).open(bytes(sealed), "s:1")
    with pytest.raises(SealError, match="not sealed"):
        Vault(KEY).open(b"plain text that is long enough to be sealed", "s:1")


def test_the_key_is_made_once_and_closed_to_others(tmp_path: Path) -> None:
    settings = Settings(_env_file=None, crosscut_home=tmp_path)
    first = load_vault(settings).fingerprint()
    assert stat.S_IMODE(key_path(settings).stat().st_mode) == 0o600
    assert load_vault(settings).fingerprint() == first
    assert list(tmp_path.iterdir()) == [key_path(settings)]
    key_path(settings).chmod(0o644)
    with pytest.raises(StorageError, match="chmod 600"):
        load_vault(settings)


def test_a_malformed_key_is_refused_without_being_shown(tmp_path: Path) -> None:
    settings = Settings(_env_file=None, crosscut_home=tmp_path, crosscut_key="tooshort")
    with pytest.raises(SettingsError, match="CROSSCUT_KEY must be 32 bytes in base64") as caught:
        load_vault(settings)
    assert "tooshort" not in str(caught.value)


def test_a_key_file_that_cannot_be_made_is_one_clear_message(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(StorageError, match="cannot be used"):
        load_vault(Settings(_env_file=None, crosscut_home=blocked / "home"))


def test_another_key_on_the_same_database_is_refused(database_url: str) -> None:
    with pytest.raises(StorageError, match="sealed with another key"):
        migrate.upgrade(database_url, Vault(os.urandom(32)))


def test_migrating_twice_changes_nothing_and_a_newer_schema_is_refused(database: Database) -> None:
    migrate.upgrade(database.url, database.vault)
    assert database.one("SELECT version_num FROM crosscut_migrations") == {"version_num": migrate.head()}
    database.run("UPDATE crosscut_migrations SET version_num = '9999'")
    with pytest.raises(StorageError, match="newer than this Crosscut"):
        migrate.upgrade(database.url, database.vault)


def test_the_newest_schema_by_its_file_is_the_last_of_the_chain() -> None:
    from alembic.script import ScriptDirectory

    chain = ScriptDirectory(str(Path(migrate.__file__).parent / "migrations"))
    assert chain.get_heads() == [migrate.head()]


def test_an_unreachable_database_is_a_service_error() -> None:
    with pytest.raises(ServiceError, match="cannot connect"):
        migrate.upgrade("postgresql://nobody@127.0.0.1:9/none", Vault(KEY))


def test_a_sealed_column_refuses_plain_text(database: Database) -> None:
    session = Sessions(database).create()
    with pytest.raises(psycopg.errors.CheckViolation):
        database.run(
            "INSERT INTO turns VALUES (%s, 1, 'm', %s)", session.id, b"some plain words that are long enough to fit"
        )


def test_the_ledger_takes_a_message_once(database: Database) -> None:
    session = Sessions(database).create().id
    turns = Turns(database)
    first = turns.add(session, 1, "message-a", "Nearly every day")
    assert turns.add(session, 1, "message-a", "Nearly every day") == first
    assert turns.add(session, 2, "message-a", "Nearly every day") == first
    with pytest.raises(StaleTurn, match="turn 1 was already answered"):
        turns.add(session, 1, "message-b", "something else")
    assert [t.text for t in turns.of_session(session)] == ["Nearly every day"]


def test_a_turn_moved_to_another_row_does_not_open(database: Database) -> None:
    sessions, turns = Sessions(database), Turns(database)
    one, other = sessions.create().id, sessions.create().id
    turns.add(one, 1, "m", "secret words")
    database.run("UPDATE turns SET session_id = %s", other)
    with pytest.raises(SealError):
        turns.get(other, 1)


def test_text_with_null_bytes_emoji_and_markup_is_kept_as_it_is(database: Database) -> None:
    session = Sessions(database).create().id
    text = "a\x00b 😀 <script>alert(1)</script> \u202eright to left"
    assert Turns(database).add(session, 1, "m", text).text == text


def test_an_unknown_session_is_not_found(database: Database) -> None:
    with pytest.raises(NotFoundError, match="there is no session 'nope'"):
        Sessions(database).get("nope")
    assert issubclass(NotFoundError, InputError)


def test_a_closed_session_is_not_reopened_by_a_late_writer(database: Database) -> None:
    sessions = Sessions(database)
    session = sessions.create().id
    sessions.record_progress(session, Progress("terminated_for_safety", 3, 5, ("violenceRisk",)))
    sessions.record_progress(session, Progress("active", 9, 10, ()))
    kept = sessions.get(session)
    assert (kept.status, kept.items_completed, kept.flags) == ("terminated_for_safety", 3, ("violenceRisk",))


def test_asking_for_a_job_twice_gives_one_job_and_a_failed_one_is_queued_again(database: Database) -> None:
    jobs = Jobs(database)
    job = jobs.enqueue("ingest", "abc")
    assert jobs.enqueue("ingest", "abc").id == job.id
    assert jobs.claim(job.id) is not None
    jobs.report(job.id, stage="chunking", pages=7)
    jobs.report(job.id, pages=8)
    jobs.finish(job.id, error="no pages")
    failed = jobs.get(job.id)
    assert (failed.status, failed.error, failed.progress) == ("failed", "no pages", {"stage": "chunking", "pages": 8})
    assert jobs.claim(job.id) is None
    assert jobs.enqueue("ingest", "abc").status == "queued"


def test_a_cancelled_job_stays_cancelled(database: Database) -> None:
    session, jobs = Sessions(database).create().id, Jobs(database)
    job = jobs.enqueue("benchmark", session, session_id=session)
    jobs.claim(job.id)
    assert jobs.cancel_for_session(session) == 1
    jobs.finish(job.id)
    assert jobs.get(job.id).status == "cancelled"


def test_a_snapshot_is_addressed_by_its_content(database: Database) -> None:
    session, snapshots = Sessions(database).create().id, Snapshots(database)
    with pytest.raises(InputError, match="not finished"):
        snapshots.freeze(session, {})
    database.run("UPDATE sessions SET status = 'completed'")
    body = {"b": [1, 2.5, None], "a": "Grüße"}
    first = snapshots.freeze(session, body)
    assert snapshots.freeze(session, {"a": "Grüße", "b": [1, 2.5, None]}) == first == address(body)
    assert snapshots.get(first) == body
    assert [one.sha256 for one in snapshots.of_session(session)] == [first]
    other = snapshots.freeze(session, {"a": 1})
    forged = "UPDATE snapshots SET body = (SELECT body FROM snapshots WHERE sha256 = %s)"
    with pytest.raises(psycopg.errors.RaiseException, match="never changed"):
        database.run(forged, other)
    database.run("ALTER TABLE snapshots DISABLE TRIGGER snapshots_immutable")
    database.run(forged, other)
    with pytest.raises(SealError):
        snapshots.get(first)


def test_the_audit_chain_finds_a_changed_or_missing_row(database: Database) -> None:
    audit = Audit(database)
    for session in ("one", "two"):
        for turn in range(1, 5):
            audit.append(session, {"turn": turn, "level": "none", "ms": 0.25})
    assert audit.verify() == (8, [])
    with pytest.raises(psycopg.errors.RaiseException, match="append-only"):
        database.run("UPDATE audit SET entry = '{}' WHERE seq = 2")
    with pytest.raises(psycopg.errors.RaiseException, match="append-only"):
        database.run("DELETE FROM audit")
    database.run("ALTER TABLE audit DISABLE TRIGGER audit_append_only")
    database.run("""UPDATE audit SET entry = entry || '{"level": "stop"}' WHERE session_id = 'one' AND seq = 2""")
    database.run("DELETE FROM audit WHERE session_id = 'two' AND seq = 3")
    _, broken = audit.verify()
    assert {(b.session_id, b.seq, b.problem) for b in broken} == {
        ("one", 2, "its content does not match its hash"),
        ("two", 4, "row 3 is missing"),
    }


def test_the_audit_notices_rows_that_were_cut_off_at_the_end(database: Database) -> None:
    audit = Audit(database)
    for session in ("cut", "gone", "forged", "whole"):
        for turn in range(1, 5):
            audit.append(session, {"turn": turn})
    session = Sessions(database).create().id
    database.run("UPDATE sessions SET next_turn = 2 WHERE id = %s", session)
    database.run("ALTER TABLE audit DISABLE TRIGGER audit_append_only")
    database.run("DELETE FROM audit WHERE session_id = 'cut' AND seq = 4")
    database.run("DELETE FROM audit WHERE session_id = 'gone'")
    database.run("DELETE FROM audit WHERE session_id = 'forged' AND seq = 4")
    database.run("UPDATE audit_ends SET seq = 3, mac = %s WHERE session_id = 'forged'", bytes(32))
    _, broken = audit.verify()
    assert {(b.session_id, b.seq, b.problem) for b in broken} == {
        ("cut", 3, "the chain ended at row 4 when it was last written"),
        ("gone", 1, "the whole chain is missing"),
        ("forged", 3, "the chain ended at row 3 when it was last written"),
        (session, 1, "the whole chain is missing"),
    }


def test_chains_from_before_their_ends_were_kept_are_adopted_by_the_upgrade(database: Database) -> None:
    audit = Audit(database)
    audit.append("old", {"turn": 1})
    command.downgrade(migrate._config(database.url), "0010")
    prepare_database(database.url, database.vault)
    assert audit.verify() == (1, [])
    audit.append("old", {"turn": 2})
    assert audit.verify() == (2, [])


def test_a_text_enters_the_audit_only_under_its_sessions_own_key(database: Database) -> None:
    sessions = Sessions(database)
    one, other = sessions.audit_key(sessions.create().id), sessions.audit_key(sessions.create().id)
    assert text_mac(one, "yes") == text_mac(one, "yes")
    assert text_mac(one, "yes") != text_mac(other, "yes")


def test_costs_add_up_and_an_unknown_price_is_not_counted_as_nothing(database: Database) -> None:
    session, calls = Sessions(database).create().id, ModelCalls(database)
    call = ModelCall(session, 1, "scorer", 1, "openai/gpt-4.1", "1", "ab", "ok", 100, 20, 0.002, 0.4)
    calls.add([call, call])
    spent = calls.spent(session)
    assert (spent.calls, spent.prompt_tokens, spent.completion_tokens) == (2, 200, 40)
    assert float(spent.cost_usd or 0) == pytest.approx(0.004)
    calls.add([ModelCall(session, 2, "scorer", 1, "some/model", "1", "ab", "timeout", None, None, None, 1.0)])
    unknown = calls.spent(session)
    assert (unknown.cost_usd, unknown.prompt_tokens, unknown.completion_tokens) == (None, None, None)
    judged = ModelCall(session, 2, "judge", 1, "openai/gpt-4.1", "1", "ab", "ok", 100, 20, 0.002, 0.4)
    calls.add([judged])
    assert float(calls.spent(session, ["judge"]).cost_usd or 0) == pytest.approx(0.002)
    assert calls.spent(session, ["scorer"]).calls == 3
    delete_session(database, session)
    calls.add([judged])
    assert (calls.spent(session).calls, calls.spent(session).prompt_tokens) == (0, 0), (
        "nothing is kept of a session that was deleted while a model was asked"
    )


def test_a_pool_survives_the_death_of_its_connections(database: Database) -> None:
    for _ in range(5):
        database.one("SELECT 1")
        with psycopg.connect(database.url, autocommit=True) as killer:
            killer.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        assert database.one("SELECT 2 AS two") == {"two": 2}


def test_a_new_key_is_a_key() -> None:
    settings = Settings(_env_file=None, crosscut_key=new_key())
    assert len(load_vault(settings).fingerprint()) == 16
