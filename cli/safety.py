"""Stopping a session by hand, and the audit of every risk check."""

from __future__ import annotations

import json

import typer

from cli.base import app, console, print_plain, workbench

audit_app = typer.Typer(help="The append-only audit of every risk check.", no_args_is_help=True)
app.add_typer(audit_app, name="audit")


@app.command()
def stop(session: str) -> None:
    """Stop a session for safety by hand; this cannot be undone."""
    with workbench() as bench:
        bench.runtime.stop(session)
    console.print(f"Session {session} is stopped. The patient sees the safety script from now on.")


@audit_app.command()
def verify() -> None:
    """Check the hash chain of every session; exits 1 when a row was changed, removed or added."""
    from storage.audit import Audit

    with workbench() as bench:
        rows, broken = Audit(bench.database).verify()
    for fault in broken:
        print_plain(f"session {fault.session_id}, row {fault.seq}: {fault.problem}")
    console.print(f"{rows} rows checked, {len(broken)} broken chains.")
    raise typer.Exit(bool(broken))


@audit_app.command()
def show(session: str) -> None:
    """Print a session's audit rows as JSON lines."""
    from storage.audit import Audit

    with workbench() as bench:
        for entry in Audit(bench.database).entries(session):
            typer.echo(json.dumps(entry, ensure_ascii=False))
