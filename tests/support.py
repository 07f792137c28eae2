"""Small helpers for tests with real processes."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep

import psutil


def wait_until(predicate: Callable[[], bool], seconds: float = 20.0) -> None:
    """Poll until the predicate holds; fail when it does not in time."""
    deadline = monotonic() + seconds
    while not predicate():
        assert monotonic() < deadline, f"still false after {seconds} s"
        sleep(0.01)


@contextmanager
def temporary_home(name: str = "home") -> Iterator[Path]:
    """A short home that an unprivileged server can reach; no process and no file of it is left behind."""
    folder = Path(tempfile.mkdtemp(prefix="cc-", dir="/tmp")).resolve()
    folder.chmod(0o711)
    try:
        yield folder / name
    finally:
        kill_below(folder)
        shutil.rmtree(folder)


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
