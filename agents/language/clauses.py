"""Sentences and clauses of a reading."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from pydantic import BaseModel, ConfigDict


class _Tables(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    always: tuple[str, ...]
    before_subject: tuple[str, ...]
    subjects: tuple[str, ...]


@dataclass(frozen=True)
class Clause:
    """A stretch of a reading's text, with the number of its sentence."""

    start: int
    end: int
    sentence: int

    def of(self, text: str) -> str:
        return text[self.start : self.end]


_SENTENCE_END = re.compile(r"(?<!\d)[.!?]+(?=\s|$|[\"')])|[.!?]+(?=\s|$)|[\n;]+")


@cache
def _boundary() -> re.Pattern[str]:
    tables = _Tables.model_validate(tomllib.loads(files("agents.language").joinpath("clauses.toml").read_text("utf-8")))
    subjects = "|".join(map(re.escape, tables.subjects))
    always = "|".join(tables.always)
    before = "|".join(tables.before_subject)
    return re.compile(rf"[,:()—]+|\s-+\s|\b(?=(?:{always})\b(?!'))|\b(?=(?:{before})\s+(?:{subjects})\b)")


def clauses(text: str) -> list[Clause]:
    """The clauses in order; together they cover the text but for the punctuation between them."""
    found: list[Clause] = []
    begin = number = 0
    for match in [*_SENTENCE_END.finditer(text), None]:
        end = match.start() if match else len(text)
        found += _split(text, begin, end, number)
        begin, number = (match.end() if match else end), number + 1
    return found


def _split(text: str, begin: int, end: int, sentence: int) -> list[Clause]:
    parts: list[Clause] = []
    at = begin
    for match in _boundary().finditer(text, begin, end):
        if text[at : match.start()].strip():
            parts.append(Clause(at, match.start(), sentence))
        at = match.end()
    if text[at:end].strip():
        parts.append(Clause(at, end, sentence))
    return parts
