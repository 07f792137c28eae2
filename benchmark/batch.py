"""Holds many interviews from prepared answers, in several processes: threads would share one core.

Each process has a runtime of its own and takes one line at a time over a pipe. The parent alone writes. A process whose
parent is gone reads the end of the pipe and leaves; one that dies itself costs the line it was working on.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import signal
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from benchmark.answer_files import Prepared
from errors import CrosscutError, NotFoundError, ServiceError, StorageError, UnrecordedStop
from graph.assembly import build_runtime, prepare_database
from graph.conversation import converse, scripted
from graph.runtime import InterviewRuntime
from graph.view import View
from instruments.profile import SessionStatus
from settings import Settings
from storage.crypto import load_vault
from storage.database import Database, is_of_database
from storage.embedded import services

Row = dict[str, Any]
LIFETIME = timedelta(days=1)
"""How long a session may outlive a killed run; every later run deletes those that are older."""

_GRACE_SECONDS = 10.0


@dataclass(frozen=True)
class _Fatal:
    """Why a process cannot go on: the lines that are left must not be marked as done."""

    reason: str


class _Ready:
    """What a process says first."""


def hold_interviews(settings: Settings, lines: Iterable[Prepared], *, jobs: int, keep: bool) -> Iterator[Row]:
    """A row for each line, as they get done. Without `keep`, sessions are deleted once their row was taken."""
    with services(settings, redis=False) as running:
        prepare_database(running.database_url, load_vault(settings))
        with _Crew(settings, running.database_url, keep).at_work(jobs) as crew:
            yield from crew.rows(deque(lines))


@dataclass
class _Hand:
    process: BaseProcess
    pipe: Connection
    line: Prepared | None = None


class _Crew:
    def __init__(self, settings: Settings, url: str, keep: bool) -> None:
        self._arguments = (settings, url, keep)
        self._context = multiprocessing.get_context("spawn")  # a fork would inherit threads and open connections
        self._hands: dict[Connection, _Hand] = {}

    @contextmanager
    def at_work(self, jobs: int) -> Iterator[_Crew]:
        try:
            for _ in range(jobs):
                self._hire()
            yield self
        finally:
            for hand in self._hands.values():
                hand.pipe.close()
            for hand in self._hands.values():
                hand.process.join(_GRACE_SECONDS)
                hand.process.kill()

    def rows(self, lines: deque[Prepared]) -> Iterator[Row]:
        """The pipe that has something to say decides who gets the next line; a row is given before its next line."""
        busy = set(self._hands)
        while busy:
            for pipe in wait(busy):
                assert isinstance(pipe, Connection)  # noqa: S101  # what was waited for
                row = self._heard(self._hands[pipe])
                if row is not None:
                    yield row
                if pipe not in self._hands:  # it died
                    busy.discard(pipe)
                    busy |= {self._hire().pipe} if lines else set()
                elif lines:
                    self._give(self._hands[pipe], lines.popleft())
                else:
                    busy.discard(pipe)

    def _give(self, hand: _Hand, line: Prepared) -> None:
        hand.line = line
        with suppress(BrokenPipeError):  # it died: the end of its pipe will say so
            hand.pipe.send(line)

    def _heard(self, hand: _Hand) -> Row | None:
        line, hand.line = hand.line, None
        try:
            said = hand.pipe.recv()
        except (EOFError, ConnectionResetError):
            return self._lost(hand, line)
        if isinstance(said, _Fatal):
            raise ServiceError(f"{said.reason} What was done is in the file; the same command goes on from there.")
        return None if isinstance(said, _Ready) else said

    def _lost(self, hand: _Hand, line: Prepared | None) -> Row:
        hand.process.join()
        del self._hands[hand.pipe]
        if line is None:
            raise ServiceError(f"a process for interviews ended with status {hand.process.exitcode} before it began.")
        return {"id": line.id, "error": f"the process working on it ended with status {hand.process.exitcode}"}

    def _hire(self) -> _Hand:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_work, args=(theirs, *self._arguments), daemon=True)
        process.start()
        theirs.close()
        self._hands[ours] = _Hand(process, ours)
        return self._hands[ours]


def _work(pipe: Connection, settings: Settings, url: str, keep: bool) -> None:
    """One process's life: lines in, rows out, until the pipe ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, which closes the pipe
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        try:
            with Database(url, load_vault(settings), size=4, expendable=True) as database:
                runtime = build_runtime(settings, database)
                try:
                    runtime.delete_expired()
                    pipe.send(_Ready())
                    _serve(pipe, _Desk(runtime, keep))
                finally:
                    runtime.close()
        except CrosscutError as error:
            pipe.send(_Fatal(str(error)))


def _serve(pipe: Connection, desk: _Desk) -> None:
    try:
        while True:
            line = pipe.recv()  # which also says that the row before was taken
            desk.clear()
            pipe.send(desk.row(line))
    finally:
        desk.clear()


class _Desk:
    """Holds one interview at a time, and keeps nothing of it when asked to."""

    def __init__(self, runtime: InterviewRuntime, keep: bool) -> None:
        self._runtime = runtime
        self._keep = keep
        self._session: str | None = None

    def row(self, line: Prepared) -> Row:
        began = time.perf_counter()
        try:
            view = self._runtime.start(seed=_seed(line.id), origin="batch", lifetime=None if self._keep else LIFETIME)
            self._session = view.session_id
            view = converse(self._runtime, view, scripted(line.script))
            diagnoses = self._diagnoses(view)
        except (StorageError, UnrecordedStop):
            raise
        except CrosscutError as error:
            return {"id": line.id, "error": str(error)}
        except Exception as error:  # its message might repeat a patient's words
            if is_of_database(error):
                raise ServiceError(f"the database failed ({type(error).__name__}).") from error
            return {"id": line.id, "error": f"unexpected {type(error).__name__}"}
        seconds = round(time.perf_counter() - began, 3)
        return {"id": line.id, "profile": view.profile.to_json_dict(), "diagnoses": diagnoses, "seconds": seconds}

    def _diagnoses(self, view: View) -> list[Row]:
        """The impressions of its report, likeliest first; a session that was stopped or left has none."""
        if view.profile.session_status is not SessionStatus.COMPLETED:
            return []
        found = self._runtime.reports.newest(view.session_id).diagnosis.diagnoses
        return [{"name": one.name, "confidence": one.confidence} for one in found]

    def clear(self) -> None:
        session, self._session = self._session, None
        if session is not None and not self._keep:
            with suppress(NotFoundError):
                self._runtime.delete(session)


def _seed(identifier: str | int) -> int:
    """The same line is asked in the same words, whenever it is run."""
    return int.from_bytes(hashlib.sha256(str(identifier).encode("utf-8", "surrogatepass")).digest()[:4])


def cores() -> int:
    return os.cpu_count() or 1
