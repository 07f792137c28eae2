"""Advisory file locks. The kernel drops them with their process, so `kill -9` leaves none behind."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

from errors import ServiceError
from storage.embedded.home import Home

PATIENCE = 120.0  # seconds: a first start on a slow disk, seen by whoever waits for it


def wait_for(condition: Callable[[], bool], seconds: float, step: float = 0.02) -> bool:
    """Poll until the condition holds; false when the time is up."""
    deadline = monotonic() + seconds
    while not condition():
        if monotonic() >= deadline:
            return False
        sleep(step)
    return True


def take(handle: int, *, shared: bool = False) -> bool:
    """Take or change the lock on an open file if that is possible at once."""
    try:
        fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def drop(handle: int) -> None:
    """Unlock for every copy of this handle: closing alone would leave the lock to processes forked meanwhile."""
    fcntl.flock(handle, fcntl.LOCK_UN)
    os.close(handle)


@contextmanager
def exclusive(home: Home, path: Path) -> Iterator[None]:
    handle = home.open(path, os.O_RDWR)
    try:
        if not wait_for(lambda: take(handle), PATIENCE):
            raise ServiceError(
                f"another process has held {path} for {PATIENCE:.0f} s while it starts or stops a server: "
                f"see the logs in {home.logs}, and end that process if it hangs."
            )
        yield
    finally:
        drop(handle)
