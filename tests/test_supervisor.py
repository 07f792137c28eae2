"""The supervisor: one terminal, everything up, everything down, and repairs in between."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest

from storage.embedded.home import Home
from storage.embedded.postgres import Postgres
from tests.support import processes_below, temporary_home, wait_until

ROOT = Path(__file__).parent.parent

SUPERVISE = """
import json, sys
from pathlib import Path
import psycopg
from errors import CrosscutError
from settings import Settings
from storage.supervisor import Child, Pace, http_ready, up

plan = json.loads(sys.argv[1])
port = plan["port"]
settings = Settings(
    _env_file=None, database_url=None, redis_url=None, crosscut_home=Path(plan["home"]), crosscut_port=port
)

def migrate(url):
    with psycopg.connect(url) as connection:
        connection.execute("create table if not exists migrated (n int)")

def children(found):
    probes = {"http": http_ready(f"http://127.0.0.1:{port}/"), "always": lambda: True, "never": lambda: False}
    python, env = [sys.executable, "-c"], {"BROKER": found.redis_url}
    return [Child(c["name"], [*python, c["code"], plan["home"]], env, probes[c["ready"]]) for c in plan["children"]]

try:
    sys.exit(up(settings, migrate=migrate, children=children, pace=Pace(**plan["pace"])))
except CrosscutError as error:
    sys.exit(f"{type(error).__name__}: {error}")
"""
WAIT = "import os, signal; assert os.environ['BROKER']; print('worker works', flush=True); signal.pause()"
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: signal.pause()"
# A pool as Celery's: a forked process of the same command line, in the same group.
POOL = "import os, signal; os.fork(); signal.pause()"
PAGE = """
import http.server
http.server.ThreadingHTTPServer(("127.0.0.1", {port}), http.server.SimpleHTTPRequestHandler).serve_forever()
"""


def child(name: str, code: str, ready: str = "always") -> dict[str, str]:
    return {"name": name, "code": code, "ready": ready}


@pytest.fixture
def home() -> Iterator[Path]:
    with temporary_home(made=True) as path:
        yield path


@pytest.fixture
def port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def supervisor(home: Path, port: int, *children: dict[str, str], **pace: float) -> Iterator[subprocess.Popen[str]]:
    plan = {
        "home": str(home),
        "port": port,
        "children": children,
        "pace": {"first": 0.05, "limit": 0.2, "poll": 0.02, "grace": 5.0, **pace},
    }
    process = subprocess.Popen(
        [sys.executable, "-c", SUPERVISE, json.dumps(plan)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=partial(signal.signal, signal.SIGHUP, signal.SIG_DFL),  # who runs the tests may have it ignored
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def read_until(process: subprocess.Popen[str], part: str) -> str:
    assert process.stdout
    assert process.stderr
    for line in process.stdout:
        if part in line:
            return line.strip()
    raise AssertionError(f"never said {part!r}: {process.stderr.read()}")


def recorded(home: Path, name: str) -> dict[str, Any]:
    return dict(json.loads((home / "run" / f"{name}.pid").read_text()))


def test_everything_comes_up_is_repaired_and_goes_down(home: Path, port: int) -> None:
    page = child("page", PAGE.format(port=port), "http")
    with supervisor(home, port, child("worker", WAIT), page) as first:
        said = read_until(first, "ready")
        assert said == f"Crosscut is ready at http://127.0.0.1:{port}  (Ctrl-C stops it)"

        with supervisor(home, port, page) as second:
            output, _ = second.communicate(timeout=30)
            assert second.returncode == 0
            assert output == f"Crosscut is already running at http://127.0.0.1:{port} (process {first.pid}).\n"

        worker = recorded(home, "worker")["pid"]
        os.kill(worker, signal.SIGKILL)
        assert "worker ended (status -9); it starts again in 0.05 s." in read_until(first, "worker")
        wait_until(lambda: recorded(home, "worker")["pid"] != worker)

        postmaster = Postgres(Home(home)).pid()
        assert postmaster
        os.kill(postmaster, signal.SIGKILL)
        assert read_until(first, "Postgres") == "Postgres had died and was started again."

        first.send_signal(signal.SIGINT)
        assert first.wait(timeout=30) == 0
    assert not processes_below(home)
    assert not list((home / "run").glob("*.pid"))
    assert "worker works" in (home / "logs" / "worker.log").read_text()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_child_that_ignores_the_request_is_ended_after_the_grace(home: Path, port: int, number: int) -> None:
    with supervisor(home, port, child("stubborn", STUBBORN), grace=0.2) as process:
        read_until(process, "ready")
        process.send_signal(number)
        assert process.wait(timeout=30) == 0
    assert not processes_below(home)


def test_a_port_in_use_is_reported_before_anything_starts(home: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with supervisor(home, port, child("worker", WAIT)) as process:
            _, errors = process.communicate(timeout=30)
    assert f"ServiceError: port {port} is in use by another program; set CROSSCUT_PORT" in errors
    assert not (home / "logs" / "worker.log").exists()
    assert Postgres(Home(home)).pid() is None


def test_a_child_that_never_works_stops_everything_and_shows_its_log(home: Path, port: int) -> None:
    broken = child("worker", "raise SystemExit('no such module: celery')", "never")
    with supervisor(home, port, child("fine", WAIT), broken) as process:
        output, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert output.count("worker ended") == 4
    assert "ServiceError: worker failed 5 times in a row." in errors
    assert str(home / "logs" / "worker.log") in errors
    assert errors.strip().endswith("no such module: celery")
    assert not processes_below(home)


def test_a_child_that_never_gets_ready_stops_everything(home: Path, port: int) -> None:
    with supervisor(home, port, child("slow", WAIT, "never"), start_limit=0.3) as process:
        _, errors = process.communicate(timeout=60)
    assert "ServiceError: slow was not ready after 0 s." in errors
    assert not processes_below(home)


def test_the_rest_of_a_dead_childs_group_is_ended_with_it(home: Path, port: int) -> None:
    with supervisor(home, port, child("pool", POOL)) as process:
        read_until(process, "ready")
        leader = recorded(home, "pool")["pid"]
        wait_until(lambda: len(psutil.Process(leader).children()) == 1)
        member = psutil.Process(leader).children()[0]
        os.kill(leader, signal.SIGKILL)
        wait_until(lambda: not member.is_running() or member.status() == psutil.STATUS_ZOMBIE)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends children with their parent")
def test_children_end_with_a_killed_supervisor(home: Path, port: int) -> None:
    with supervisor(home, port, child("worker", WAIT)) as process:
        read_until(process, "ready")
        worker = psutil.Process(recorded(home, "worker")["pid"])
        wait_until(lambda: WAIT in worker.cmdline())
        process.kill()
        wait_until(lambda: not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE)


def test_what_a_killed_supervisor_left_is_stopped_at_the_next_start(home: Path, port: int) -> None:
    with supervisor(home, port, child("stubborn", STUBBORN)) as process:
        read_until(process, "ready")
        left = psutil.Process(recorded(home, "stubborn")["pid"])
        wait_until(lambda: STUBBORN in left.cmdline())
    assert left.is_running()
    with supervisor(home, port, child("worker", WAIT), grace=0.2) as process:
        read_until(process, "ready")
        assert not left.is_running() or left.status() == psutil.STATUS_ZOMBIE
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 0
    assert not processes_below(home)


def test_a_record_that_now_names_a_stranger_is_only_removed(home: Path, port: int) -> None:
    with subprocess.Popen([sys.executable, "-c", STUBBORN], start_new_session=True) as stranger:
        try:
            created = psutil.Process(stranger.pid).create_time()
            record = {"pid": stranger.pid, "created": created, "argv": ["celery", "worker"]}
            (home / "run" / "worker.pid").write_text(json.dumps(record))
            (home / "run" / "broken.pid").write_text("not json")
            with supervisor(home, port, child("page", WAIT), grace=0.2) as process:
                read_until(process, "ready")
                assert stranger.poll() is None
                assert [path.name for path in (home / "run").glob("*.pid")] == ["page.pid"]
                process.send_signal(signal.SIGTERM)
                assert process.wait(timeout=30) == 0
        finally:
            stranger.kill()
