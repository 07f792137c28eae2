"""The product as a whole: start it, look at it, prepare it."""

from __future__ import annotations

import json

import typer
from rich.table import Column, Table

from cli.base import AsJson, app, console, workbench
from settings import load_settings

_STATE_STYLE = {"ok": "green", "off": "dim", "broken": "bold red"}


@app.command()
def up() -> None:
    """Start everything and keep it running until Ctrl-C (what `make run` does)."""
    from workers.launch import run_everything

    raise typer.Exit(run_everything(load_settings()))


@app.command()
def worker(concurrency: int = 1) -> None:
    """Run a Celery worker (with the scheduler) against this installation's broker and database."""
    from workers.launch import run_worker

    raise typer.Exit(run_worker(load_settings(), concurrency))


@app.command()
def page() -> None:
    """Serve the page alone, for set-ups where something else keeps it running."""
    from workers.launch import run_page

    raise typer.Exit(run_page(load_settings()))


@app.command()
def doctor(as_json: AsJson = False) -> None:
    """Show what is found, what runs, and what to do about each problem; exits 1 when something needed is broken."""
    from workers.health import all_checks

    checks = all_checks(load_settings())
    if as_json:
        typer.echo(json.dumps([vars(check) for check in checks], indent=1))
    else:
        columns = [Column(name, overflow="fold") for name in ("what", "state", "found", "what to do")]
        table = Table(*columns, title="Crosscut doctor", title_justify="left")
        for check in checks:
            table.add_row(check.name, f"[{_STATE_STYLE[check.state]}]{check.state}[/]", check.detail, check.fix)
        console.print(table)
    raise typer.Exit(any(check.state == "broken" for check in checks))


@app.command("new-key")
def print_new_key() -> None:
    """Print a fresh encryption key for CROSSCUT_KEY."""
    from storage.crypto import new_key

    typer.echo(new_key())


@app.command()
def migrate() -> None:
    """Bring the database to the current schema."""
    with workbench() as bench:
        kind = "embedded" if bench.services.embedded_postgres else "external"
        console.print(f"The {kind} database is up to date.")
