"""The `crosscut` command: one module a topic, each of which adds its commands to `cli.base.app`."""

from __future__ import annotations

import sys
from io import TextIOWrapper

from rich.console import Console

from cli import (
    batch,
    benchmarks,
    comparisons,
    interviews,
    library,
    lines,
    product,
    reports,
    reviews,
    safety,
    sessions,
)
from cli.base import app
from errors import CrosscutError

__all__ = [
    "app",
    "batch",
    "benchmarks",
    "comparisons",
    "interviews",
    "library",
    "lines",
    "main",
    "product",
    "reports",
    "reviews",
    "safety",
    "sessions",
]


def main() -> None:
    """Run the command; an expected failure is one message on stderr, never a traceback."""
    _take_any_characters()
    try:
        app()
    except CrosscutError as error:
        Console(stderr=True).print(f"crosscut: {error}", markup=False, highlight=False, soft_wrap=True)
        sys.exit(1)


def _take_any_characters() -> None:
    """One byte that the terminal's encoding does not have must keep no message from being read, and no script from
    being shown."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
