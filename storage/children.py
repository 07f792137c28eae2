"""One supervised process: start it, see whether it lives, start it again, stop its whole process group."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

import psutil

from errors import ServiceError
from storage.embedded import Home
from storage.embedded.launcher import alive, rotate
from storage.embedded.locks import wait_for

LAST_LINES = 10
# Run by a fresh interpreter between fork and the real program, which is safe whatever threads the supervisor has.
DIE_WITH_PARENT = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGTERM)
if os.getppid() != int(sys.argv[1]):
    sys.exit("the supervisor is gone")
os.execvp(sys.argv[2], sys.argv[2:])
"""


@dataclass(frozen=True)
class Child:
    """A program to keep running. `env` is added to ours; `ready` answers quickly and never raises."""

    name: str
    argv: Sequence[str]
    env: Mapping[str, str]
    ready: Callable[[], bool]


@dataclass(frozen=True)
class Pace:
    """The supervisor's patience, in seconds."""

    first: float = 1.0
    limit: float = 30.0
    healthy: float = 60.0
    grace: float = 10.0
    poll: float = 0.25
    start_limit: float = 180.0
    tries: int = 5

    def delay(self, failures: int) -> float:
        return min(self.limit, self.first * 2.0 ** (failures - 1))


@dataclass
class Running:
    child: Child
    home: Home
    pace: Pace
    was_ready: bool = False
    failures: int = 0
    process: subprocess.Popen[bytes] | None = None
    since: float = 0.0
    again_at: float = field(default=0.0)

    @property
    def log(self) -> Path:
        return self.home.logs / f"{self.child.name}.log"

    @property
    def record(self) -> Path:
        return self.home.run / f"{self.child.name}.pid"

    def start(self) -> None:
        argv = [str(word) for word in self.child.argv]
        rotate(self.log)
        handle = self.home.open(self.log, os.O_WRONLY | os.O_APPEND)
        try:
            self.process = subprocess.Popen(  # noqa: S603
                [*_guard(), *argv],
                env={**os.environ, **self.child.env},
                stdin=subprocess.DEVNULL,
                stdout=handle,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            raise ServiceError(f"cannot run {argv[0]!r} for {self.child.name}: {error.strerror}.") from error
        finally:
            os.close(handle)
        self.since = monotonic()
        _write_record(self.home, self.record, self.process.pid, argv)

    def check(self, say: Callable[[str], None]) -> None:
        """Note readiness, or a death and when to start again; start again when that time has come."""
        if self.process is None:
            if monotonic() >= self.again_at:
                self.start()
            return
        if alive(self.process.pid):
            self.was_ready = self.was_ready or self.child.ready()
            if monotonic() - self.since > self.pace.healthy:
                self.failures = 0
            return
        self._buried(say)

    def _buried(self, say: Callable[[str], None]) -> None:
        if self.process is None:
            return
        # Before it is reaped, its number and thus its group's cannot have gone to anybody else.
        _signal_group(self.process.pid, signal.SIGKILL)
        status = self.process.wait()
        self.process = None
        self.failures += 1
        if not self.was_ready and self.failures >= self.pace.tries:
            raise ServiceError(f"{self.child.name} failed {self.failures} times in a row. {self.last_words()}")
        delay = self.pace.delay(self.failures)
        self.again_at = monotonic() + delay
        say(f"{self.child.name} ended (status {status}); it starts again in {delay:g} s. Its log is {self.log}.")

    def last_words(self) -> str:
        lines = self.log.read_text(errors="replace").splitlines()[-LAST_LINES:] if self.log.exists() else []
        return "\n".join([f"Its log is {self.log}, which ends:", *lines])


def stop_all(running: Sequence[Running], grace: float) -> None:
    """Ask every group to end, and after the grace end it; no record is left of a stopped child."""
    living = [one for one in running if one.process is not None]
    for one in living:
        if one.process is not None:
            _signal_group(one.process.pid, signal.SIGTERM)
    wait_for(lambda: not any(one.process and alive(one.process.pid) for one in living), grace)
    for one in living:
        if one.process is not None:
            _signal_group(one.process.pid, signal.SIGKILL)
            one.process.wait()
            one.process = None
    for one in running:
        one.record.unlink(missing_ok=True)


def stop_leftovers(run: Path, grace: float) -> None:
    """Stop what a killed supervisor left running, provided it is still the very process on record."""
    records = [path for path in run.glob("*.pid") if path.is_file()]
    groups = [group for path in records if (group := _recorded_group(path)) is not None]
    for group in groups:
        _signal_group(group, signal.SIGTERM)
    if not wait_for(lambda: not any(_members(group) for group in groups), grace):
        for group in groups:
            _signal_group(group, signal.SIGKILL)
        wait_for(lambda: not any(_members(group) for group in groups), grace)
    for path in records:
        path.unlink(missing_ok=True)


def _guard() -> list[str]:
    """Linux can end a child with its parent, even one that was killed."""
    return [sys.executable, "-I", "-S", "-c", DIE_WITH_PARENT, str(os.getpid())] if sys.platform == "linux" else []


def _write_record(home: Home, path: Path, pid: int, argv: list[str]) -> None:
    """Whole or not at all: a half-written record would leave a child that nobody knows."""
    draft = path.with_suffix(".new")
    with suppress(psutil.NoSuchProcess):
        record = {"pid": pid, "created": psutil.Process(pid).create_time(), "argv": argv}
        with os.fdopen(home.open(draft, os.O_WRONLY | os.O_TRUNC), "w") as file:
            json.dump(record, file)
        draft.replace(path)


def _recorded_group(path: Path) -> int | None:
    """The group on record, if a member of it was started by that command line and not before it.

    The leader may be gone while its own children, which share its command line, still run.
    """
    try:
        record = json.loads(path.read_text())
        pid, created, argv = int(record["pid"]), float(record["created"]), list(record["argv"])
    except (ValueError, KeyError, TypeError):
        return None
    for process in _members(pid):
        with suppress(psutil.Error):
            if process.create_time() < created or (process.pid == pid and process.create_time() != created):
                continue
            if _same_command(process.cmdline(), argv):
                return pid
    return None


def _same_command(found: list[str], argv: list[str]) -> bool:
    """A script's first word gives way to its interpreter, so the words after it decide."""
    return found == argv or (len(argv) > 1 and found[1 - len(argv) :] == argv[1:])


def _members(group: int) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, ProcessLookupError):
            if os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def _signal_group(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):  # macOS refuses when only a zombie is left of the group
        os.killpg(group, number)
