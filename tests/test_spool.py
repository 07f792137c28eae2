"""The spool of safety stops under kills, damage, two drainers and folders that cannot be written."""

from __future__ import annotations

import multiprocessing
import os
import signal
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errors import SealError, ServiceError, StopNotEntered, StorageError
from storage.crypto import Vault
from storage.raised import Raised, decoded
from storage.spool import Spool
from tests.support import temporary_home

KEY = bytes(range(32))
CANARY = "canary-words-of-a-patient"
NOBODY = 65534
spawn = multiprocessing.get_context("spawn")

RECORD = Raised(
    session_id="session-canary",
    turn=4,
    message_id="message-1",
    text=CANARY,
    rule="intent.now",
    flags=("suicidalityMentioned",),
    spans=((0, 6), (9, 12)),
    locale="en-US",
    script_version="2",
    at=datetime(2030, 1, 2, 3, 4, 5, 6, tzinfo=UTC),
    cues=("timing",),
    degraded=True,
)


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    return Spool(tmp_path, Vault(KEY))


def numbered(count: int) -> list[Raised]:
    return [replace(RECORD, message_id=f"message-{n}") for n in range(count)]


def test_what_is_put_is_pending_in_order_and_drained_once(spool: Spool) -> None:
    assert spool.empty
    assert spool.pending() == []
    for record in numbered(5):
        spool.put(record)
    assert not spool.empty
    assert spool.pending() == numbered(5)
    seen: list[Raised] = []
    assert spool.drain(seen.append) == 5
    assert seen == numbered(5)
    assert spool.empty
    assert spool.drain(seen.append) == 0


@given(st.text(st.characters(codec=None)))
def test_any_text_survives(text: str) -> None:
    record = replace(RECORD, text=text)
    assert decoded(record.encoded(), "name") == record


def test_no_byte_of_the_folder_tells_what_was_said_or_by_whom(spool: Spool, tmp_path: Path) -> None:
    spool.put(RECORD)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    everything = b"".join(str(path).encode() + path.read_bytes() for path in files)
    assert len(files) == 1
    for secret in (CANARY, "session-canary", "message-1", "suicidality"):
        assert secret.encode() not in everything
    assert CANARY not in repr(RECORD)


def test_files_and_folder_are_closed_to_others(spool: Spool, tmp_path: Path) -> None:
    spool.put(RECORD)
    (file,) = (tmp_path / "spool").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_a_record_stays_until_it_could_be_applied(spool: Spool) -> None:
    for record in numbered(3):
        spool.put(record)

    def apply(record: Raised) -> None:
        if record.message_id == "message-1":
            raise ServiceError("the database did not answer")

    with pytest.raises(ServiceError, match="did not answer"):
        spool.drain(apply)
    assert spool.pending() == numbered(3)[1:]


def test_an_error_of_the_applier_is_its_own_and_keeps_no_other_record_waiting(spool: Spool) -> None:
    for record in numbered(3):
        spool.put(record)

    def apply(record: Raised) -> None:
        if record.message_id == "message-1":
            raise ConnectionResetError("not the folder's fault")

    with pytest.raises(StopNotEntered, match="1 of them: ConnectionResetError"):
        spool.drain(apply)
    assert spool.pending() == numbered(3)[1:2]


def test_killed_between_applying_and_removing_it_is_applied_again(spool: Spool, tmp_path: Path) -> None:
    spool.put(RECORD)
    log = tmp_path / "applied"
    child = spawn.Process(target=_apply_and_die, args=(tmp_path, log))
    child.start()
    child.join(60)
    assert child.exitcode == -signal.SIGKILL
    assert spool.pending() == [RECORD]
    assert spool.drain(lambda record: _note(log, record)) == 1
    assert log.read_text().split() == ["message-1", "message-1"]
    assert spool.empty


def test_two_processes_draining_apply_each_record_once(spool: Spool, tmp_path: Path) -> None:
    records = numbered(60)
    for record in records:
        spool.put(record)
    log = tmp_path / "applied"
    gate = spawn.Barrier(2)
    children = [spawn.Process(target=_drain_when_both_are_ready, args=(tmp_path, log, gate)) for _ in range(2)]
    for child in children:
        child.start()
    for child in children:
        child.join(60)
    assert [child.exitcode for child in children] == [0, 0]
    assert log.read_text().split() == [record.message_id for record in records]
    assert spool.empty


def test_a_drainer_returns_only_when_the_one_at_work_is_done(spool: Spool) -> None:
    """Its turn may be taken only once every stop before it is entered, whoever enters them."""
    spool.put(RECORD)
    events: list[str] = []
    started = threading.Event()

    def second() -> None:
        started.set()
        spool.drain(lambda _: events.append("applied twice"))
        events.append("second returned")

    other = threading.Thread(target=second)

    def apply(_: Raised) -> None:
        other.start()
        assert started.wait(60)
        events.append("applied")

    assert spool.drain(apply) == 1
    other.join()
    assert events == ["applied", "second returned"]


def test_what_put_returned_for_survives_kill_9(spool: Spool, tmp_path: Path) -> None:
    ours, theirs = spawn.Pipe()
    child = spawn.Process(target=_put_for_ever, args=(tmp_path, theirs))
    child.start()
    returned = [ours.recv() for _ in range(30)]
    child.kill()
    child.join()
    theirs.close()
    while ours.poll():
        try:
            returned.append(ours.recv())
        except EOFError:
            break
    kept = [record.message_id for record in spool.pending()]
    assert kept[: len(returned)] == returned
    assert spool.drain(lambda _: None) == len(kept)
    assert spool.damaged == []


def test_a_damaged_file_is_set_aside_and_told_while_the_others_are_applied(spool: Spool, tmp_path: Path) -> None:
    for record in numbered(3):
        spool.put(record)
    damaged = sorted((tmp_path / "spool").iterdir())[1]
    content = bytearray(damaged.read_bytes())
    content[-1] ^= 1
    damaged.write_bytes(content)
    assert [record.message_id for record in spool.pending()] == ["message-0", "message-2"]

    seen: list[str] = []
    with pytest.raises(SealError, match=r"1 spooled safety stop\(s\) do not open .* a person must") as caught:
        spool.drain(lambda record: seen.append(record.message_id))
    assert seen == ["message-0", "message-2"]
    assert damaged.name in str(caught.value)
    assert [path.read_bytes() for path in spool.damaged] == [bytes(content)]
    assert spool.empty
    assert spool.drain(lambda _: None) == 0


@pytest.mark.parametrize("content", [b"", b"short", b"\x01" + bytes(100)])
def test_cut_and_foreign_files_are_set_aside_too(spool: Spool, tmp_path: Path, content: bytes) -> None:
    spool.put(RECORD)
    (file,) = (tmp_path / "spool").iterdir()
    file.write_bytes(content)
    with pytest.raises(SealError):
        spool.drain(lambda _: None)
    assert len(spool.damaged) == 1


def test_with_another_key_nothing_is_lost(spool: Spool, tmp_path: Path) -> None:
    spool.put(RECORD)
    with pytest.raises(SealError, match="restore it and move the files back"):
        Spool(tmp_path, Vault(bytes(32))).drain(lambda _: None)
    for path in spool.damaged:
        path.rename(tmp_path / "spool" / path.name)
    assert spool.pending() == [RECORD]


def test_a_record_under_another_name_does_not_open(spool: Spool, tmp_path: Path) -> None:
    spool.put(RECORD)
    (file,) = (tmp_path / "spool").iterdir()
    file.rename(file.with_name("0" + file.name))
    with pytest.raises(SealError):
        spool.drain(lambda _: None)


def test_a_half_written_draft_is_not_a_record(spool: Spool, tmp_path: Path) -> None:
    spool.put(RECORD)
    (tmp_path / "spool" / ".00000000000000000001-00000000.stop").write_bytes(b"half")
    assert spool.drain(lambda _: None) == 1
    assert spool.empty


def test_a_folder_that_cannot_be_written_says_what_to_do() -> None:
    with temporary_home() as home:
        (home / "spool").mkdir(parents=True)
        (home / "spool").chmod(0o555)
        with _unprivileged():
            spool = Spool(home, Vault(KEY))
            attempts: list[Callable[[], None]] = [lambda: spool.put(RECORD), spool.prepare]
            for attempt in attempts:
                with pytest.raises(StorageError, match=r"Permission denied.*may write to.*CROSSCUT_HOME") as caught:
                    attempt()
                assert CANARY not in str(caught.value)
            assert spool.empty


def test_a_file_in_the_folders_place_says_what_to_do(spool: Spool, tmp_path: Path) -> None:
    (tmp_path / "spool").write_text("")
    attempts: list[Callable[[], object]] = [lambda: spool.put(RECORD), spool.prepare, lambda: spool.empty]
    for attempt in attempts:
        with pytest.raises(StorageError, match="Make it a folder"):
            attempt()


def test_preparing_proves_the_folder_and_leaves_nothing(spool: Spool, tmp_path: Path) -> None:
    spool.prepare()
    spool.prepare()
    assert list((tmp_path / "spool").iterdir()) == []
    assert spool.empty


def _note(log: Path, record: Raised) -> None:
    with log.open("a") as file:
        file.write(f"{record.message_id}\n")


def _apply_and_die(home: Path, log: Path) -> None:
    def apply(record: Raised) -> None:
        _note(log, record)
        os.kill(os.getpid(), signal.SIGKILL)

    Spool(home, Vault(KEY)).drain(apply)


def _drain_when_both_are_ready(home: Path, log: Path, gate: multiprocessing.synchronize.Barrier) -> None:
    spool = Spool(home, Vault(KEY))
    gate.wait(60)
    spool.drain(lambda record: _note(log, record))


def _put_for_ever(home: Path, done: Connection) -> None:
    spool, number = Spool(home, Vault(KEY)), 0
    while True:
        record = replace(RECORD, message_id=f"message-{number}")
        spool.put(record)
        done.send(record.message_id)
        number += 1


@contextmanager
def _unprivileged() -> Iterator[None]:
    """Root may write anywhere, so as root this part runs as somebody else."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
