"""What figures are made by besides the snapshot: the benchmark's own code, and its data.

A snapshot names what made the report; gold, phrases and limits are read when a card is made. Without a digest of them
two cards could differ and name the same origin.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from graph.provenance import sources_in
from storage.files import digest_of

_HERE = Path(__file__).parent


@cache
def benchmark_digest(folder: Path = _HERE) -> str:
    """One hash of the metrics, the personas with their gold, their phrases and the limits."""
    return digest_of(sources_in(folder), folder)
