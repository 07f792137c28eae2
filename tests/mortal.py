"""Processes that end in the middle of a turn, at the very event they are told to.

`python -m tests.mortal` is a nursery: it reads one command a line, forks a process for each (which costs no imports and
no compiled tables), and says how each ended. It opens no connection and starts no thread, so that forking is safe.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from agents.warming import warm_up
from errors import CrosscutError
from graph.runtime import InterviewRuntime
from settings import Settings, load_settings
from storage.crypto import load_vault
from storage.database import Database
from tests.product import ROOT, environment
from tests.wrapped import wrapped_runtime

OnEvent = Callable[[str], None]
T = TypeVar("T")


@contextmanager
def eventful_runtime(settings: Settings, database: Database, on_event: OnEvent) -> Iterator[InterviewRuntime]:
    """A runtime that tells of each thing it does, before and after: what engines decide and what is written."""

    def told(name: str, action: Callable[..., T]) -> Callable[..., T]:
        def run(*arguments: Any, **named: Any) -> T:
            on_event(f"before {name}")
            result = action(*arguments, **named)
            on_event(f"after {name}")
            return result

        return run

    with wrapped_runtime(settings, database, told) as runtime:
        saver: Any = runtime.graph.checkpointer
        saver.put = told("checkpoint", saver.put)
        saver.put_writes = told("writes", saver.put_writes)
        for store, method, name in (
            (runtime.turns, "add", "ledger"),
            (runtime.sessions, "record_progress", "progress"),
        ):
            setattr(store, method, told(name, getattr(store, method)))
        yield runtime


@dataclass(frozen=True)
class Errand:
    """One message that a process of its own sends; with `dies_at`, that many events are its last."""

    url: str
    session: str
    turn: int
    text: str
    message_id: str
    dies_at: int | None = None


@dataclass(frozen=True)
class End:
    """How a process ended: what it did, what it was told, and whether it was killed."""

    killed: bool
    events: list[str]
    outcome: str | None = None


@dataclass
class Nursery:
    process: subprocess.Popen[str]
    ends: list[End] = field(default_factory=list)

    def send(self, *errands: Errand) -> list[End]:
        """Processes for all of them, let go at once; returns when all have ended."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([asdict(errand) for errand in errands]) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer, "the nursery is gone"
        return [End(**end) for end in json.loads(answer)]


@contextmanager
def nursery(home: Path) -> Iterator[Nursery]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.mortal"],
        env=environment(home),
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        yield Nursery(process)
        assert process.stdin is not None
        process.stdin.close()


def main() -> None:
    settings = load_settings(env_file=None)
    warm_up()  # once for all who are born
    for line in sys.stdin:
        errands = [Errand(**errand) for errand in json.loads(line)]
        gate_out, gate_in = os.pipe()
        born = [_bear(settings, errand, gate_out, gate_in) for errand in errands]
        os.close(gate_out)
        os.close(gate_in)  # everybody waits for the end of this pipe
        ends = [_end(pid, told) for pid, told in born]
        print(json.dumps([asdict(end) for end in ends]), flush=True)  # noqa: T201


def _bear(settings: Settings, errand: Errand, gate_out: int, gate_in: int) -> tuple[int, int]:
    told_out, told_in = os.pipe()
    pid = os.fork()
    if pid:
        os.close(told_in)
        return pid, told_out
    os.close(told_out)
    os.close(gate_in)
    try:
        os.read(gate_out, 1)
        _run(settings, errand, lambda line: os.write(told_in, f"{line}\n".encode()))
    finally:
        os._exit(0)


def _end(pid: int, told: int) -> End:
    with os.fdopen(told) as pipe:
        lines = pipe.read().splitlines()
    _, status = os.waitpid(pid, 0)
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    outcome = next((line.removeprefix("outcome ") for line in lines if line.startswith("outcome ")), None)
    return End(killed, [line for line in lines if not line.startswith("outcome ")], outcome)


def _run(settings: Settings, errand: Errand, tell: Callable[[str], object]) -> None:
    count = 0

    def on_event(name: str) -> None:
        nonlocal count
        tell(name)
        count += 1
        if count == errand.dies_at:
            os.kill(os.getpid(), signal.SIGKILL)

    with (
        Database(errand.url, load_vault(settings)) as database,
        eventful_runtime(settings, database, on_event) as runtime,
    ):
        try:
            view = runtime.submit(errand.session, errand.text, expected_turn=errand.turn, message_id=errand.message_id)
            tell(f"outcome turn {view.turn}")
        except CrosscutError as error:
            tell(f"outcome {type(error).__name__}")


if __name__ == "__main__":
    main()
