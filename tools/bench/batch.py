"""What a second worker process is worth for a batch run: one process, then two, at the same gateway."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import psutil
from rich.console import Console
from rich.table import Table

from benchmark.runs.desk import RunDesk
from benchmark.runs.spec import RunSpec, parse_spec
from graph.assembly import connected, prepare_database
from settings import Settings
from storage.crypto import load_vault
from storage.database import Database
from storage.embedded import services
from tests.gateway import Gateway, gateway
from tests.models import GOOD, answering
from tests.support import wait_until
from tests.worker import Worker, worker
from tools.bench.aims import Aim
from tools.bench.offline import offline
from tools.bench.stand_in import DELAY_SECONDS
from workers.celery_app import celery, configure
from workers.runs import batch_workers, open_desk

PERSONAS = ("grey-mornings", "awake-at-three", "steady-nurse", "one-more-check", "shift-lag", "short-fuse")
REPEATS = 2
"""A process's first interview also loads what all need; with few of them that would be most of what is measured."""
PROCESSES = (1, 2)
AIM = 1.7
_PATIENCE = 1800.0


@dataclass(frozen=True)
class Timed:
    """Seconds of the whole run, of an interview, and of a processor for one."""

    whole: float
    each: float
    processor: float


@dataclass(frozen=True)
class BatchFigures:
    """By number of processes; and what an interview takes of the database."""

    interviews: int
    runs: dict[int, Timed]
    megabytes: float


def measure(home: Path, personas: Sequence[str] = PERSONAS, repeats: int = REPEATS) -> BatchFigures:
    who = {"personas": list(personas), "models": [GOOD], "repeats": repeats}
    spec = parse_spec({"name": "bench", "keep": True, **who})
    interviews = len(personas) * repeats
    with ExitStack() as stack:
        gate = stack.enter_context(gateway())
        gate.default = answering(DELAY_SECONDS)
        settings = offline(home, gateway_base_url=gate.base_url, gateway_api_key="k")
        found = stack.enter_context(services(settings))
        vault = load_vault(settings)
        prepare_database(found.database_url, vault)
        configure(settings, database_url=found.database_url, redis_url=found.redis_url)
        database, runtime = stack.enter_context(connected(settings, found.database_url, vault))
        stack.callback(celery.close)
        desk, before = open_desk(settings, database, runtime), _bytes(database)
        timed = {jobs: _timed(settings, found.database_url, gate, desk, spec, jobs) for jobs in PROCESSES}
        grown = (_bytes(database) - before) / len(PROCESSES) / interviews
    return BatchFigures(interviews, timed, grown / 1e6)


def _timed(settings: Settings, url: str, gate: Gateway, desk: RunDesk, spec: RunSpec, jobs: int) -> Timed:
    """The run by workers that are there already."""
    home = settings.crosscut_home
    surroundings = {"GATEWAY_BASE_URL": gate.base_url, "GATEWAY_API_KEY": "k", "MODEL_EMBEDDING": "rules"}
    words = ("batch", "work", "--jobs", str(jobs))
    with worker(home, url, home.parent / f"batch-{jobs}", *words, **surroundings) as running:
        wait_until(lambda: bool(batch_workers()), _PATIENCE)
        began, used = time.perf_counter(), _processor(running)
        run_id = desk.start(spec)
        wait_until(lambda: desk.status(run_id).is_over, _PATIENCE)
        whole, used = time.perf_counter() - began, _processor(running) - used
    (group,) = desk.aggregate(run_id).groups
    each, done = group.estimates["seconds"], group.outcomes.completed
    if each is None or done != group.outcomes.cells:
        raise RuntimeError(f"not every interview was completed: {group.outcomes}, {group.failures}")
    return Timed(whole, each.value, used / done)


def _processor(running: Worker) -> float:
    """Seconds that the worker's processes have had of a processor."""
    family = psutil.Process(running.process.pid).children(recursive=True)
    return float(sum(one.cpu_times().user + one.cpu_times().system for one in family))


def _bytes(database: Database) -> int:
    row = database.one("SELECT pg_database_size(current_database()) AS size")
    return int(row["size"]) if row else 0


def aims(figures: BatchFigures) -> dict[int, Aim]:
    """What each number of processes above one is worth."""
    return {
        jobs: Aim(f"a batch run by {jobs} processes, times one", figures.runs[1].whole / run.whole, AIM, least=True)
        for jobs, run in figures.runs.items()
        if jobs > 1
    }


def show(console: Console, figures: BatchFigures) -> list[Aim]:
    aimed = aims(figures)
    title = f"A batch run of {figures.interviews} interviews at a gateway that takes {1000 * DELAY_SECONDS:.0f} ms"
    columns = ("worker processes", "seconds", "s an interview", "processor s an interview", "× one process", "aim")
    table = Table(*columns, title=title, title_justify="left")
    for jobs, run in figures.runs.items():
        gain, aim = (aimed[jobs].shown, aimed[jobs].verdict) if jobs in aimed else ("1", "")
        table.add_row(str(jobs), f"{run.whole:.1f}", f"{run.each:.2f}", f"{run.processor:.2f}", gain, aim)
    console.print(table)
    console.print(f"A session that is kept takes {figures.megabytes:.2f} MB of the database.")
    return list(aimed.values())
