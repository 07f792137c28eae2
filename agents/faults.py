"""Which embedded readers failed while something was worked out, so that its record can say so.

Rules answer with the same types as models do, and these have no place for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_noted: ContextVar[list[str] | None] = ContextVar("noted", default=None)


@contextmanager
def reader_faults() -> Iterator[list[str]]:
    """The readers that fail within it, each once."""
    found: list[str] = []
    token = _noted.set(found)
    try:
        yield found
    finally:
        _noted.reset(token)


def reader_failed(reader: str) -> None:
    found = _noted.get()
    if found is not None and reader not in found:
        found.append(reader)
