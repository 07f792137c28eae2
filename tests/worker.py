"""A worker as `crosscut worker` starts it, in processes of its own that can be killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
from celery import Celery
from redis import Redis

from storage.embedded import redis_client_url
from tests.product import environment


@dataclass(frozen=True)
class Worker:
    process: subprocess.Popen[bytes]
    output: Path

    def kill(self) -> None:
        """Main process, children and scheduler at once, as a power cut would."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(30)

    def child_talking_to(self, port: int) -> psutil.Process:
        """The one of its processes that has a connection to this port."""
        for child in psutil.Process(self.process.pid).children(recursive=True):
            if any(one.raddr and one.raddr.port == port for one in child.net_connections("tcp")):
                return child
        raise AssertionError(f"no process of the worker talks to port {port}")

    def said(self) -> str:
        return self.output.read_text()


@contextmanager
def worker(home: Path, database_url: str, output: Path, *words: str, **extra: str) -> Iterator[Worker]:
    """`words` name another command than `worker`."""
    with output.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "cli", *(words or ("worker",))],
            env=environment(home, DATABASE_URL=database_url, **extra),
            cwd=home.parent,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    running = Worker(process, output)
    try:
        yield running
    finally:
        running.kill()


def send(redis_url: str, task: str, *arguments: object) -> None:
    with Celery(broker=redis_url, set_as_current=False) as application:
        application.send_task(task, arguments, ignore_result=True)


def empty_queues(redis_url: str) -> None:
    """Of what workers of other tests left behind."""
    with Redis.from_url(redis_client_url(redis_url)) as client:
        client.flushdb()
