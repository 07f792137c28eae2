"""`crosscut report`: a session's report as a file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from cli.base import app, console, workbench
from cli.interviews import mode_of
from errors import InputError


@app.command()
def report(
    session: Annotated[str, typer.Argument(help="a completed session")],
    form: Annotated[str, typer.Option("--format", help="md, json or pdf")] = "md",
    mode: Annotated[str | None, typer.Option(help="screening, categorical or diagnostic; else the newest")] = None,
    again: Annotated[bool, typer.Option("--again", help="write a new revision")] = False,
    out: Annotated[Path | None, typer.Option(help="write to this file instead of standard output")] = None,
) -> None:
    """Print a session's report, or write it to a file; what is missing is made."""
    from graph.exports import exported, format_of
    from storage.clients import ClientLabels

    format_of(form)  # before a report is made that could not be had
    if form == "pdf" and out is None and sys.stdout.isatty():
        raise InputError("a PDF does not go to a terminal: give --out FILE.pdf.")
    wanted = mode_of(mode) if mode else None
    with workbench() as bench:
        bench.runtime.view(session)  # finishes what a killed process left
        desk = bench.runtime.reports
        made = desk.write(session, wanted) if again else desk.newest(session, wanted)
        content = exported(made, form, ClientLabels(bench.database).of([session]).get(session))
    if out is None:
        sys.stdout.buffer.write(content)
        return
    try:
        out.write_bytes(content)
    except OSError as error:
        raise InputError(f"cannot write to {str(out)!r}: {error.strerror}.") from None
    console.print(f"{out}: revision {made.revision}, {len(content):,} bytes.", markup=False, highlight=False)
