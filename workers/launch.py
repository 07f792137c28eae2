"""What `make run` starts: the worker and the page, under the supervisor."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from kombu.exceptions import OperationalError

from graph.assembly import prepare_database
from settings import Settings
from storage.crypto import load_vault
from storage.embedded import Services, services
from storage.supervisor import Child, http_ready, up
from workers import runs
from workers.celery_app import begins_with, celery, configure
from workers.login import refuse_open_door, write_secrets
from workers.notify import notice_settings

_ROOT = Path(__file__).parent.parent

_TWO_AT_ONCE = ("--concurrency", "2")
"""A notice that somebody is in danger does not wait until a book has been read."""

# Streamlit's and LangSmith's telemetry stays off whatever the environment says.
QUIET = {
    "LANGSMITH_TRACING": "false",
    "LANGCHAIN_TRACING_V2": "false",
    "STREAMLIT_BROWSER_GATHER_USAGE_STATS": "false",
}


def run_everything(settings: Settings) -> int:
    refuse_open_door(settings)
    notice_settings(settings)  # a slip in them shows now, not at the first stop
    vault = load_vault(settings)
    return up(
        settings,
        migrate=lambda url: prepare_database(url, vault),
        children=lambda running: _children(settings, running),
    )


def run_page(settings: Settings) -> int:
    """The page alone, for set-ups where something else keeps it running."""
    refuse_open_door(settings)
    return subprocess.run(_streamlit(settings), env={**os.environ, **_environment(settings)}, check=False).returncode  # noqa: S603


def run_worker(settings: Settings, concurrency: int) -> int:
    """A Celery worker with the scheduler inside, attached to this installation's servers."""
    schedule = settings.crosscut_home / "run" / "schedule"
    return _work(settings, concurrency, "--schedule", str(schedule))


def run_batch_worker(settings: Settings, concurrency: int) -> int:
    """A worker that takes cells of runs and nothing else; it sweeps by itself, so that it needs no other."""
    lease = settings.crosscut_lease_seconds
    swept = {"queue": runs.QUEUE, "expires": 2 * lease}
    celery.conf.beat_schedule = {"sweep_runs": {"task": runs.SWEEP, "schedule": lease, "options": swept}}
    begins_with(runs.SWEEP)
    # Its timetable is one line long and kept in memory: several of them share a home.
    return _work(
        settings, concurrency, "--scheduler", "celery.beat:Scheduler", "--queues", runs.QUEUE,
        "--hostname", f"{runs.QUEUE}-{os.getpid()}@%h",
    )  # fmt: skip


def _work(settings: Settings, concurrency: int, *options: str) -> int:
    with services(settings) as running:
        prepare_database(running.database_url, load_vault(settings))
        configure(settings, database_url=running.database_url, redis_url=running.redis_url)
        celery.worker_main(
            [
                "worker",
                "--loglevel",
                settings.crosscut_log_level,
                "--concurrency",
                str(concurrency),
                "--beat",
                "--without-gossip",
                "--without-mingle",
                *options,
            ]
        )
    return 0


def _children(settings: Settings, running: Services) -> Sequence[Child]:
    local = f"http://{settings.crosscut_host}:{settings.crosscut_port}"
    environment = _environment(settings)
    configure(settings, database_url=running.database_url, redis_url=running.redis_url)
    return (
        Child("worker", [sys.executable, "-m", "cli", "worker", *_TWO_AT_ONCE], environment, _worker_answers),
        Child("batch", [sys.executable, "-m", "cli", "batch", "work"], environment, lambda: True),
        Child("app", _streamlit(settings), environment, http_ready(f"{local}/_stcore/health")),
    )


def _environment(settings: Settings) -> dict[str, str]:
    path = os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH")]))
    return {**QUIET, "CROSSCUT_HOME": str(settings.crosscut_home), "PYTHONPATH": path}


def _streamlit(settings: Settings) -> list[str]:
    login = write_secrets(settings)
    return [
        sys.executable, "-m", "streamlit", "run", str(_ROOT / "app.py"),
        "--server.address", settings.crosscut_host,
        "--server.port", str(settings.crosscut_port),
        "--server.headless", "true",
        "--server.fileWatcherType", "none",
        "--runner.magicEnabled", "false",
        "--browser.gatherUsageStats", "false",
        "--client.toolbarMode", "minimal",
        "--client.showErrorDetails", "none",
        *(("--secrets.files", str(login)) if login else ()),
    ]  # fmt: skip


def _worker_answers() -> bool:
    try:
        return bool(runs.other_workers())
    except OperationalError:  # the broker itself is being restarted
        return False
