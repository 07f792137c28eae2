"""Sessions: who is being interviewed, how far it got, and the key of its audit."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from errors import NotFoundError
from storage.database import Connection, Database, Row

DiagnosticMode = Literal["screening", "categorical", "diagnostic"]


@dataclass(frozen=True)
class Session:
    id: str
    status: str
    mode: DiagnosticMode
    items_completed: int
    next_turn: int
    flags: tuple[str, ...]
    persona: str | None
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True)
class Progress:
    """`next_turn` is the number of the message that the conversation waits for."""

    status: str
    items_completed: int
    next_turn: int
    flags: tuple[str, ...]


class Sessions:
    def __init__(self, database: Database) -> None:
        self._db = database

    def create(self, *, mode: DiagnosticMode = "diagnostic", persona: str | None = None) -> Session:
        identifier = secrets.token_urlsafe(16)
        key = self._db.vault.seal(os.urandom(32), _key_aad(identifier))
        self._db.run(
            "INSERT INTO sessions (id, status, mode, persona, audit_key) VALUES (%s, 'active', %s, %s, %s)",
            identifier, mode, persona, key,
        )  # fmt: skip
        return self.get(identifier)

    def get(self, identifier: str) -> Session:
        return _session(self._row(identifier))

    def newest(self, limit: int = 200) -> list[Session]:
        rows = self._db.all("SELECT * FROM sessions ORDER BY created_at DESC LIMIT %s", limit)
        return [_session(row) for row in rows]

    def record_progress(self, identifier: str, progress: Progress, lock: Connection | None = None) -> None:
        """The row that lists see; the checkpoint stays the truth. A closed session is never reopened by a late writer;
        a safety stop closes even a completed one.

        While a session is active its lock's connection will do, which does not wait for the disk.
        """
        statement = """
            UPDATE sessions SET status = %(status)s, items_completed = %(items_completed)s, next_turn = %(next_turn)s,
                flags = %(flags)s, updated_at = now()
            WHERE id = %(id)s AND next_turn <= %(next_turn)s
                AND (status IN ('active', %(status)s) OR %(status)s = 'terminated_for_safety')
            """
        values = {**vars(progress), "flags": list(progress.flags), "id": identifier}
        if lock is not None and progress.status == "active":
            lock.execute(statement, values)
            return
        with self._db.connection() as connection:
            connection.execute(statement, values)

    def waits_for(self, identifier: str, turn: int, lock: Connection) -> bool:
        """Whether the conversation was left waiting for just this turn, so that there is nothing to recover."""
        row = lock.execute(
            "SELECT 1 FROM sessions WHERE id = %s AND status = 'active' AND next_turn = %s", (identifier, turn)
        ).fetchone()
        return row is not None

    def unfinished(self) -> list[str]:
        """Active sessions with a message in the ledger that the conversation has not got to yet."""
        rows = self._db.all(
            """
            SELECT id FROM sessions WHERE status = 'active'
            AND next_turn <= (SELECT max(turn) FROM turns WHERE session_id = sessions.id)
            """
        )
        return [row["id"] for row in rows]

    def audit_key(self, identifier: str) -> bytes:
        return self._db.vault.open(self._row(identifier)["audit_key"], _key_aad(identifier))

    def _row(self, identifier: str) -> Row:
        row = self._db.one("SELECT * FROM sessions WHERE id = %s", identifier)
        if row is None:
            raise NotFoundError(f"there is no session {identifier!r}: `crosscut sessions` lists them.")
        return row


def _key_aad(identifier: str) -> str:
    return f"{identifier}:audit_key"


def _session(row: Row) -> Session:
    values = {k: v for k, v in row.items() if k != "audit_key"}
    return Session(**{**values, "flags": tuple(row["flags"])})
