"""Which tables and which reader a verdict was made with."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from storage.files import digest_of

_AGENTS = Path(__file__).parent.parent
_FOLDERS = ("language", "risk")
_KINDS = frozenset({".toml", ".onnx"})
_LENGTH = 12


@cache
def version() -> str:
    """A short hash of their content, the same wherever they are installed."""
    data = [path for folder in _FOLDERS for path in (_AGENTS / folder).rglob("*") if path.suffix in _KINDS]
    return digest_of(sorted(data), _AGENTS)[:_LENGTH]
