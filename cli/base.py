"""What all commands share. Heavy imports happen inside of commands: `--help` and `risk` need no graph."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from errors import InputError
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


def write_charts(charts: Mapping[str, Any], folder: Path) -> dict[str, str]:
    """As PNG and SVG; each is told on stderr, and where the SVG is comes back by its name."""
    from benchmark.charts import save

    try:
        folder.mkdir(parents=True, exist_ok=True)
        paths = {
            name: [save(made, folder / f"{name}.{kind}") for kind in ("png", "svg")] for name, made in charts.items()
        }
    except OSError as error:
        raise InputError(f"cannot write to {str(folder)!r}: {error.strerror}.") from None
    for path in (path for both in paths.values() for path in both):
        Console(stderr=True).print(f"{path} written", markup=False, highlight=False, soft_wrap=True)
    return {name: str(both[-1]) for name, both in paths.items()}
