"""Why a model's answer was not used: a kind to count by and a reason fit for logs and for the model itself.

Reasons name rules, fields, statuses and model ids. They never hold a patient's words or the model's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from errors import ModelError, RejectedOutput
from gateway import CallError

if TYPE_CHECKING:
    from agents.models import Completion

FailureKind = Literal[
    "gateway",
    "timeout",
    "rate_limited",
    "invalid_json",
    "schema",
    "tags",
    "rejected",
    "refusal",
    "empty",
    "truncated",
]


@dataclass(frozen=True)
class Failure:
    kind: FailureKind
    reason: str


class UnusableAnswer(RejectedOutput):
    """An answer came and was paid for (`completion`), but there is nothing in it to use."""

    def __init__(self, kind: FailureKind, reason: str, completion: Completion | None = None) -> None:
        super().__init__(reason)
        self.kind = kind
        self.completion = completion


def describe(error: ModelError) -> Failure:
    if isinstance(error, CallError | UnusableAnswer):
        return Failure(error.kind, str(error))
    return Failure("rejected" if isinstance(error, RejectedOutput) else "gateway", str(error))
