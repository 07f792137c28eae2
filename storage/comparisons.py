"""Runs of comparisons and their columns, each sealed. Of a session that was stopped nothing is shown and nothing new is
made, and what a run had made of it before it was whole is dropped."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from errors import InputError, NotFoundError
from storage.database import Connection, Database, Row
from storage.jobs import JobStatus

KIND = "compare"
STOPPED = "this session was stopped for safety: nothing of it is compared."


@dataclass(frozen=True)
class ComparisonRun:
    """`models` begins with the driver. Without `ended_at` it is not whole yet, or never was."""

    id: str
    session_id: str
    snapshot_sha256: str
    models: tuple[str, ...]
    asked_at: datetime
    ended_at: datetime | None
    stopped: bool
    job_id: str | None
    job_status: JobStatus | None
    progress: dict[str, Any]
    error: str | None


_RUNS = """
    SELECT r.*, s.status AS session_status, j.id AS job_id, j.status AS job_status,
           coalesce(j.progress, '{}') AS progress, j.error
    FROM comparison_runs r JOIN sessions s ON s.id = r.session_id
    LEFT JOIN jobs j ON j.kind = 'compare' AND j.key = r.id
"""


class Comparisons:
    def __init__(self, database: Database) -> None:
        self._db = database

    def open(self, session_id: str, sha256: str, models: tuple[str, ...]) -> str:
        """A run's id; the same question while it is being answered is the same run."""
        with self._db.transaction() as connection:
            refuse_unless_completed(connection, session_id)
            row = connection.execute(
                """
                SELECT id FROM comparison_runs
                WHERE snapshot_sha256 = %s AND models = %s AND ended_at IS NULL ORDER BY asked_at DESC LIMIT 1
                """,
                (sha256, list(models)),
            ).fetchone()
            if row is not None:
                return str(row["id"])
            run_id = uuid.uuid4().hex
            connection.execute(
                "INSERT INTO comparison_runs (id, session_id, snapshot_sha256, models) VALUES (%s, %s, %s, %s)",
                (run_id, session_id, sha256, list(models)),
            )
        return run_id

    def get(self, run_id: str) -> ComparisonRun:
        row = self._db.one(f"{_RUNS} WHERE r.id = %s", run_id)
        if row is None:
            raise NotFoundError(f"there is no comparison {run_id!r}")
        return _run(row)

    def of_session(self, session_id: str) -> list[ComparisonRun]:
        """The newest first."""
        rows = self._db.all(f"{_RUNS} WHERE r.session_id = %s ORDER BY r.asked_at DESC, r.id", session_id)
        return [_run(row) for row in rows]

    def keep_column(self, run: ComparisonRun, model: str, prompt_version: str, body: bytes) -> bool:
        """Keep a column, in the place of one that was made before. False when the session was stopped or deleted
        meanwhile, or the run's job has ended: nothing is kept."""
        sealed = self._db.vault.seal(body, _aad(run.id, model))
        with self._db.transaction() as connection:
            if not (is_completed(connection, run.session_id) and _is_running(connection, run.id)):
                return False
            connection.execute(
                """
                INSERT INTO comparison_columns (run_id, snapshot_sha256, model, prompt_version, body)
                VALUES (%s, %s, %s, %s, %s)
                ON CONFLICT (run_id, model, prompt_version, snapshot_sha256)
                DO UPDATE SET body = EXCLUDED.body, made_at = now()
                """,
                (run.id, run.snapshot_sha256, model, prompt_version, sealed),
            )
        return True

    def columns(self, run: ComparisonRun) -> dict[str, bytes]:
        """By model, the newest of each. Refused once the session was stopped, however long the run was whole."""
        rows = self._db.all("SELECT model, body FROM comparison_columns WHERE run_id = %s ORDER BY made_at", run.id)
        if self.get(run.id).stopped:
            raise InputError(STOPPED)
        return {row["model"]: self._db.vault.open(row["body"], _aad(run.id, row["model"])) for row in rows}

    def end(self, run: ComparisonRun) -> bool:
        """Say that a run is whole. When its session was stopped meanwhile it never will be, and its columns go."""
        with self._db.transaction() as connection:
            whole = is_completed(connection, run.session_id) and _is_running(connection, run.id)
            statement = (
                "UPDATE comparison_runs SET ended_at = now() WHERE id = %s AND ended_at IS NULL"
                if whole
                else "DELETE FROM comparison_columns WHERE run_id = %s"
            )
            connection.execute(statement, (run.id,))
        return whole

    def drop_broken_off(self) -> int:
        """Delete the columns of runs that were not whole when their session was stopped, and whose worker is gone."""
        return self._db.run(
            """
            DELETE FROM comparison_columns USING comparison_runs r JOIN sessions s ON s.id = r.session_id
            WHERE r.id = run_id AND r.ended_at IS NULL AND s.status = 'terminated_for_safety'
            """
        )

    @contextmanager
    def adding_to(self, run_id: str) -> Iterator[Connection]:
        """A transaction for what people say of a run: only while its session is a completed one."""
        session_id = self.get(run_id).session_id
        with self._db.transaction() as connection:
            refuse_unless_completed(connection, session_id)
            yield connection


def refuse_unless_completed(connection: Connection, session_id: str) -> None:
    status = _status(connection, session_id)
    if status is None:
        raise NotFoundError(f"there is no session {session_id!r}")
    if status == "terminated_for_safety":
        raise InputError(STOPPED)
    if status != "completed":
        raise InputError("this interview is not finished: there is nothing to compare yet.")


def is_completed(connection: Connection, session_id: str) -> bool:
    return _status(connection, session_id) == "completed"


def _status(connection: Connection, session_id: str) -> str | None:
    """Holds the session's row until the end of the transaction, so that a stop comes before or after, not between."""
    row = connection.execute("SELECT status FROM sessions WHERE id = %s FOR UPDATE", (session_id,)).fetchone()
    return row["status"] if row else None


def _is_running(connection: Connection, run_id: str) -> bool:
    """A stop cancels the session's jobs before it closes the session."""
    row = connection.execute(
        "SELECT status FROM jobs WHERE kind = %s AND key = %s FOR SHARE", (KIND, run_id)
    ).fetchone()
    return row is not None and row["status"] == "running"


def _run(row: Row) -> ComparisonRun:
    stopped = row.pop("session_status") == "terminated_for_safety"
    return ComparisonRun(**{**row, "models": tuple(row["models"])}, stopped=stopped)


def _aad(run_id: str, model: str) -> str:
    return f"{run_id}:comparison:{model}"
