"""Commands that read JSON lines on stdin and answer each on stdout; they need no server and no key."""

from __future__ import annotations

import sys

import typer

from cli.base import app
from settings import load_settings


@app.command()
def risk() -> None:
    """Read JSON lines {"id", "item"?, "text"} on stdin, write what the risk rules say of each."""
    from agents.risk.batch import check_lines

    for line in check_lines(sys.stdin):
        typer.echo(line)


@app.command()
def score() -> None:
    """Read JSON lines {"id", "item", "question", "answer", …} on stdin, write the score of each."""
    from agents.scoring.batch import score_lines

    for line in score_lines(sys.stdin, load_settings().follow_up_threshold):
        typer.echo(line)
