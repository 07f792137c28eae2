"""How long the risk rules take, by the length of the message."""

from __future__ import annotations

from functools import partial
from itertools import cycle, islice

from rich.console import Console
from rich.table import Table

from agents.risk import check_risk, reader
from tools.bench.timing import seconds

LENGTHS = (100, 1_000, 10_000, 100_000)
CLAUSES = (
    "I sleep badly most nights and I wake up tired",
    "my boss is killing me with these deadlines",
    "I never wanted to hurt anybody, it is only the noise",
    "my brother said he would kill me for scratching his car",
)


def measure() -> dict[int, float]:
    """Milliseconds by characters, the best of five."""
    check_risk("warm up", 11)
    return {length: 1000 * min(seconds(partial(_read_anew, _text(length))) for _ in range(5)) for length in LENGTHS}


def _read_anew(text: str) -> None:
    reader.forget()
    check_risk(text, 2)


def _text(length: int) -> str:
    """No sentence twice: what was read once would not be read again."""
    said = (f"On day {number} {clause}" for number, clause in enumerate(cycle(CLAUSES)))
    return ". ".join(islice(said, length // 40 + 1))[:length]


def show(console: Console, times: dict[int, float]) -> None:
    table = Table("characters", "ms", "ms per 1,000", title="The risk rules by length", title_justify="left")
    for length, milliseconds in times.items():
        table.add_row(f"{length:,}", f"{milliseconds:.2f}", f"{milliseconds / length * 1000:.2f}")
    console.print(table)
