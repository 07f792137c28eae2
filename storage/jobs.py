"""Background jobs: what was asked for, how far it is, how it ended. Progress and errors hold no patient text."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from psycopg.types.json import Jsonb

from errors import CrosscutError, NotFoundError
from storage.database import Database, Row, borrowed

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
    asked: dict[str, Any]
    """What the work needs to know; ids and names, no patient text."""


class Jobs:
    def __init__(self, database: Database) -> None:
        self._db = database

    def enqueue(
        self,
        kind: str,
        key: str,
        *,
        session_id: str | None = None,
        asked: dict[str, Any] | None = None,
        again: bool = False,
    ) -> Job:
        """One job per kind and key: asking twice gives the same job; a failed one is queued again, and with `again`
        one that was done. What is queued again begins anew."""
        ended = ["failed", "cancelled", "done"] if again else ["failed", "cancelled"]
        row = self._db.one(
            """
            INSERT INTO jobs (id, kind, key, session_id, status, asked) VALUES (%s, %s, %s, %s, 'queued', %s)
            ON CONFLICT (kind, key) DO UPDATE SET
                status = CASE WHEN jobs.status = ANY(%s) THEN 'queued' ELSE jobs.status END,
                progress = CASE WHEN jobs.status = ANY(%s) THEN '{}' ELSE jobs.progress END,
                asked = CASE WHEN jobs.status = ANY(%s) THEN EXCLUDED.asked ELSE jobs.asked END,
                error = NULL, updated_at = now()
            RETURNING *
            """,
            uuid.uuid4().hex, kind, key, session_id, Jsonb(asked or {}), ended, ended, ended,
        )  # fmt: skip
        assert row is not None  # noqa: S101  # an upsert always returns its row
        return Job(**row)

    def get(self, identifier: str) -> Job:
        row = self._db.one("SELECT * FROM jobs WHERE id = %s", identifier)
        if row is None:
            raise NotFoundError(f"there is no job {identifier!r}")
        return Job(**row)

    def find(self, kind: str, key: str) -> Job | None:
        return _maybe(self._db.one("SELECT * FROM jobs WHERE kind = %s AND key = %s", kind, key))

    def claim(self, identifier: str) -> Job | None:
        """Start or take up again a job; None when it has ended or was cancelled meanwhile."""
        return _maybe(
            self._db.one(
                "UPDATE jobs SET status = 'running', updated_at = now() "
                "WHERE id = %s AND status IN ('queued', 'running') RETURNING *",
                identifier,
            )
        )

    @contextmanager
    def taken(self, identifier: str) -> Iterator[Job | None]:
        """Hold a job while working on it; None when it has ended or somebody holds it. A hold dies with its holder."""
        with borrowed(self._db.locks) as connection:
            key = f"job:{identifier}"
            row = connection.execute("SELECT pg_try_advisory_lock(hashtextextended(%s, 0)) AS taken", (key,)).fetchone()
            if row is None or not row["taken"]:
                yield None
                return
            try:
                yield self.claim(identifier)
            finally:
                connection.execute("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", (key,))

    def work(self, identifier: str, does: Callable[[Job], None], *, failing: str) -> None:
        """Work on a job to its end, unless somebody does. `failing` names what went wrong where the error must not."""
        with self.taken(identifier) as job:
            if job is None:
                return
            try:
                does(job)
            except CrosscutError as error:
                self.finish(job.id, error=str(error))
            except Exception as error:
                self.finish(job.id, error=f"{failing} ({type(error).__name__})")
                raise
            else:
                self.finish(job.id)

    def waiting(self, kind: str, *, seconds: float) -> list[str]:
        """Jobs that nobody has said anything about for so long: their worker may be gone."""
        rows = self._db.all(
            """
            SELECT id FROM jobs WHERE kind = %s AND status IN ('queued', 'running')
            AND updated_at < now() - make_interval(secs => %s) ORDER BY created_at
            """,
            kind, seconds,
        )  # fmt: skip
        return [row["id"] for row in rows]

    def is_asked_for(self, kind: str, what: str, value: str, *, besides: str) -> bool:
        """Whether another job that has not ended was asked to do something with this."""
        found = self._db.one(
            """
            SELECT FROM jobs WHERE kind = %s AND id <> %s AND status IN ('queued', 'running') AND asked ->> %s = %s
            LIMIT 1
            """,
            kind, besides, what, value,
        )  # fmt: skip
        return found is not None

    def newest(self, kind: str, limit: int = 20) -> list[Job]:
        rows = self._db.all("SELECT * FROM jobs WHERE kind = %s ORDER BY updated_at DESC LIMIT %s", kind, limit)
        return [Job(**row) for row in rows]

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
