"""Background jobs: what was asked for, how far it is, how it ended. Progress and errors hold no patient text."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from psycopg.types.json import Jsonb

from errors import NotFoundError
from storage.database import Database, Row

JobStatus = Literal["queued", "running", "done", "failed", "cancelled"]


@dataclass(frozen=True)
class Job:
    id: str
    kind: str
    key: str
    session_id: str | None
    status: JobStatus
    progress: dict[str, Any]
    error: str | None
    created_at: datetime
    updated_at: datetime


class Jobs:
    def __init__(self, database: Database) -> None:
        self._db = database

    def enqueue(self, kind: str, key: str, *, session_id: str | None = None) -> Job:
        """One job per kind and key: asking twice gives the same job; a failed one is queued again."""
        row = self._db.one(
            """
            INSERT INTO jobs (id, kind, key, session_id, status) VALUES (%s, %s, %s, %s, 'queued')
            ON CONFLICT (kind, key) DO UPDATE SET
                status = CASE WHEN jobs.status IN ('failed', 'cancelled') THEN 'queued' ELSE jobs.status END,
                error = NULL, updated_at = now()
            RETURNING *
            """,
            uuid.uuid4().hex, kind, key, session_id,
        )  # fmt: skip
        assert row is not None  # noqa: S101  # an upsert always returns its row
        return Job(**row)

    def get(self, identifier: str) -> Job:
        row = self._db.one("SELECT * FROM jobs WHERE id = %s", identifier)
        if row is None:
            raise NotFoundError(f"there is no job {identifier!r}")
        return Job(**row)

    def claim(self, identifier: str) -> Job | None:
        """Start or take up again a job; None when it has ended or was cancelled meanwhile."""
        return _maybe(
            self._db.one(
                "UPDATE jobs SET status = 'running', updated_at = now() "
                "WHERE id = %s AND status IN ('queued', 'running') RETURNING *",
                identifier,
            )
        )

    def report(self, identifier: str, **progress: int | float | str) -> None:
        self._db.run(
            "UPDATE jobs SET progress = progress || %s, updated_at = now() WHERE id = %s", Jsonb(progress), identifier
        )

    def finish(self, identifier: str, *, error: str | None = None) -> None:
        """Only a running job can end, so a cancelled one stays cancelled."""
        self._db.run(
            "UPDATE jobs SET status = %s, error = %s, updated_at = now() WHERE id = %s AND status = 'running'",
            "failed" if error else "done", error, identifier,
        )  # fmt: skip

    def cancel_for_session(self, session_id: str) -> int:
        return self._db.run(
            "UPDATE jobs SET status = 'cancelled', updated_at = now() "
            "WHERE session_id = %s AND status IN ('queued', 'running')",
            session_id,
        )


def _maybe(row: Row | None) -> Job | None:
    return Job(**row) if row else None
