"""The ledger: every accepted message of a patient, written before anything works on it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from errors import StaleTurn
from storage.database import Connection, Database, Row


@dataclass(frozen=True)
class Turn:
    session_id: str
    turn: int
    message_id: str
    text: str
    received_at: datetime


class Turns:
    def __init__(self, database: Database) -> None:
        self._db = database

    def add(self, session_id: str, turn: int, message_id: str, text: str, received_at: datetime | None = None) -> Turn:
        """Enter a message; the same message again gives the same turn, another one in its place is refused.

        `received_at` where that was before now.
        """
        sealed = self._db.vault.seal_text(text, _aad(session_id, turn))
        row = self._db.one(
            """
            INSERT INTO turns (session_id, turn, message_id, text, received_at)
            VALUES (%s, %s, %s, %s, coalesce(%s, now())) ON CONFLICT DO NOTHING RETURNING *
            """,
            session_id, turn, message_id, sealed, received_at,
        )  # fmt: skip
        if row is not None:
            return self._turn(row)
        known = self.by_message(session_id, message_id)
        if known is None:
            raise StaleTurn(f"turn {turn} was already answered: reload to see where the conversation stands.")
        return known

    def get(self, session_id: str, turn: int) -> Turn | None:
        return self._find("turn = %s", session_id, turn)

    def by_message(self, session_id: str, message_id: str) -> Turn | None:
        return self._find("message_id = %s", session_id, message_id)

    def of_session(self, session_id: str) -> list[Turn]:
        rows = self._db.all("SELECT * FROM turns WHERE session_id = %s ORDER BY turn", session_id)
        return [self._turn(row) for row in rows]

    def copy_within(self, connection: Connection, source: str, target: str, before: int) -> None:
        """Give another session the turns before one, in the caller's transaction; each is sealed for its new place."""
        rows = connection.execute(
            "SELECT * FROM turns WHERE session_id = %s AND turn < %s", (source, before)
        ).fetchall()
        copies = [
            (target, t.turn, t.message_id, self._db.vault.seal_text(t.text, _aad(target, t.turn)), t.received_at)
            for t in map(self._turn, rows)
        ]
        connection.cursor().executemany(
            "INSERT INTO turns (session_id, turn, message_id, text, received_at) VALUES (%s, %s, %s, %s, %s)", copies
        )

    def _find(self, condition: str, session_id: str, value: int | str) -> Turn | None:
        row = self._db.one(f"SELECT * FROM turns WHERE session_id = %s AND {condition}", session_id, value)  # noqa: S608
        return self._turn(row) if row else None

    def _turn(self, row: Row) -> Turn:
        text = self._db.vault.open_text(row["text"], _aad(row["session_id"], row["turn"]))
        return Turn(**{**row, "text": text})


def _aad(session_id: str, turn: int) -> str:
    return f"{session_id}:{turn}"
