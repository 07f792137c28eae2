"""What each model call cost: tokens, money, time and how it ended."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import astuple, dataclass
from decimal import Decimal

from storage.database import Database


@dataclass(frozen=True)
class ModelCall:
    session_id: str
    turn: int
    agent: str
    attempt: int
    model: str
    prompt_version: str
    prompt_sha256: str
    outcome: str
    prompt_tokens: int | None
    completion_tokens: int | None
    cost_usd: float | None
    seconds: float


@dataclass(frozen=True)
class Spent:
    """Tokens and cost are None when those of one call are not known: a sum that leaves calls out would be too low."""

    calls: int
    prompt_tokens: int | None
    completion_tokens: int | None
    cost_usd: Decimal | None
    seconds: float


class ModelCalls:
    def __init__(self, database: Database) -> None:
        self._db = database

    def add(self, calls: list[ModelCall]) -> None:
        """Enter calls of one session; of one that was deleted meanwhile nothing is kept, not even what it cost."""
        if not calls:
            return
        with self._db.transaction() as connection:
            held = connection.execute(
                "SELECT FROM sessions WHERE id = %s FOR KEY SHARE", (calls[0].session_id,)
            ).fetchone()
            if held is None:
                return
            connection.cursor().executemany(
                f"INSERT INTO model_calls VALUES ({', '.join(['%s'] * 12)}, now())",  # noqa: S608
                [astuple(call) for call in calls],
            )

    def of_session(self, session_id: str, agents: Collection[str]) -> list[ModelCall]:
        """The calls of these agents, in the order they were made."""
        rows = self._db.all(
            """
            SELECT session_id, turn, agent, try AS attempt, model, prompt_version, prompt_sha256, outcome,
                   prompt_tokens, completion_tokens, cost_usd::float8 AS cost_usd, seconds
            FROM model_calls WHERE session_id = %s AND agent = ANY(%s) ORDER BY turn, at, agent, try
            """,
            session_id, list(agents),
        )  # fmt: skip
        return [ModelCall(**row) for row in rows]

    def spent(self, session_id: str, agents: Collection[str] | None = None) -> Spent:
        """What all calls of a session took, or those of these agents."""
        row = self._db.one(
            """
            SELECT count(*) AS calls,
                   CASE WHEN count(prompt_tokens) = count(*) THEN coalesce(sum(prompt_tokens), 0)::int END
                       AS prompt_tokens,
                   CASE WHEN count(completion_tokens) = count(*) THEN coalesce(sum(completion_tokens), 0)::int END
                       AS completion_tokens,
                   CASE WHEN count(cost_usd) = count(*) THEN coalesce(sum(cost_usd), 0) END AS cost_usd,
                   coalesce(sum(seconds), 0) AS seconds
            FROM model_calls WHERE session_id = %s AND (%s::text[] IS NULL OR agent = ANY(%s))
            """,
            session_id, agents and list(agents), agents and list(agents),
        )  # fmt: skip
        assert row is not None  # noqa: S101  # an aggregate always has a row
        return Spent(**row)
