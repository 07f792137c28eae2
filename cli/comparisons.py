"""`crosscut compare` and `crosscut votes`: several diagnosticians on one frozen session, and what people chose."""

from __future__ import annotations

import getpass
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli.base import AsJson, app, console, print_json, print_plain, workbench, write_charts
from errors import InputError

if TYPE_CHECKING:
    from benchmark.comparison import Comparison, ComparisonDesk, HistoryEntry, PairTally, RunState, Vote
    from graph.assembly import Workbench

By = Annotated[str | None, typer.Option(help="under whom you vote; else your account's name")]
_LOOK_EVERY_SECONDS = 0.3
_PATIENCE_SECONDS = 5.0
"""When nothing was heard of a run for so long, it is made here, unless a worker holds it."""
_SAID = {"waiting": "waits", "asked": "is asked", "answered": "is judged", "done": "is done", "failed": "failed"}


@app.command()
def compare(
    session: Annotated[str, typer.Argument(help="a completed session")],
    model: Annotated[list[str] | None, typer.Option(help="up to two ids beside the driver, or rules")] = None,
    run: Annotated[str | None, typer.Option(help="show this run instead of asking for one")] = None,
    wait: Annotated[bool, typer.Option("--wait", help="until it is made, and show it")] = False,
    as_json: AsJson = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="print one line a figure")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="print Markdown instead")] = False,
    by: By = None,
    charts: Annotated[Path | None, typer.Option(help="a folder to put the chart into, as SVG and PNG")] = None,
) -> None:
    """Replay the diagnostician on a session as it was frozen, for its driver and other models side by side."""
    if as_json + as_csv + markdown > 1:
        raise InputError("choose one of --json, --csv and --markdown.")
    with workbench() as bench:
        desk = _desk(bench)
        if run is None:
            run = desk.ask(desk.snapshots.freeze(session), model or ())
            if not wait:
                _tell_asked(desk.state(run), as_json=as_json)
                return
        state = desk.state(run)
        if state.session_id != session:
            raise InputError(f"run {run!r} is of another session.")
        if wait:
            state = _followed(desk, run)
        if state.status in ("failed", "cancelled"):
            raise InputError(state.error or f"the run ended as {state.status}.")
        for viewer in _viewers(bench, desk, [run], by):
            made = desk.comparison(run, viewer)
    pictures = _draw(made, charts) if charts else {}
    _show(made, pictures, as_json=as_json, csv=as_csv, markdown=markdown)


def _viewers(bench: Workbench, desk: ComparisonDesk, runs: Sequence[str], by: str | None) -> list[str]:
    """Whoever looks, by the name that is given or the account's; where nobody signs in, also by the page's name for
    them. Who holds a ballot under one of them votes first."""
    from ui.access import NAMELESS

    names = [by] if by is not None else [getpass.getuser(), *[NAMELESS] * (not bench.settings.has_login)]
    for run_id in runs:
        for name in names:
            desk.refuse_ballot_holder(run_id, name)
    return names


def _draw(comparison: Comparison, folder: Path) -> dict[str, str]:
    """Where the picture is, by its name."""
    from benchmark.comparison.charts import charts_of

    drawn = write_charts(charts_of(comparison), folder)
    if not drawn:
        Console(stderr=True).print("No model named an impression, so there is no chart.")
    return drawn


def _desk(bench: Workbench) -> ComparisonDesk:
    from benchmark.comparison import open_desk
    from workers.celery_app import COMPARE, configure, send

    found = bench.services
    configure(bench.settings, database_url=found.database_url, redis_url=found.redis_url)
    return open_desk(bench.settings, bench.database, bench.runtime, lambda job_id: send(COMPARE, job_id))


def _tell_asked(state: RunState, *, as_json: bool) -> None:
    if as_json:
        print_json(state.to_json_dict())
        return
    print_plain(f"Run {state.run_id}: {', '.join(column.model for column in state.columns)}.")
    print_plain(f"It is made by a worker; `crosscut compare {state.session_id} --run {state.run_id} --wait` shows it.")


def _followed(desk: ComparisonDesk, run_id: str) -> RunState:
    """Until the run has ended: in a worker, else here."""
    said, since = "", time.monotonic()
    with console.status("") as status:
        while (state := desk.state(run_id)).status in ("queued", "running"):
            now = ", ".join(f"{column.model} {_SAID[column.stage]}" for column in state.columns)
            if now != said:
                said, since = now, time.monotonic()
                status.update(Text(now))
            elif time.monotonic() - since > _PATIENCE_SECONDS:
                desk.work(desk.job_of(run_id))
            time.sleep(_LOOK_EVERY_SECONDS)
    return state


def _show(comparison: Comparison, pictures: dict[str, str], *, as_json: bool, csv: bool, markdown: bool) -> None:
    from benchmark.comparison import as_csv
    from benchmark.comparison.exports import as_markdown, sheets

    if as_json:
        print_json(comparison.to_json_dict())
        return
    if csv:
        typer.echo(as_csv(comparison), nl=False)
        return
    if markdown:
        typer.echo(as_markdown(comparison, pictures), nl=False)
        return
    print_plain(f"Run {comparison.state.run_id} on snapshot {comparison.state.snapshot_sha256[:12]}")
    for sheet in sheets(comparison):
        table = Table(title=sheet.title, title_justify="left")
        for name in sheet.head:
            table.add_column(Text(name))
        for row in sheet.rows:
            table.add_row(*map(Text, row))
        console.print(table)


@app.command()
def votes(session: Annotated[str, typer.Argument(help="a session")], by: By = None, as_json: AsJson = False) -> None:
    """Show the blind votes on a session's comparisons, and every vote and override there was."""
    with workbench() as bench:
        bench.runtime.sessions.get(session)
        desk = _desk(bench)
        runs = [run.run_id for run in reversed(desk.runs_of(session))]
        for viewer in _viewers(bench, desk, runs, by):
            history = [entry for run_id in runs for entry in desk.history(run_id, viewer)]
        tally = desk.tally(session)
    if as_json:
        print_json(
            {
                "tally": [pair.to_json_dict() for pair in tally],
                "history": [entry.to_json_dict() for entry in history],
            }
        )
        return
    if not history:
        console.print("Nobody has voted on a comparison of this session.")
        return
    console.print(_tallied(tally))
    console.print(_told(history))


def _tallied(tally: tuple[PairTally, ...]) -> Table:
    table = Table("first", "second", "first wins", "second wins", "ties", "both bad", "not blind", title="Blind votes")
    for pair in tally:
        counts = (pair.first_wins, pair.second_wins, pair.ties, pair.both_bad, pair.not_blind)
        table.add_row(Text(pair.first), Text(pair.second), *map(str, counts))
    return table


def _told(history: list[HistoryEntry]) -> Table:
    table = Table("when", "who", "what", title="History")
    for entry in history:
        table.add_row(f"{entry.at:%Y-%m-%d %H:%M}", Text(entry.by), Text(_said(entry)))
    return table


def _said(entry: HistoryEntry) -> str:
    if entry.override is not None:
        preferred = " and ".join(filter(None, (entry.override.model, entry.override.impression)))
        return f"prefers {preferred}: {entry.override.reason}"
    return _voted(entry.vote, entry.left or "", entry.right or "") if entry.vote else ""


def _voted(vote: Vote, left: str, right: str) -> str:
    said = {
        "left": f"chose {left} over {right}",
        "right": f"chose {right} over {left}",
        "tie": f"a tie of {left} and {right}",
        "both_bad": f"neither {left} nor {right}",
    }[vote.choice]
    return said if vote.blind else f"{said} (not blind)"
