"""The Celery application. Tasks get ids only (arguments appear in logs); results go to Postgres under unique keys."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from celery import Celery
from celery.signals import worker_process_init, worker_process_shutdown, worker_ready
from kombu.exceptions import OperationalError

from benchmark.comparison import ComparisonDesk, open_desk
from benchmark.desk import KIND as MEASURING
from benchmark.desk import BenchmarkDesk, open_benchmark
from benchmark.snapshot import SnapshotDesk
from errors import InputError, NotFoundError, ServiceError
from graph.assembly import connected
from graph.runtime import InterviewRuntime
from rag.ingestion import KIND, REINDEX, Ingestion, ensure_handbook, open_ingestion
from settings import Settings, load_settings
from storage.crypto import load_vault
from storage.database import Database
from storage.notices import Notices
from workers.notify import channels_of, deliver_due, notice_settings

HARD_LIMIT_SECONDS = 3600
_REDELIVER_AFTER_SECONDS = HARD_LIMIT_SECONDS * 2
_SWEEP_EVERY_SECONDS = 60.0
_NOTIFY_EVERY_SECONDS = 15.0
_SILENCE_SECONDS = 90.0
INGEST = "crosscut.ingest"
GIVE_VECTORS = "crosscut.reindex"
MEASURE = "crosscut.measure"
COMPARE = "crosscut.compare"
_FURNISH = "crosscut.furnish"

celery = Celery("crosscut")
celery.conf.update(
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    task_time_limit=HARD_LIMIT_SECONDS,
    task_ignore_result=True,
    worker_prefetch_multiplier=1,
    worker_hijack_root_logger=False,
    worker_cancel_long_running_tasks_on_connection_loss=True,
    broker_connection_retry_on_startup=True,
    # A message given out again while its task still runs would do the work twice.
    broker_transport_options={"visibility_timeout": _REDELIVER_AFTER_SECONDS},
    visibility_timeout=_REDELIVER_AFTER_SECONDS,
    beat_schedule={
        "sweep": {"task": "crosscut.sweep", "schedule": _SWEEP_EVERY_SECONDS},
        "take_up": {"task": "crosscut.take_up", "schedule": _SWEEP_EVERY_SECONDS},
        "notify": {"task": "crosscut.notify", "schedule": _NOTIFY_EVERY_SECONDS},
    },
)


@dataclass
class _Process:
    """What a worker process holds; set before the fork, completed in each child."""

    settings: Settings | None = None
    database_url: str = ""
    runtime: InterviewRuntime | None = None
    database: Database | None = None
    comparisons: ComparisonDesk | None = None
    stack: ExitStack = field(default_factory=ExitStack)
    first_task: str = _FURNISH


_process = _Process()


def configure(settings: Settings, *, database_url: str, redis_url: str) -> Celery:
    """Point the application at its broker and database; forked children inherit this."""
    celery.conf.broker_url = redis_url
    _process.settings, _process.database_url = settings, database_url
    return celery


def begins_with(task: str) -> None:
    """What this worker asks its children for when they can be asked; by default, to furnish the library."""
    _process.first_task = task


def send(task: str, *arguments: str) -> bool:
    """Wake a worker for what is in the database already. Without a broker it is found there, only later."""
    with suppress(OperationalError):
        celery.send_task(task, args=arguments, retry=False)
        return True
    return False


@dataclass(frozen=True)
class AtWork:
    """What a task finds in the process it runs in; what it opens goes on the stack."""

    settings: Settings
    database_url: str
    database: Database
    stack: ExitStack


def process() -> AtWork:
    if _process.database is None or _process.settings is None:
        raise ServiceError("tasks run in a worker process only")
    return AtWork(_process.settings, _process.database_url, _process.database, _process.stack)


def ask_for_cards(settings: Settings, database: Database, runtime: InterviewRuntime) -> None:
    """Have the report card of each chat that ends in this process asked for, once its report is there."""
    runtime.when_reported = partial(_ask_for_card, open_benchmark(settings, database, runtime))


def _ask_for_card(desk: BenchmarkDesk, session_id: str) -> None:
    for job in desk.request_card(session_id):
        send(MEASURE, job.id)


@worker_ready.connect
def _begin(**_signal: Any) -> None:
    send(_process.first_task)


@worker_process_init.connect
def _open(**_signal: Any) -> None:
    """Each forked child has pools of its own: a connection cannot be shared across a fork."""
    settings = _process.settings or load_settings()
    opened = connected(settings, _process.database_url, load_vault(settings))
    _process.database, _process.runtime = _process.stack.enter_context(opened)
    _process.comparisons = open_desk(settings, _process.database, _process.runtime)
    _process.stack.callback(_process.comparisons.close)
    ask_for_cards(settings, _process.database, _process.runtime)


@worker_process_shutdown.connect
def _close(**_: Any) -> None:
    _process.stack.close()


@celery.task(name="crosscut.sweep")
def sweep() -> int:
    """Finish the turns that a killed process left in the ledger; delete what a killed batch left behind; freeze the
    reports that are new, and ask for the card of a chat whose own process did not."""
    if _process.runtime is None or _process.database is None:
        raise ServiceError("the sweep runs in a worker process only")
    _process.runtime.delete_expired()
    done = len(_process.runtime.recover_all())
    for session_id, revision in SnapshotDesk(_process.database, _process.runtime).freeze_missing():
        if revision == 1:
            with suppress(InputError, NotFoundError):  # stopped or deleted meanwhile
                _ask_for_card(_benchmark(), session_id)
    return done


@celery.task(name=MEASURE)
def measure(job_id: str) -> None:
    """Work on what of a report card takes long: the judge, BERTScore."""
    _benchmark().run(job_id)


@celery.task(name=INGEST)
def ingest(job_id: str) -> None:
    """Work on a book that somebody put into the queue."""
    _ingestion().run(job_id)


@celery.task(name=GIVE_VECTORS)
def give_vectors(job_id: str) -> None:
    """Give books that another embedding model's vectors hide those of the configured one."""
    _ingestion().reindex(job_id)


@celery.task(name=COMPARE)
def compare(job_id: str) -> None:
    """Replay the diagnostician on a snapshot, for every model of a run."""
    _comparisons().work(job_id)


@celery.task(name=_FURNISH)
def furnish() -> None:
    """Put the sample handbook into a library that nobody has used yet."""
    if job := ensure_handbook(_ingestion()):
        send(INGEST, job.id)


@celery.task(name="crosscut.take_up")
def take_up(silence: float = _SILENCE_SECONDS) -> int:
    """Work on the jobs whose worker or whose message is gone: nobody said anything about them for so many seconds."""
    return take_up_books(silence) + _take_up_measuring(silence) + _comparisons().take_up(silence)


def take_up_books(silence: float) -> int:
    ingestion = _ingestion()
    left = ingestion.jobs.waiting(KIND, seconds=silence)
    for job_id in left:
        ingestion.run(job_id)
    unfinished = ingestion.jobs.waiting(REINDEX, seconds=silence)
    for job_id in unfinished:
        ingestion.reindex(job_id)
    return len(left) + len(unfinished)


def _take_up_measuring(silence: float) -> int:
    benchmark = _benchmark()
    unmeasured = benchmark.jobs.waiting(MEASURING, seconds=silence)
    for job_id in unmeasured:
        benchmark.run(job_id)
    return len(unmeasured)


def _benchmark() -> BenchmarkDesk:
    if _process.database is None or _process.settings is None or _process.runtime is None:
        raise ServiceError("report cards are worked on in a worker process only")
    return open_benchmark(_process.settings, _process.database, _process.runtime)


def _comparisons() -> ComparisonDesk:
    if _process.comparisons is None:
        raise ServiceError("comparisons are made in a worker process only")
    return _process.comparisons


def _ingestion() -> Ingestion:
    if _process.database is None or _process.settings is None:
        raise ServiceError("books are read in a worker process only")
    return open_ingestion(_process.settings, _process.database)


@celery.task(name="crosscut.notify")
def notify() -> int:
    """Tell the therapist of sessions that need attention."""
    if _process.database is None or _process.settings is None:
        raise ServiceError("notices are sent from a worker process only")
    channels = channels_of(notice_settings(_process.settings))
    return deliver_due(Notices(_process.database), channels) if channels else 0
