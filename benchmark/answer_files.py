"""The files of `crosscut replay-answers`: lines of prepared answers in, lines of results out, resumable."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from pydantic import BaseModel, ConfigDict, StrictInt, StrictStr, ValidationError

from errors import InputError
from graph.transcripts import AnswerScript

LineId = str | int
_INTERVIEW = 0  # no line's number: of the lines with one id only one is held


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    id: StrictStr | StrictInt
    answers: dict[int, list[str]]


@dataclass(frozen=True)
class Prepared:
    """One interview to be held."""

    id: LineId
    script: AnswerScript


@dataclass(frozen=True)
class Unusable:
    """A line that cannot be one; it is known by its place in the file, since another may have its id."""

    id: LineId | None
    line: int
    error: str

    def to_json_dict(self) -> dict[str, Any]:
        return {"id": self.id, "error": self.error, "line": self.line}


def read_prepared(path: Path) -> list[Prepared | Unusable]:
    """Every line of the file that is not blank."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    first_line: dict[LineId, int] = {}
    entries: list[Prepared | Unusable] = []
    for number, line in enumerate(content.splitlines(), start=1):
        if line.strip():
            entry = _parsed(number, line)
            if isinstance(entry, Prepared) and (first := first_line.setdefault(entry.id, number)) != number:
                entry = Unusable(entry.id, number, f"line {number} has the id of line {first} again")
            entries.append(entry)
    return entries


def _parsed(number: int, line: bytes) -> Prepared | Unusable:
    try:
        entry = _Line.model_validate_json(line)
    except ValidationError as error:
        # Neither the input nor pydantic's context goes into the message: they hold what a patient said.
        first = error.errors(include_input=False, include_context=False)[0]
        place = ".".join(map(str, first["loc"])) or "JSON"
        message = "not JSON" if first["type"] == "json_invalid" else first["msg"]
        return Unusable(_id_of(line), number, f"line {number}: {place}: {message}")
    return Prepared(entry.id, AnswerScript(answers=entry.answers))


def _id_of(line: bytes) -> LineId | None:
    """The id of a line that is wrong in another respect."""
    try:
        found = json.loads(line)["id"]
    except (ValueError, TypeError, KeyError):
        return None
    return found if isinstance(found, str | int) and not isinstance(found, bool) else None


class Results:
    """The file of results, open for appending by one process at a time."""

    def __init__(self, file: BinaryIO, done: set[tuple[LineId | None, int]]) -> None:
        self._file = file
        self._done = done

    def __contains__(self, entry: Prepared | Unusable) -> bool:
        return (entry.id, _INTERVIEW if isinstance(entry, Prepared) else entry.line) in self._done

    def write(self, row: dict[str, Any]) -> None:
        """The whole line in one write, so that hardly anything but a crash of the machine can tear it."""
        # A lone surrogate becomes its escape, which is what JSON writes for it.
        content = json.dumps(row, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
        try:
            self._file.write(content)
            self._file.flush()
        except OSError as error:
            raise InputError(f"cannot write {self._file.name}: {error.strerror}") from None


@contextmanager
def open_results(path: Path) -> Iterator[Results]:
    """Take up a file of results where it was left; a torn last line is removed, any other strange one is refused."""
    try:
        file = path.open("a+b")
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"another process is writing {path}: wait for it, or choose another file.") from None
        _mend(file)
        yield Results(file, _done(path, file))


def _mend(file: BinaryIO) -> None:
    file.seek(0)
    content = file.read()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        if _is_row(content[whole:]):
            file.write(b"\n")
        else:
            file.truncate(whole)
        file.flush()


def _done(path: Path, file: BinaryIO) -> set[tuple[LineId | None, int]]:
    file.seek(0)
    done = set()
    for number, line in enumerate(file, start=1):
        if not _is_row(line):
            raise InputError(f"line {number} of {path} is not a result, so nothing is added to that file.")
        row = json.loads(line)
        done.add((row["id"], row.get("line", _INTERVIEW)))
    return done


def _is_row(line: bytes) -> bool:
    try:
        row = json.loads(line)
    except ValueError:
        return False
    return isinstance(row, dict) and "id" in row and ("error" in row or "profile" in row)
