"""Run the whole product in one terminal: servers, migrations, worker and page, until Ctrl-C.

A child or embedded server that dies is started again. Whatever a killed supervisor left behind is stopped first.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event
from time import monotonic

from errors import ServiceError
from settings import Settings
from storage.children import Child, Pace, Running, stop_all, stop_leftovers
from storage.embedded import Home, Services, ensure_running, services
from storage.embedded.locks import drop, take, wait_for

__all__ = ["Child", "Pace", "http_ready", "up"]

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SERVER_CHECK_SECONDS = 1.0

Say = Callable[[str], None]


def up(
    settings: Settings,
    *,
    migrate: Callable[[str], None],
    children: Callable[[Services], Sequence[Child]],
    say: Say | None = None,
    pace: Pace | None = None,
) -> int:
    """Run until a signal; the exit status. A second call for the same home says where the first one is."""
    say, pace, address = say or _say, pace or Pace(), _address(settings)
    home = Home.of(settings)
    home.prepare()
    with _only_one(home, address) as other, _stop_on_signal() as stop:
        if other is not None:
            say(f"Crosscut is already running at {other}.")
            return 0
        stop_leftovers(home.run, pace.grace)
        _check_port(settings.crosscut_host, settings.crosscut_port)
        with services(settings) as found:
            migrate(found.database_url)
            running = [Running(child, home, pace) for child in children(found)]
            try:
                if not stop.is_set():
                    _start(running, stop, pace, say, address)
                    _watch(settings, running, stop, pace, say)
            finally:
                say("Crosscut is stopping …")
                stop_all(running, pace.grace)
    return 0


def http_ready(url: str) -> Callable[[], bool]:
    """Readiness by HTTP, e.g. Streamlit's `/_stcore/health`."""
    # A proxy of the environment has no business between us and our own page.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def ready() -> bool:
        try:
            with opener.open(url, timeout=2) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    return ready


def _address(settings: Settings) -> str:
    host = settings.crosscut_host
    return f"http://{f'[{host}]' if ':' in host else host}:{settings.crosscut_port}"


def _start(running: list[Running], stop: Event, pace: Pace, say: Say, address: str) -> None:
    deadline = monotonic() + pace.start_limit
    for one in running:
        one.start()
    while not stop.is_set():
        for one in running:
            one.check(say)
        if all(one.was_ready for one in running):
            say(f"Crosscut is ready at {address}  (Ctrl-C stops it)")
            return
        if monotonic() > deadline:
            late = next(one for one in running if not one.was_ready)
            raise ServiceError(f"{late.child.name} was not ready after {pace.start_limit:.0f} s. {late.last_words()}")
        stop.wait(pace.poll)


def _watch(settings: Settings, running: list[Running], stop: Event, pace: Pace, say: Say) -> None:
    next_look, failures = 0.0, 0
    while not stop.wait(pace.poll):
        for one in running:
            one.check(say)
        if monotonic() < next_look:
            continue
        try:
            for title in ensure_running(settings):
                say(f"{title} had died and was started again.")
            failures = 0
        except ServiceError as error:
            failures += 1
            say(str(error))
        next_look = monotonic() + (pace.delay(failures) if failures else SERVER_CHECK_SECONDS)


@contextmanager
def _only_one(home: Home, address: str) -> Iterator[str | None]:
    """Be the only supervisor of this home, or learn where the other one is."""
    path = home.run / "supervisor.lock"
    handle = home.open(path, os.O_RDWR)
    if not take(handle):
        os.close(handle)
        yield _read_other(path)
        return
    try:
        os.ftruncate(handle, 0)
        os.pwrite(handle, json.dumps({"pid": os.getpid(), "address": address}).encode(), 0)
        yield None
    finally:
        os.ftruncate(handle, 0)
        drop(handle)


def _read_other(path: Path) -> str:
    wait_for(lambda: path.stat().st_size > 0, 1)  # it may not have written yet, or be on its way out
    with suppress(ValueError, KeyError):
        other = json.loads(path.read_text())
        return f"{other['address']} (process {other['pid']})"
    return "an address it has not told yet"


@contextmanager
def _stop_on_signal() -> Iterator[Event]:
    """Turn signals into an event: an exception at any point could lose a process between its start and its record."""
    stop = Event()
    # Under nohup the hang-up stays ignored.
    wanted = [n for n in SIGNALS if n != signal.SIGHUP or signal.getsignal(n) != signal.SIG_IGN]
    before = {number: signal.signal(number, lambda *_: stop.set()) for number in wanted}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _check_port(host: str, port: int) -> None:
    try:
        family, kind, _, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except socket.gaierror as error:
        raise ServiceError(f"CROSSCUT_HOST {host!r} is no address of this machine: {error.strerror}.") from error
    with socket.socket(family, kind) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(where)
        except PermissionError as error:
            raise ServiceError(f"port {port} needs more rights: set CROSSCUT_PORT to 1024 or above.") from error
        except OSError as error:
            raise ServiceError(
                f"port {port} is in use by another program; set CROSSCUT_PORT to a free one ({host}: {error.strerror})."
            ) from error


def _say(line: str) -> None:
    with suppress(OSError):  # the terminal may be gone, and stopping must go on
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
