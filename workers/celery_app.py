"""The Celery application. Tasks get ids only (arguments appear in logs); results go to Postgres under unique keys."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from celery import Celery
from celery.signals import worker_process_init, worker_process_shutdown

from graph.assembly import connected
from graph.runtime import InterviewRuntime
from settings import Settings, load_settings
from storage.crypto import load_vault

HARD_LIMIT_SECONDS = 3600
_REDELIVER_AFTER_SECONDS = HARD_LIMIT_SECONDS * 2
_SWEEP_EVERY_SECONDS = 60.0

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
    beat_schedule={"sweep": {"task": "crosscut.sweep", "schedule": _SWEEP_EVERY_SECONDS}},
)

_process: dict[str, Any] = {}


def configure(settings: Settings, *, database_url: str, redis_url: str) -> Celery:
    """Point the application at its broker and database; forked children inherit this."""
    celery.conf.broker_url = redis_url
    _process.update(settings=settings, database_url=database_url)
    return celery


@worker_process_init.connect
def _open(**_: Any) -> None:
    """Each forked child has pools of its own: a connection cannot be shared across a fork."""
    settings = _process.get("settings") or load_settings()
    stack = ExitStack()
    _, runtime = stack.enter_context(connected(settings, _process["database_url"], load_vault(settings)))
    _process.update(stack=stack, runtime=runtime)


@worker_process_shutdown.connect
def _close(**_: Any) -> None:
    if "stack" in _process:
        _process.pop("stack").close()


@celery.task(name="crosscut.sweep")
def sweep() -> int:
    """Finish the turns that a killed process left in the ledger."""
    runtime: InterviewRuntime = _process["runtime"]
    return len(runtime.recover_all())
