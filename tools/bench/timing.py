"""A stopwatch and two statistics."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence


def seconds(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def p50(values: Sequence[float]) -> float:
    return statistics.median(values)


def p95(values: Sequence[float]) -> float:
    return statistics.quantiles(values, n=20)[-1]
