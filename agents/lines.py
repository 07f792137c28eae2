"""JSON lines that are answered one by one: a line that cannot be read is answered with an error, the rest go on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pydantic import ValidationError

from instruments.text import read_json


def answered_lines(lines: Iterable[str], answer: Callable[[Any], dict[str, object]]) -> Iterator[str]:
    """`answer` is given what a line holds, and raises ValidationError where it is not what is asked for."""
    for number, line in enumerate(lines, start=1):
        if line.strip("\ufeff \t\r\n"):
            yield json.dumps(_answer(number, line, answer), ensure_ascii=False)


def _answer(number: int, line: str, answer: Callable[[Any], dict[str, object]]) -> dict[str, object]:
    try:
        given = read_json(line)
    except ValueError as error:
        return {"id": None, "error": f"line {number}: JSON: {error}"}
    try:
        return answer(given)
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "line"
        return {"id": _id_of(given), "error": f"line {number}: {where}: {first['msg']}"}


def _id_of(given: Any) -> str | int | None:
    """So that an error can be put beside its line; None where the line tells no id."""
    told = given.get("id") if isinstance(given, dict) else None
    return told if isinstance(told, str | int) and not isinstance(told, bool) else None
