"""What the session took: calls, tokens, money and time. What is unknown is not added up as nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from agents.patient import PATIENT
from benchmark.metrics.base import Metric, rounded
from benchmark.snapshot import FrozenCall, Snapshot


def cost(snapshot: Snapshot) -> tuple[Metric, ...]:
    """What a model took to play the persona is not the interview's cost."""
    calls = [call for call in snapshot.calls if call.agent != PATIENT]
    return (*spent(calls), *pace([one.seconds for one in snapshot.turn_seconds]))


def spent(calls: Sequence[FrozenCall]) -> tuple[Metric, ...]:
    by_model = dict(sorted(Counter(call.model for call in calls).items()))
    failed = sum(call.outcome != "ok" for call in calls)
    said = f"{len(calls)} calls, {failed} of them failed" if calls else "the embedded rules made no call"
    return (
        Metric(
            name="cost.calls",
            label="Model calls",
            value=len(calls),
            unit="count",
            n=1,
            n_of="interview",
            explanation=said,
            metadata={"byModel": by_model, "failed": failed},
        ),
        _total("prompt_tokens", "Prompt tokens", "tokens", [call.prompt_tokens for call in calls]),
        _total("completion_tokens", "Completion tokens", "tokens", [call.completion_tokens for call in calls]),
        _total("usd", "Cost by the price table", "USD", [call.cost_usd for call in calls]),
    )


def pace(seconds: Sequence[float]) -> tuple[Metric, Metric]:
    """Medians and 95th percentiles of what patients waited for."""
    found = [float(np.percentile(seconds, at)) if seconds else None for at in (50, 95)]
    return (
        _pace("turn_p50", "Time of a turn, median", found[0], len(seconds)),
        _pace("turn_p95", "Time of a turn, 95th percentile", found[1], len(seconds)),
    )


def _pace(name: str, label: str, value: float | None, turns: int) -> Metric:
    said = "from the patient's message to the end of the turn" if turns else "no turn has a time"
    return Metric(
        name=f"cost.{name}", label=label, value=rounded(value), unit="s", n=turns, n_of="turns", explanation=said
    )


def _total(name: str, label: str, unit: str, parts: Sequence[float | None]) -> Metric:
    unknown = sum(part is None for part in parts)
    value = None if unknown else round(sum(part or 0 for part in parts), 6)
    said = f"unknown of {unknown} of {len(parts)} calls, so there is no sum" if unknown else "sum of all calls"
    return Metric(
        name=f"cost.{name}", label=label, value=value, unit=unit, n=len(parts), n_of="calls", explanation=said
    )
