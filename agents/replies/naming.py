"""Which item a patient means who goes back: "the sleep one", "two questions ago", "what I said on pain"."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files

from pydantic import BaseModel, ConfigDict

from agents.language import Found, Scanner, Words

_Patterns = tuple[str, ...]


class _Tables(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    back: dict[int, _Patterns]
    place: dict[int, _Patterns]
    names: dict[int, _Patterns]


def names() -> _Patterns:
    """Every name of every item, for cues that need one."""
    return tuple(pattern for patterns in _tables().names.values() for pattern in patterns)


def items_named(text: str, *, before: int) -> list[int]:
    """The items that a text names among those up to and with the open one, `before`, the likeliest first.

    More words for an item count for it, a later item is likelier than an earlier one, and a place in the order
    ("two questions ago") counts only where nothing else is named.
    """
    found = _scanner().scan(Words(text.replace("-", " ")))
    said: dict[int, int] = {}
    for number, length in ((_item(one, before), one.end - one.start) for one in found if one.label.startswith("name")):
        said[number] = max(length, said.get(number, 0))
    named = sorted((n for n in said if n <= before), key=lambda n: (said[n], n), reverse=True)
    return named or [n for n in (_item(one, before) for one in found) if 1 <= n < before]


def _item(found: Found, before: int) -> int:
    kind, _, number = found.label.partition(" ")
    return before - int(number) if kind == "back" else int(number)


@cache
def _tables() -> _Tables:
    return _Tables.model_validate(tomllib.loads(files("agents.replies").joinpath("items.toml").read_text("utf-8")))


@cache
def _scanner() -> Scanner:
    tables = _tables()
    labelled: dict[str, _Patterns] = {}
    for label, table in (("name", tables.names), ("back", tables.back), ("place", tables.place)):
        labelled |= {f"{label} {number}": patterns for number, patterns in table.items()}
    return Scanner(labelled, {})
