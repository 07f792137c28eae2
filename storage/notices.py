"""The outbox of notices: which sessions need a therapist, who was told, and who has seen to it.

A notice is written in the transaction of what it tells of and sent later by a worker, so that a dead mail server costs
neither a turn nor the notice.
"""

# ruff: noqa: S608  # the pieces that the statements are made of are constants of this module

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from errors import InputError, NotFoundError
from storage.database import Connection, Database, Row

NoticeKind = Literal["stop", "flag"]
Channel = Literal["webhook", "mail"]

MAX_TRIES = 50  # with the waits below, about two days
_LEASE = timedelta(minutes=5)  # longer than one delivery takes, whatever its servers do
_FIRST_WAIT = timedelta(minutes=1)
_LONGEST_WAIT = timedelta(hours=1)

_DUE = f"""
    acknowledged_at IS NULL AND next_try_at <= %(at)s AND tries < {MAX_TRIES}
    AND (%(webhook)s AND webhook_sent_at IS NULL OR %(mail)s AND mail_sent_at IS NULL)
    AND EXISTS (SELECT FROM sessions WHERE id = session_id AND persona IS NULL)
"""
_BY_URGENCY = "ORDER BY kind = 'stop' DESC, created_at, id"


@dataclass(frozen=True)
class Notice:
    id: int
    session_id: str
    kind: NoticeKind
    turn: int | None
    created_at: datetime
    webhook_sent_at: datetime | None
    mail_sent_at: datetime | None
    tries: int
    last_error: str | None
    acknowledged_at: datetime | None
    acknowledged_by: str | None
    note: str | None
    raised_at: datetime
    """When it was last raised: an open notice stands for what is raised after it as well."""

    def was_sent(self, channel: Channel) -> bool:
        return (self.webhook_sent_at if channel == "webhook" else self.mail_sent_at) is not None

    def __repr__(self) -> str:
        return f"Notice(id={self.id}, session_id={self.session_id!r}, kind={self.kind!r})"  # the note stays out of logs


def wait_after(tries: int) -> timedelta:
    """How long to leave a notice alone after that many tries: doubling, up to an hour."""
    return min(_FIRST_WAIT * (1 << min(tries - 1, 16)), _LONGEST_WAIT)


class Notices:
    def __init__(self, database: Database) -> None:
        self._db = database

    def add(self, session_id: str, kind: NoticeKind, turn: int | None = None) -> bool:
        """Ask for attention, and say whether that is new: one open notice of a kind a session, one a turn ever."""
        with self._db.transaction() as connection:
            return add_within(connection, session_id, kind, turn)

    def due(self, channels: Collection[Channel], at: datetime | None = None) -> list[Notice]:
        """What would be sent now over these channels, stops first. Nobody is called for a synthetic patient."""
        return self._notices(f"SELECT * FROM notices WHERE {_DUE} {_BY_URGENCY}", _moment(channels, at))

    def claim(self, channels: Collection[Channel], at: datetime | None = None) -> Notice | None:
        """Take the most urgent due notice for delivery. Nobody else gets it until `settle`, or the end of the lease."""
        moment = _moment(channels, at)
        chosen = f"SELECT id FROM notices WHERE {_DUE} {_BY_URGENCY} LIMIT 1 FOR UPDATE SKIP LOCKED"
        found = self._notices(
            f"UPDATE notices SET tries = tries + 1, next_try_at = %(lease)s WHERE id = ({chosen}) RETURNING *",
            {**moment, "lease": moment["at"] + _LEASE},
        )
        return found[0] if found else None

    def settle(
        self, notice: Notice, sent: Collection[Channel], error: str | None = None, at: datetime | None = None
    ) -> None:
        """Record over which channels a claimed notice went, and the kind of failure of the others."""
        moment = _moment(sent, at)
        self._notices(
            """
            UPDATE notices SET last_error = %(error)s, next_try_at = %(next)s,
                webhook_sent_at = CASE WHEN %(webhook)s THEN %(at)s ELSE webhook_sent_at END,
                mail_sent_at = CASE WHEN %(mail)s THEN %(at)s ELSE mail_sent_at END
            WHERE id = %(id)s RETURNING *
            """,
            {**moment, "id": notice.id, "error": error, "next": moment["at"] + wait_after(notice.tries)},
        )

    def acknowledge(self, session_id: str, by: str, note: str = "", *, seen: datetime | None = None) -> int:
        """Close the session's open notices, and say how many. A note is clinical text, hence sealed.

        `seen` is when the newest was raised that the person has seen: what was raised after it stays open.
        """
        if not by.strip():
            raise InputError("an acknowledgement needs the name of whoever gives it.")
        sealed = self._db.vault.seal_text(note, _aad(session_id)) if note.strip() else None
        closed = self._db.run(
            "UPDATE notices SET acknowledged_at = now(), acknowledged_by = %s, note = %s "
            "WHERE session_id = %s AND acknowledged_at IS NULL AND raised_at <= coalesce(%s::timestamptz, 'infinity')",
            by.strip(), sealed, session_id, seen,
        )  # fmt: skip
        if not closed:
            raise NotFoundError(f"session {session_id!r} has nothing open: somebody may have acknowledged it already.")
        return closed

    def unacknowledged(self) -> list[Notice]:
        """Sessions that wait for a person: stops first, then by age."""
        return self._notices(f"SELECT * FROM notices WHERE acknowledged_at IS NULL {_BY_URGENCY}", {})

    def stopped_sessions(self, owner: str | None) -> int:
        """How many stopped sessions wait for a person, of one owner or of all."""
        with self._db.connection() as connection:
            row = connection.execute(
                "SELECT count(DISTINCT session_id) AS waiting FROM notices JOIN sessions ON sessions.id = session_id "
                "WHERE kind = 'stop' AND acknowledged_at IS NULL AND (%(owner)s::text IS NULL OR owner = %(owner)s)",
                {"owner": owner},
            ).fetchone()
        return row["waiting"] if row else 0

    def of_session(self, session_id: str) -> list[Notice]:
        return self._notices("SELECT * FROM notices WHERE session_id = %(id)s ORDER BY id", {"id": session_id})

    def _notices(self, sql: str, values: dict[str, Any]) -> list[Notice]:
        with self._db.connection() as connection:
            return [self._notice(row) for row in connection.execute(sql, values).fetchall()]

    def _notice(self, row: Row) -> Notice:
        values = {name: value for name, value in row.items() if name != "next_try_at"}
        if row["note"] is not None:
            values["note"] = self._db.vault.open_text(row["note"], _aad(row["session_id"]))
        return Notice(**values)


def add_within(connection: Connection, session_id: str, kind: NoticeKind, turn: int | None = None) -> bool:
    """Add inside the caller's transaction: what happened and the wish to tell it are committed together.

    Only a patient's own session asks for attention: nobody is in danger in a fork or in a batch of prepared answers.
    """
    added = connection.execute(
        """
        INSERT INTO notices (session_id, kind, turn)
        SELECT id, %s, %s FROM sessions WHERE id = %s AND origin = 'patient' ON CONFLICT DO NOTHING
        """,
        (kind, turn, session_id),
    )
    if not added.rowcount:
        connection.execute(
            "UPDATE notices SET raised_at = now() WHERE session_id = %s AND kind = %s AND acknowledged_at IS NULL",
            (session_id, kind),
        )
    return added.rowcount == 1


def _moment(channels: Collection[Channel], at: datetime | None) -> dict[str, Any]:
    return {"at": at or datetime.now(UTC), "webhook": "webhook" in channels, "mail": "mail" in channels}


def _aad(session_id: str) -> str:
    return f"{session_id}:notice"
