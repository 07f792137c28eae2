"""Prints the core of the card of a snapshot that is kept here, as bytes: the same on every machine, in every process.

After a metric has changed, raise its `VERSION` and keep what comes out under the new number:
`python -m tests.golden > tests/data/golden/core-VERSION.json`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from benchmark.card import core_of
from benchmark.metrics import VERSION, deterministic
from benchmark.snapshot import Snapshot

SNAPSHOT = Path(__file__).parent / "data" / "golden" / "snapshot.json"
CORE = SNAPSHOT.with_name(f"core-{VERSION}.json")
MADE_BY = "the benchmark that the card is kept of"
"""The digest of the code changes with every line of it; the figures must not."""


def core_bytes() -> bytes:
    snapshot = Snapshot.model_validate_json(SNAPSHOT.read_bytes())
    return core_of(snapshot, deterministic(snapshot), made_by=MADE_BY).to_bytes()


if __name__ == "__main__":
    sys.stdout.buffer.write(core_bytes())
