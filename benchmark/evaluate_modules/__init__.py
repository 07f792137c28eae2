"""Our metrics as modules of Hugging Face's `evaluate`, for researchers' own code: `evaluate.load(module("items"))`.

They are files of this package and load without the hub. They need the extra `[metrics]`. `evaluate` reads their imports
line by line, so each import stands on a line of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from benchmark.metrics import Metric
from benchmark.snapshot import Snapshot
from errors import NotFoundError

_FOLDER = Path(__file__).parent


def modules() -> list[str]:
    return sorted(path.stem.removeprefix("crosscut_") for path in _FOLDER.glob("crosscut_*.py"))


def module(name: str) -> str:
    """The path that `evaluate.load` takes."""
    if name not in modules():
        raise NotFoundError(f"there is no module {name!r}; choose one of {', '.join(modules())}.")
    return str(_FOLDER / f"crosscut_{name}.py")


def figures(of: Callable[[Snapshot], Iterable[Metric]], snapshots: list[str]) -> dict[str, list[float | None]]:
    """Each figure by its name, a value a snapshot."""
    found: dict[str, list[float | None]] = {}
    for snapshot in map(Snapshot.model_validate_json, snapshots):
        for metric in of(snapshot):
            found.setdefault(metric.name.partition(".")[2], []).append(metric.value)
    return found
