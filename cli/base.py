"""What all commands share. Heavy imports happen inside of commands: `--help` and `risk` need no graph."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from settings import load_settings

if TYPE_CHECKING:
    from graph.assembly import Workbench

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    help="Structured clinical conversations.",
)
# A pipe or a file has no width: what is folded to fit a terminal could not be searched there.
console = Console(width=None if sys.stdout.isatty() else 240)

AsJson = Annotated[bool, typer.Option("--json", help="print JSON instead")]


@contextmanager
def workbench(**overrides: Any) -> Iterator[Workbench]:
    """Everything a command needs of a running installation; overrides are of settings."""
    from graph.assembly import open_workbench

    with open_workbench(load_settings(**overrides)) as bench:
        yield bench


def print_json(value: Any) -> None:
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


def print_plain(text: str) -> None:
    """Text that may hold anything: no markup is read in it, and long lines are left to the terminal."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)
