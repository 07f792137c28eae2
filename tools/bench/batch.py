"""What a second worker process is worth for a batch run: one process, then two, at the same gateway."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

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
from tests.worker import worker
from tools.bench.offline import offline
from tools.bench.stand_in import DELAY_SECONDS
from workers.celery_app import celery, configure
from workers.runs import batch_workers, open_desk

PERSONAS = ("grey-mornings", "what-if", "steady-nurse", "one-more-check", "shift-lag", "short-fuse")
PROCESSES = (1, 2)
AIM = 1.7
_PATIENCE = 1800.0


@dataclass(frozen=True)
class BatchFigures:
    """Seconds of the whole run by number of processes, and what an interview takes of the database."""

    interviews: int
    seconds: dict[int, float]
    cell_seconds: dict[int, float]
    megabytes: float

    @property
    def gain(self) -> float:
        return self.seconds[1] / self.seconds[2]


def measure(home: Path, personas: Sequence[str] = PERSONAS) -> BatchFigures:
    spec = parse_spec({"name": "bench", "personas": list(personas), "models": [GOOD], "keep": True})
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
        grown = (_bytes(database) - before) / len(PROCESSES) / len(personas)
    whole, each = ({jobs: pair[part] for jobs, pair in timed.items()} for part in (0, 1))
    return BatchFigures(len(personas), whole, each, grown / 1e6)


def _timed(settings: Settings, url: str, gate: Gateway, desk: RunDesk, spec: RunSpec, jobs: int) -> tuple[float, float]:
    """Seconds of the run, with workers that are there already, and the mean of an interview."""
    home = settings.crosscut_home
    surroundings = {"GATEWAY_BASE_URL": gate.base_url, "GATEWAY_API_KEY": "k", "MODEL_EMBEDDING": "rules"}
    words = ("batch", "work", "--jobs", str(jobs))
    with worker(home, url, home.parent / f"batch-{jobs}", *words, **surroundings):
        wait_until(lambda: bool(batch_workers()), _PATIENCE)
        began = time.perf_counter()
        run_id = desk.start(spec)
        wait_until(lambda: desk.status(run_id).is_over, _PATIENCE)
        whole = time.perf_counter() - began
    (group,) = desk.aggregate(run_id).groups
    each = group.estimates["seconds"]
    if each is None or group.outcomes.completed != len(spec.persona_ids):
        raise RuntimeError(f"not every interview was completed: {group.outcomes}, {group.failures}")
    return whole, each.value


def _bytes(database: Database) -> int:
    row = database.one("SELECT pg_database_size(current_database()) AS size")
    return int(row["size"]) if row else 0


def show(console: Console, figures: BatchFigures) -> None:
    title = f"A batch run of {figures.interviews} interviews at a gateway that takes {1000 * DELAY_SECONDS:.0f} ms"
    table = Table(
        "worker processes", "seconds", "s an interview", "× one process", "aim", title=title, title_justify="left"
    )
    for jobs, seconds in figures.seconds.items():
        gain = figures.seconds[1] / seconds
        aim = f"≥ {AIM}" if jobs > 1 else ""
        table.add_row(str(jobs), f"{seconds:.1f}", f"{figures.cell_seconds[jobs]:.2f}", f"{gain:.2f}", aim)
    console.print(table)
    console.print(f"A session that is kept takes {figures.megabytes:.2f} MB of the database.")
