"""The revisions of sessions' reports, each sealed. The first is written once; a later one replaces none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

import psycopg
from psycopg.errors import ForeignKeyViolation

from errors import InputError, ServiceError
from storage.database import Connection, Database, Row

GONE = "the session was stopped or deleted while its report was written: nothing was kept."


@dataclass(frozen=True)
class Revision:
    session_id: str
    revision: int
    mode: str
    created_at: datetime
    body: bytes
    stopped: bool = False
    """The session was stopped for safety since."""


class Reports:
    def __init__(self, database: Database) -> None:
        self._db = database

    @contextmanager
    def writing(self, session_id: str) -> Iterator[None]:
        """One report of a session is written at a time; whoever comes second waits, and finds the first.

        On a connection of its own, which takes the lock with it when it ends: a report lasts as long as a model does,
        and turns and stops must not wait for one of the pool's.
        """
        with self._apart() as connection:
            connection.execute("SELECT pg_advisory_lock(hashtextextended(%s, 0))", (f"report:{session_id}",))
            try:
                yield
            except ForeignKeyViolation:  # what was to be entered, a model's calls for one, hangs on a session
                raise InputError(GONE) from None

    def _apart(self) -> psycopg.Connection:
        try:
            return psycopg.connect(self._db.url, autocommit=True, application_name="crosscut-reports")
        except psycopg.OperationalError as error:
            raise ServiceError("the database did not answer. `crosscut doctor` says why.") from error

    def add(self, session_id: str, mode: str, body: bytes, basis: bytes) -> Revision | None:
        """The next revision; None when the session is no longer a completed one: stopped or deleted meanwhile.

        `basis` is what it was made from, kept apart: a reader of the report is not shown all of it.
        """
        with self._db.transaction() as connection:
            if not _is_completed(connection, session_id):
                return None
            row = connection.execute(
                "SELECT coalesce(max(revision), 0) + 1 AS next FROM reports WHERE session_id = %s", (session_id,)
            ).fetchone()
            number = int(row["next"]) if row else 1
            seal = self._db.vault.seal
            sealed = seal(body, _aad(session_id, number)), seal(basis, _basis_aad(session_id, number))
            made = connection.execute(
                """
                INSERT INTO reports (session_id, revision, mode, body, basis) VALUES (%s, %s, %s, %s, %s)
                RETURNING created_at
                """,
                (session_id, number, mode, *sealed),
            ).fetchone()
        assert made is not None  # noqa: S101  # an insert returns its row
        return Revision(session_id, number, mode, made["created_at"], body)

    def newest(self, session_id: str, mode: str | None = None) -> Revision | None:
        row = self._db.one(
            """
            SELECT session_id, revision, r.mode, body, r.created_at, s.status
            FROM reports r JOIN sessions s ON s.id = session_id
            WHERE session_id = %s AND r.mode = coalesce(%s, r.mode) ORDER BY revision DESC LIMIT 1
            """,
            session_id, mode,
        )  # fmt: skip
        return self._opened(row) if row else None

    def all_of(self, session_id: str) -> list[Revision]:
        rows = self._db.all(
            """
            SELECT session_id, revision, r.mode, body, r.created_at, s.status
            FROM reports r JOIN sessions s ON s.id = session_id
            WHERE session_id = %s ORDER BY revision
            """,
            session_id,
        )
        return [self._opened(row) for row in rows]

    def basis(self, session_id: str, revision: int) -> bytes | None:
        """What a revision was made from; None where an older version wrote it and kept nothing."""
        row = self._db.one("SELECT basis FROM reports WHERE session_id = %s AND revision = %s", session_id, revision)
        if row is None or row["basis"] is None:
            return None
        return self._db.vault.open(row["basis"], _basis_aad(session_id, revision))

    def unwritten(self) -> list[str]:
        """Completed sessions of patients that have no report: whoever should have written it is gone."""
        rows = self._db.all(
            """
            SELECT id FROM sessions s WHERE status = 'completed' AND origin = 'patient'
            AND NOT EXISTS (SELECT FROM reports WHERE session_id = s.id) ORDER BY updated_at
            """
        )
        return [row["id"] for row in rows]

    def _opened(self, row: Row) -> Revision:
        body = self._db.vault.open(row["body"], _aad(row["session_id"], row["revision"]))
        stopped = row["status"] == "terminated_for_safety"
        return Revision(row["session_id"], row["revision"], row["mode"], row["created_at"], body, stopped)


def _is_completed(connection: Connection, session_id: str) -> bool:
    """Holds the session's row until the end of the transaction, so that a stop comes before or after, not between."""
    row = connection.execute("SELECT status FROM sessions WHERE id = %s FOR UPDATE", (session_id,)).fetchone()
    return row is not None and row["status"] == "completed"


def _aad(session_id: str, revision: int) -> str:
    return f"{session_id}:report:{revision}"


def _basis_aad(session_id: str, revision: int) -> str:
    return f"{session_id}:report:{revision}:basis"
