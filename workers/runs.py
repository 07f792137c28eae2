"""Batch runs in workers: a queue of their own, so that no notice waits behind an interview of a thousand.

Messages carry ids and may get lost or come twice: what is to be done stands in Postgres. Whoever ends a cell sends the
next ones; the sweep sends what nobody did, all of it when the queue is empty although cells wait.
"""

from __future__ import annotations

from contextlib import suppress

from kombu.exceptions import ChannelError, OperationalError

from benchmark.runs.aggregate import aggregated
from benchmark.runs.cells import CellRunner
from benchmark.runs.desk import WINDOW, RunDesk
from benchmark.runs.spec import parse_spec
from graph.runtime import InterviewRuntime
from settings import Settings
from storage.crypto import load_vault
from storage.database import Database
from storage.runs import Run, Runs
from workers.celery_app import celery, process, send

QUEUE = "batch"
CELL = "crosscut.cell"
AGGREGATE = "crosscut.aggregate"
SWEEP = "crosscut.sweep_runs"
_NAME = f"{QUEUE}-"
_CONNECTIONS = 4

celery.conf.task_routes = {task: {"queue": QUEUE} for task in (CELL, AGGREGATE, SWEEP)}


def open_desk(settings: Settings, database: Database, runtime: InterviewRuntime) -> RunDesk:
    """The desk for runs of a process that can reach the broker."""
    return RunDesk(
        settings,
        Runs(database),
        wake=wake,
        wake_aggregate=lambda run_id: send(AGGREGATE, run_id),
        delete_session=runtime.delete,
    )


def wake(cells: list[int]) -> None:
    """Without a broker the first try says so, and the sweep will send them all."""
    for cell_id in cells:
        if not send(CELL, str(cell_id)):
            return


def batch_workers(seconds: float = 1.0) -> list[str]:
    """The names of the workers that take cells and answer now."""
    with suppress(OperationalError):
        return [name for name in _answering(seconds) if name.startswith(_NAME)]
    return []


def other_workers(seconds: float = 1.0) -> list[str]:
    """Those that do everything else."""
    return [name for name in _answering(seconds) if not name.startswith(_NAME)]


def _answering(seconds: float) -> list[str]:
    return sorted(name for answer in celery.control.ping(timeout=seconds) or [] for name in answer)


@celery.task(name=CELL)
def work_on(cell_id: str) -> bool:
    """Hold the interview of a cell, unless that was done or is being done."""
    entered = _runner().run(int(cell_id))
    wake(_runs().to_send(WINDOW))
    return entered


@celery.task(name=AGGREGATE)
def aggregate(run_id: str) -> bool:
    """Make the tables of a run whose cells have all ended; once, whoever else is told to."""
    runs = _runs()
    with runs.aggregating(run_id) as run:
        return enter_tables(runs, run)


def enter_tables(runs: Runs, run: Run | None) -> bool:
    """Make them again where the run was taken up and ended anew meanwhile: whoever ended it found us at work, and left
    it to us."""
    while run is not None:
        made = aggregated(parse_spec(run.spec), runs.cells(run.id))
        if runs.enter_aggregate(run, made.model_dump(mode="json")):
            return True
        run = runs.to_aggregate(run.id)
    return False


@celery.task(name=SWEEP)
def sweep_runs() -> int:
    """Send what a killed worker or a broker without memory left undone."""
    runs = _runs()
    lost = runs.to_send(WINDOW, again=_queue_is_empty())
    wake(lost)
    for run_id in runs.unaggregated():
        send(AGGREGATE, run_id)
    return len(lost)


def _queue_is_empty() -> bool:
    """Whether every message was taken. Whoever waits all the same has no message any more."""
    with celery.connection_for_read() as connection:
        try:
            return bool(connection.default_channel.queue_declare(queue=QUEUE, passive=True).message_count == 0)
        except ChannelError:  # a queue without messages does not exist
            return True


def _runs() -> Runs:
    return Runs(process().database)


_runners: list[CellRunner] = []


def _runner() -> CellRunner:
    """Made for the first cell, in the process that works on it; its sessions never wait for the disk."""
    if not _runners:
        here = process()
        scratch = Database(here.database_url, load_vault(here.settings), size=_CONNECTIONS, expendable=True)
        here.stack.enter_context(scratch)
        runner = CellRunner(here.settings, here.database, scratch, on_last=lambda run_id: send(AGGREGATE, run_id))
        here.stack.callback(runner.close)
        _runners.append(runner)
    return _runners[0]
