"""`crosscut benchmark`: the report card of a completed session."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli.base import AsJson, app, console, print_plain, workbench, write_charts
from errors import InputError

if TYPE_CHECKING:
    from benchmark.card import Card, Graded
    from benchmark.desk import BenchmarkDesk
    from graph.assembly import Workbench

_LOOK_EVERY_SECONDS = 0.3
_PATIENCE_SECONDS = 5.0
"""When nothing was heard of a job for so long, it is done here, unless a worker holds it."""
_STYLES = {"PASS": "green", "WARN": "yellow", "FAIL": "bold red"}


@app.command()
def benchmark(
    session: Annotated[str, typer.Argument(help="a completed session")],
    revision: Annotated[int | None, typer.Option(help="of its report; else the newest")] = None,
    as_json: AsJson = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="print one line a metric")] = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="print it to read, with the conversation")] = False,
    as_snapshot: Annotated[bool, typer.Option("--snapshot", help="print the frozen snapshot itself, as JSON")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="until judge and BERTScore are there as well")] = False,
    again: Annotated[bool, typer.Option("--again", help="ask for judge and BERTScore anew")] = False,
    charts: Annotated[Path | None, typer.Option(help="a folder to put the charts into, as SVG and PNG")] = None,
) -> None:
    """Print the report card of a session: its metrics, their grades, and where they come from."""
    from benchmark import card_files
    from benchmark.desk import open_benchmark

    if as_json + as_csv + as_markdown + as_snapshot > 1:
        raise InputError("choose one of --json, --csv, --markdown and --snapshot.")
    with workbench() as bench:
        desk = open_benchmark(bench.settings, bench.database, bench.runtime)
        sha256 = desk.freeze(session, revision)
        if as_snapshot:
            typer.echo(desk.snapshots.content(sha256), nl=False)
            return
        jobs = [job.id for job in desk.request(sha256, again=again)]
        _send(bench, jobs)
        if wait:
            _follow(desk, jobs)
        card = desk.card(sha256)
        pictures = _draw(card, charts) if charts else {}
        if as_json:
            typer.echo(card_files.as_json(card), nl=False)
        elif as_csv:
            typer.echo(card_files.as_csv(card), nl=False)
        elif as_markdown:
            typer.echo(card_files.as_markdown(card, desk.snapshots.get(sha256), pictures), nl=False)
        else:
            _show(card)


def _send(bench: Workbench, jobs: Sequence[str]) -> None:
    from workers.celery_app import MEASURE, configure, send

    if jobs:
        configure(bench.settings, database_url=bench.services.database_url, redis_url=bench.services.redis_url)
    for job_id in jobs:
        send(MEASURE, job_id)


def _follow(desk: BenchmarkDesk, jobs: Sequence[str]) -> None:
    """Until the jobs have ended: in a worker, else here."""
    for job_id in jobs:
        heard, since = None, time.monotonic()
        while (job := desk.jobs.get(job_id)).status in ("queued", "running"):
            if job.updated_at != heard:
                heard, since = job.updated_at, time.monotonic()
            elif time.monotonic() - since > _PATIENCE_SECONDS:
                desk.run(job_id)
            time.sleep(_LOOK_EVERY_SECONDS)


def _draw(card: Card, folder: Path) -> dict[str, str]:
    """Where the pictures are, by their names; what cannot be drawn is said."""
    from benchmark.charts import charts_of
    from benchmark.reliability import curves, why_not_drawn

    drawn = write_charts(charts_of(card), folder)
    if reason := why_not_drawn(curves(card)):
        Console(stderr=True).print(reason, markup=False, highlight=False, soft_wrap=True)
    return drawn


def _show(card: Card) -> None:
    from benchmark.card_files import TITLES, why_no_verdict

    core = card.core
    console.print(Text(card.headline.grade or "", style=_STYLES.get(card.headline.grade or "", "")), end="  ")
    print_plain(card.headline.text)
    for group in dict.fromkeys(metric.group for metric in card.metrics):
        _table(TITLES[group], [metric for metric in card.metrics if metric.group == group])
    if why := why_no_verdict(card):
        print_plain(f"{why[:1].upper()}{why[1:]}.")
    if card.pending:
        print_plain(f"Still to come: {', '.join(card.pending)} (--wait waits for it).")
    for name, why in sorted(card.failed.items()):
        print_plain(f"Failed: {name} ({why}); --again tries once more.")
    print_plain(
        f"Session {core.session_id}, revision {core.revision}, snapshot {core.provenance.snapshot_sha256}, "
        f"thresholds {core.provenance.thresholds_version}."
    )


def _table(title: str, metrics: Sequence[Graded]) -> None:
    from benchmark.card_files import figure

    table = Table("metric", "value", "limit", "grade", "how", title=title, title_justify="left")
    for metric in metrics:
        cells = (metric.label, figure(metric), metric.limit or "")
        grade = Text(metric.grade or "", style=_STYLES.get(metric.grade or "", ""))
        table.add_row(*map(Text, cells), grade, Text(metric.explanation))
    console.print(table)
