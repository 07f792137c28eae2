"""Start, share and stop one embedded server: the first user starts it, the last one stops it."""

from __future__ import annotations

import os
import signal
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from time import monotonic, sleep
from typing import ClassVar

import psutil

from errors import ServiceError
from storage.embedded.home import Home
from storage.embedded.locks import drop, exclusive, take, wait_for

SOCKET_SECONDS = 5.0
READY_SECONDS = 60.0  # recovery after a crash replays the log before anybody is let in
RETRY_SECONDS = 20.0
STOP_SECONDS = 60.0
LOG_LIMIT = 10_000_000

_started: dict[int, subprocess.Popen[bytes]] = {}


class Server(ABC):
    """One embedded server. Whoever calls `start` or `stop` holds its lock."""

    name: ClassVar[str]
    title: ClassVar[str]
    stop_signal: ClassVar[signal.Signals]

    def __init__(self, home: Home) -> None:
        self.home = home
        self.data = home.root / self.name
        self.log = home.logs / f"{self.name}.log"

    @property
    @abstractmethod
    def url(self) -> str: ...

    @property
    @abstractmethod
    def socket(self) -> Path: ...

    @abstractmethod
    def version(self) -> str: ...

    @abstractmethod
    def ready(self) -> bool:
        """Whether the server answers on its socket."""

    @abstractmethod
    def pid(self) -> int | None:
        """The process that serves this very data folder, verified."""

    @abstractmethod
    def prepare(self) -> list[str]:
        """Make the data folder fit to start on, and give the command to start with."""

    def worth_another_try(self, output: str) -> bool:  # noqa: ARG002  overridden where a start can come too early
        return False

    def lock(self) -> AbstractContextManager[None]:
        return exclusive(self.home, self.home.run / f"{self.name}.lock")

    def start(self) -> bool:
        """Bring the server up; true when it was down before."""
        if self.ready():
            return False
        if (pid := self.pid()) is not None and self._joined(pid):
            return False
        command = self.prepare()
        deadline, pause = monotonic() + RETRY_SECONDS, 0.1
        while (output := self._launch(command)) is not None:
            if not self.worth_another_try(output) or monotonic() > deadline:
                raise ServiceError(f"{self.title} did not start: {_tail(output)}\nIts log is {self.log}.")
            sleep(pause)
            pause = min(pause * 2, 2.0)
        return True

    def stop(self) -> None:
        pid = self.pid()
        if pid is None:
            return
        with suppress(ProcessLookupError):
            os.kill(pid, self.stop_signal)
        if not wait_for(lambda: not alive(pid), STOP_SECONDS):
            raise ServiceError(f"{self.title} (process {pid}) is still stopping after {STOP_SECONDS:.0f} s.")
        reap()

    def _joined(self, pid: int) -> bool:
        """Wait for a server that runs but does not answer yet: its launcher was killed, or it is recovering."""
        if not wait_for(lambda: self.socket.exists() or not alive(pid), SOCKET_SECONDS):
            self.stop()  # a sweeper of /tmp took its socket, so nobody can reach it any more
            return False
        wait_for(lambda: self.ready() or not alive(pid), READY_SECONDS)
        if alive(pid) and not self.ready():
            raise ServiceError(f"{self.title} (process {pid}) runs but does not answer: see {self.log}.")
        return self.ready()

    def _launch(self, command: list[str]) -> str | None:
        """Start the process and wait for it to answer; what it wrote if it ended instead."""
        before = rotate(self.log)
        handle = self.home.open(self.log, os.O_WRONLY | os.O_APPEND)
        try:
            process = spawn(self.home, command, handle)
        finally:
            os.close(handle)
        wait_for(lambda: process.poll() is not None or self.ready(), READY_SECONDS)
        if process.poll() is None:
            if self.ready():
                return None
            raise ServiceError(f"{self.title} did not answer within {READY_SECONDS:.0f} s: see {self.log}.")
        with self.log.open("rb") as log:
            log.seek(before)
            return log.read().decode(errors="replace")


@contextmanager
def attached(server: Server) -> Iterator[bool]:
    """Use a server; true when this call started it.

    A user is a shared lock on the `.users` file. Whoever leaves and can make that lock exclusive was the last one.
    """
    server.home.prepare()
    users, owner = server.home.open(server.home.run / f"{server.name}.users", os.O_RDWR), os.getpid()
    try:
        with server.lock():
            take(users, shared=True)
            started = server.start()
        yield started
    finally:
        if os.getpid() == owner:
            _leave(server, users)
        else:  # a forked child: the lock is its parent's
            os.close(users)


def _leave(server: Server, users: int) -> None:
    try:
        with server.lock():
            if take(users):
                server.stop()
    finally:
        drop(users)


def revive(server: Server) -> bool:
    """Start a server again that died under its users; true when it had to be."""
    reap()
    if server.ready():
        return False
    server.home.prepare()
    with server.lock():
        return server.start()


def spawn(home: Home, command: list[str], output: int) -> subprocess.Popen[bytes]:
    """Start a server process as the servers' account, out of reach of the terminal's Ctrl-C."""
    reap()
    options = home.account.process_options()
    try:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, **options)  # noqa: S603
    except (OSError, subprocess.SubprocessError) as error:
        raise ServiceError(f"cannot run {command[0]} as the user {home.account.name!r}: {error}.") from error
    _started[process.pid] = process
    return process


def reap() -> None:
    """Take leave of dead children of ours: a zombie still looks alive to Postgres."""
    for pid, process in list(_started.items()):
        if process.poll() is not None:
            _started.pop(pid, None)


def alive(pid: int) -> bool:
    reap()
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def command_of(pid: int, program: str) -> list[str]:
    """The command line of a living process of that program; empty when there is none under this number."""
    reap()
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        if process.status() != psutil.STATUS_ZOMBIE and process.name() == program:
            return list(process.cmdline())
    return []


def rotate(log: Path) -> int:
    """Keep a log small, with one older part beside it; its size now."""
    if not log.exists():
        return 0
    if (size := log.stat().st_size) < LOG_LIMIT:
        return size
    log.replace(log.with_suffix(".log.1"))
    return 0


def _tail(output: str, lines: int = 5) -> str:
    return "\n".join(output.strip().splitlines()[-lines:]) or "it ended without a word"


def names_folder(command: list[str], option: str, folder: Path) -> bool:
    """Whether a command line gives the option with this folder."""
    return (option, str(folder)) in pairwise(command)
