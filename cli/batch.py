"""`crosscut batch`: patients × models × modes × repeats, over as many workers as there are."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from cli.base import AsJson, app, console, print_json, print_plain, workbench
from settings import load_settings

if TYPE_CHECKING:
    from benchmark.runs.desk import Progress as RunProgress
    from benchmark.runs.desk import RunDesk
    from graph.assembly import Workbench

batch = typer.Typer(no_args_is_help=True, help="Batch runs: many interviews, measured and put into tables.")
app.add_typer(batch, name="batch")

RunId = Annotated[str, typer.Argument(metavar="RUN", help="a run's id, as `crosscut batch list` shows it")]
Jobs = Annotated[
    int | None, typer.Option(min=0, max=256, help="processes of this command's own; 0: leave it to others")
]
_LOOK_EVERY_SECONDS = 0.5


@batch.command("run")
def run_spec(
    spec: Annotated[Path, typer.Argument(metavar="SPEC.yaml", help="what to do (docs/batch.md)")],
    jobs: Jobs = None,
    detach: Annotated[bool, typer.Option("--detach", help="start it and leave it to the workers")] = False,
) -> None:
    """Start a run and watch it. Without workers elsewhere, it is done by processes of its own, one a core."""
    from benchmark.runs.spec import read_spec

    wanted = read_spec(spec)
    with _desk() as (bench, desk):
        run_id = desk.start(wanted)
        total = desk.status(run_id).total
        _tell(f"Run {run_id}: {total:,} cells." + (f" crosscut batch status {run_id} shows how far it is." * detach))
        if not detach:
            _done_here(bench, desk, run_id, jobs)


@batch.command()
def resume(run: RunId, jobs: Jobs = None, detach: Annotated[bool, typer.Option("--detach")] = False) -> None:
    """Go on with a run: what failed, was cancelled or got lost is done again; what is done stays."""
    with _desk() as (bench, desk):
        _tell(f"{desk.resume(run):,} cells are queued again.")
        if not detach:
            _done_here(bench, desk, run, jobs)


@batch.command()
def status(
    run: RunId,
    watch: Annotated[bool, typer.Option("--watch", help="stay until it is over")] = False,
    as_json: AsJson = False,
) -> None:
    """How far a run is."""
    with _desk() as (_, desk):
        if watch:
            _followed(desk, run)
        found = desk.status(run)
    if as_json:
        print_json(found.to_json_dict())
    else:
        console.print(_table([found]))


@batch.command("list")
def list_runs(as_json: AsJson = False) -> None:
    """All runs, the newest first."""
    with _desk() as (_, desk):
        found = desk.list()
    if as_json:
        print_json([one.to_json_dict() for one in found])
    else:
        console.print(_table(found) if found else "There are no runs yet: crosscut batch run SPEC.yaml starts one.")


@batch.command()
def report(
    run: RunId,
    out: Annotated[Path | None, typer.Option(help="a folder for tables and charts")] = None,
) -> None:
    """A run's tables: as Markdown on the terminal, or with CSV, JSON and charts in a folder."""
    from benchmark.runs.tables import markdown
    from benchmark.runs.writing import write_report

    with _desk() as (_, desk):
        found = desk.aggregate(run)
        files = write_report(found, desk.cells(run), out) if out else []
    print_plain(f"{len(files)} files in {out}: {', '.join(files)}" if out else markdown(found))


@batch.command()
def cancel(run: RunId) -> None:
    """Take back what has not ended yet; `resume` goes on with it."""
    with _desk() as (_, desk):
        _tell(f"{desk.cancel(run):,} cells were taken back.")


@batch.command()
def delete(run: RunId) -> None:
    """Delete a run with its figures, its answers and the sessions that it kept."""
    with _desk() as (_, desk):
        desk.delete(run)
    _tell(f"Run {run} is deleted.")


@batch.command()
def work(jobs: Annotated[int, typer.Option(min=1, max=256, help="cells at a time")] = 1) -> None:
    """Take cells of runs until Ctrl-C; on as many machines as have the same database and broker."""
    from workers.launch import run_batch_worker

    raise typer.Exit(run_batch_worker(load_settings(), jobs))


@contextmanager
def _desk() -> Iterator[tuple[Workbench, RunDesk]]:
    from workers.celery_app import celery, configure
    from workers.runs import open_desk

    with workbench() as bench:
        found = bench.services
        configure(bench.settings, database_url=found.database_url, redis_url=found.redis_url)
        try:
            yield bench, open_desk(bench.settings, bench.database, bench.runtime)
        finally:
            celery.close()


def _done_here(bench: Workbench, desk: RunDesk, run_id: str, jobs: int | None) -> None:
    """Watch to the end, with workers of our own where there are none (or so many as are wished for)."""
    from benchmark.runs.tables import summary_table
    from workers.runs import batch_workers

    wanted = (0 if batch_workers() else os.cpu_count() or 1) if jobs is None else jobs
    try:
        with ExitStack() as stack:
            if wanted:
                stack.enter_context(_own_worker(bench, wanted))
            _followed(desk, run_id)
    except KeyboardInterrupt:
        _tell(f"\nLeft off. Go on with: crosscut batch resume {run_id}")
        raise typer.Exit(130) from None
    console.print(summary_table(desk.aggregate(run_id)))
    _tell(f"crosscut batch report {run_id} --out FOLDER writes tables and charts.")


@contextmanager
def _own_worker(bench: Workbench, jobs: int) -> Iterator[None]:
    from storage.embedded import Home

    log = Home.of(bench.settings).logs / "batch-own.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "CROSSCUT_HOME": str(bench.settings.crosscut_home)}
    with log.open("ab") as file:
        process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", "cli", "batch", "work", "--jobs", str(jobs)],
            env={**environment, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C is ours: we end it in our own time
        )
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _followed(desk: RunDesk, run_id: str) -> None:
    columns = (
        BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), TimeRemainingColumn()
    )  # fmt: skip
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=None)
        while True:
            found = desk.status(run_id)
            bar.update(task, total=found.total, completed=found.ended, description=_said(found))
            if found.is_over:
                return
            time.sleep(_LOOK_EVERY_SECONDS)


def _said(found: RunProgress) -> str:
    if found.status == "aggregating":
        return "making the tables"
    failed = f", {found.failed:,} failed" if found.failed else ""
    return f"{found.running:,} at work{failed}"


def _table(found: list[RunProgress]) -> Table:
    table = Table("run", "name", "status", "cells", "done", "failed", "at work", "waiting", "cancelled", "seconds")
    for one in found:
        numbers = (one.total, one.done, one.failed, one.running, one.queued, one.cancelled)
        table.add_row(one.run_id, one.name, one.status, *(f"{n:,}" for n in numbers), f"{one.seconds:,.0f}")
    return table


def _tell(text: str) -> None:
    Console(stderr=True).print(text, markup=False, highlight=False, soft_wrap=True)
