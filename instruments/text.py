"""What comes from outside as text may hold halves of characters, which no file, database or model takes."""

from __future__ import annotations

import json
import re
from typing import Any

_HALVES = re.compile("[\ud800-\udfff]")


def whole(text: str) -> str:
    """Halves that belong together are joined; a lone half becomes the sign for an unknown character."""
    if not _HALVES.search(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def read_json(line: str) -> Any:
    """A line of JSON with the texts of its objects whole, perhaps behind a byte order mark; a ValueError where it is
    none."""
    return json.loads(line.removeprefix("\ufeff"), object_pairs_hook=_whole_pairs)


def _whole_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return {whole(name): whole(value) if isinstance(value, str) else value for name, value in pairs}
