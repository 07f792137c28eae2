"""A therapist's corrections of scores: laid over what was scored, which itself never changes. All of them are kept."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from errors import InputError, NotFoundError
from storage.database import Connection, Database, Row

STOPPED = "this session was stopped for safety: nothing of it is corrected or written any more."


@dataclass(frozen=True)
class Correction:
    session_id: str
    item: int
    score: int
    reason: str
    corrected_by: str
    corrected_at: datetime


class Corrections:
    def __init__(self, database: Database) -> None:
        self._db = database

    def add(self, session_id: str, item: int, score: int, reason: str, by: str) -> Correction:
        """The reason is clinical text, hence sealed. What was stopped for safety stays as it was."""
        if not reason.strip() or not by.strip():
            raise InputError("a correction needs a reason and the name of whoever makes it.")
        sealed = self._db.vault.seal_text(reason.strip(), _aad(session_id, item))
        with self._db.transaction() as connection:
            _refuse_stopped(connection, session_id)
            row = connection.execute(
                """
                INSERT INTO corrections (session_id, item, score, reason, corrected_by)
                VALUES (%s, %s, %s, %s, %s) RETURNING *
                """,
                (session_id, item, score, sealed, by.strip()),
            ).fetchone()
        assert row is not None  # noqa: S101  # an insert returns its row
        return self._correction(row)

    def history(self, session_id: str) -> list[Correction]:
        """Oldest first."""
        rows = self._db.all("SELECT * FROM corrections WHERE session_id = %s ORDER BY id", session_id)
        return [self._correction(row) for row in rows]

    def standing(self, session_id: str) -> dict[int, Correction]:
        """The newest of each item, by item."""
        newest = {one.item: one for one in self.history(session_id)}
        return dict(sorted(newest.items()))

    def _correction(self, row: Row) -> Correction:
        values = {name: value for name, value in row.items() if name != "id"}
        reason = self._db.vault.open_text(row["reason"], _aad(row["session_id"], row["item"]))
        return Correction(**{**values, "reason": reason})


def _refuse_stopped(connection: Connection, session_id: str) -> None:
    """Holds the session's row, so that a stop comes before or after."""
    row = connection.execute("SELECT status FROM sessions WHERE id = %s FOR UPDATE", (session_id,)).fetchone()
    if row is None:
        raise NotFoundError(f"there is no session {session_id!r}: `crosscut sessions` lists them.")
    if row["status"] == "terminated_for_safety":
        raise InputError(STOPPED)


def _aad(session_id: str, item: int) -> str:
    return f"{session_id}:correction:{item}"
