"""What went wrong in a call to the gateway, and whether to try again: the same for chat models and embeddings.

Errors name statuses, types and model ids. They never hold what was sent or what came back.
"""

from __future__ import annotations

import math
import random
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Literal

from errors import GatewayError

FIRST_BACK_OFF = 0.25
RETRYABLE = frozenset({408, 409, 425, 429})
CallFailure = Literal["gateway", "timeout", "rate_limited"]


class CallError(GatewayError):
    """No answer came. `status` is the gateway's, when it gave one."""

    def __init__(
        self,
        kind: CallFailure,
        message: str,
        *,
        retryable: bool = True,
        retry_after: float | None = None,
        status: int | None = None,
    ) -> None:
        super().__init__(message, retryable=retryable, retry_after=retry_after)
        self.kind: CallFailure = kind
        self.status = status


def call_error(error: Exception, model: str, seconds: float) -> CallError:
    """Says what happened by status and type alone: the texts of these errors quote the request or the reply."""
    import openai

    if isinstance(error, TimeoutError | openai.APITimeoutError):
        return CallError("timeout", f"{model}: no complete answer within {seconds:.1f} s")
    if isinstance(error, openai.APIStatusError):
        return _status_error(error.status_code, error.response.headers.get("retry-after"), model)
    if isinstance(error, openai.APIConnectionError):
        return CallError("gateway", f"{model}: the connection to the gateway failed or broke off")
    return CallError("gateway", f"{model}: the gateway's reply could not be read ({type(error).__name__})")


def back_off(failed: int) -> float:
    """Doubles with each failed try; the jitter keeps callers that failed together from coming back together."""
    return FIRST_BACK_OFF * 2.0 ** (failed - 1) * random.uniform(0.5, 1.5)  # noqa: S311


def retry_after_seconds(header: str | None, now: datetime | None = None) -> float | None:
    """Retry-After as seconds from now: a number of them, or an HTTP date. Nonsense is no wish."""
    if not header:
        return None
    try:
        seconds = float(header)
    except ValueError:
        seconds = _seconds_until(header, now or datetime.now(UTC))
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _seconds_until(date: str, now: datetime) -> float:
    try:
        then = parsedate_to_datetime(date)
    except ValueError:
        return math.nan
    return (then if then.tzinfo else then.replace(tzinfo=UTC)).timestamp() - now.timestamp()


_ABOUT = {401: " and does not take the key", 403: " and does not allow this key that"}


def _status_error(status: int, retry_after: str | None, model: str) -> CallError:
    return CallError(
        "rate_limited" if status == 429 else "gateway",
        f"{model}: the gateway answered with status {status}{_ABOUT.get(status, '')}",
        retryable=status in RETRYABLE or status >= 500,
        retry_after=retry_after_seconds(retry_after),
        status=status,
    )
