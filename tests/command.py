"""The `crosscut` command as a person at a terminal has it."""

from __future__ import annotations

from collections.abc import Callable

from typer.testing import CliRunner, Result

from cli import app
from errors import CrosscutError

Crosscut = Callable[..., Result]


def crosscut_command(*words: object, fails: type[CrosscutError] | None = None, **environment: str) -> Result:
    """What came of it; it succeeds, or it `fails` with that error."""
    result = CliRunner().invoke(app, [str(word) for word in words], env=environment)
    if fails is None:
        assert result.exit_code == 0, (result.output, result.exception)
    else:
        assert isinstance(result.exception, fails), (result.output, result.exception)
    return result
