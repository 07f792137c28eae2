"""Tags of markup in what people paste or type: no speech themselves, while what stands between them is."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files

from pydantic import BaseModel, ConfigDict


class _Tables(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    inline: str
    lines: str
    blocks: str
    bare: str


_VALUE = r"""(?:"[^"<>]{0,2000}"|'[^'<>]{0,2000}'|[^\s"'<>=]{1,2000})"""


def tags(text: str) -> Iterator[tuple[int, int, str]]:
    """Where tags stand, and what they are read as: nothing within a line, a line's or a paragraph's end otherwise.

    Only the names of HTML count, with settings such as 'class=x': "<i am going to kill myself>" is said, not set.
    """
    if "<" in text:
        for match in _tag().finditer(text):
            yield *match.span(), _read_as().get((match["name"] or "").lower(), "")


@cache
def _tables() -> _Tables:
    return _Tables.model_validate(tomllib.loads(files("agents.language").joinpath("markup.toml").read_text("utf-8")))


@cache
def _read_as() -> dict[str, str]:
    return dict.fromkeys(_tables().lines.split(), "\n") | dict.fromkeys(_tables().blocks.split(), "\n\n")


@cache
def _tag() -> re.Pattern[str]:
    tables = _tables()
    names = "|".join(f"{tables.inline} {tables.lines} {tables.blocks}".split())
    setting = rf"[\w:.-]{{1,60}}\s?=\s?{_VALUE}|(?:{'|'.join(tables.bare.split())})(?=[\s/>])"
    return re.compile(rf"<(?:!--[^<>a-z]{{0,40}}--|/?(?P<name>{names})(?:\s+(?:{setting}))*\s*/?)>", re.IGNORECASE)
