"""Small helpers for tests with real processes."""

from __future__ import annotations

import atexit
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from time import monotonic, sleep

import psutil

from settings import Settings
from storage.embedded import services


def wait_until(predicate: Callable[[], bool], seconds: float = 20.0, *, every: float = 0.01) -> None:
    """Poll until the predicate holds; fail when it does not in time."""
    deadline = monotonic() + seconds
    while not predicate():
        assert monotonic() < deadline, f"still false after {seconds} s"
        sleep(every)


@contextmanager
def temporary_home(name: str = "home", *, made: bool = False) -> Iterator[Path]:
    """A short home that an unprivileged server can reach; no process and no file of it is left behind.

    `made` gives one with an empty database in it, copied, since creating one takes a second.
    """
    folder = Path(tempfile.mkdtemp(prefix="cc-", dir="/tmp")).resolve()
    folder.chmod(0o711)
    try:
        if made:
            subprocess.run(["cp", "-a", _template(), folder / name], check=True)
        yield folder / name
    finally:
        kill_below(folder)
        shutil.rmtree(folder)


@cache
def _template() -> Path:
    stack = ExitStack()
    atexit.register(stack.close)
    home = stack.enter_context(temporary_home())
    with services(Settings(_env_file=None, database_url=None, redis_url=None, crosscut_home=home), redis=False):
        pass
    return home


def processes_below(folder: Path) -> list[psutil.Process]:
    """Living processes whose command line mentions the folder, whose name is unique to one test."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if any(str(folder) in word for word in process.cmdline()):
                found.append(process)
    return found


def kill_below(folder: Path) -> None:
    """Kill them all at once, as a power cut would."""

    def none_left() -> bool:
        left = processes_below(folder)
        for process in left:
            with suppress(psutil.Error):
                process.kill()
        return not left

    wait_until(none_left)
