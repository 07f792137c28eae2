"""Charts as Altair objects: the page shows them, files get them as SVG or PNG."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from errors import InputError

KINDS = (".svg", ".png", ".json")
_PNG_SCALE = 2.0


def save(chart: Any, path: Path) -> Path:
    """Write a chart to a file of the kind that its name says; nothing is fetched to draw it."""
    if path.suffix not in KINDS:
        raise InputError(f"a chart can be saved as {', '.join(KINDS)}, not as {path.suffix or path.name!r}.")
    if path.suffix == ".png":
        chart.save(str(path), scale_factor=_PNG_SCALE)
    else:
        chart.save(str(path))
    return path
