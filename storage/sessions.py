"""Sessions: who is being interviewed, where the session comes from, how far it got, and the key of its audit."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from errors import NotFoundError
from storage.database import Connection, Database, Row

DiagnosticMode = Literal["screening", "categorical", "diagnostic"]
Origin = Literal["patient", "fork", "batch"]
"""A person's own session (or a persona's); a copy of one from a checkpoint on; a line of prepared answers."""

_PATIENTS: tuple[Origin, ...] = ("patient",)

LOCAL_OWNER = "local"
"""Whoever sits at a machine that has no login."""
NOBODYS = (None, LOCAL_OWNER)
"""Owners whom nobody is who signs in."""


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
    origin: Origin = "patient"
    parent_id: str | None = None
    parent_checkpoint: str | None = None
    expires_at: datetime | None = None
    owner: str | None = None
    model: str | None = None
    locale: str | None = None


@dataclass(frozen=True)
class Choice:
    """What a session was started with instead of the installation's own."""

    model: str | None = None
    locale: str | None = None


@dataclass(frozen=True)
class Progress:
    """`next_turn` is the number of the message that the conversation waits for."""

    status: str
    items_completed: int
    next_turn: int
    flags: tuple[str, ...]


@dataclass(frozen=True)
class Word:
    """One word of a search: in lower case as it may stand in a row, and what else it means there."""

    text: str
    statuses: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class Wanted:
    """A stretch of the whole list: those of one owner, or of everybody, that have every word.

    `first` are sessions that come before all others, those of its first group before those of the next. `nobodys` is
    what an owner is called whom nobody is; with it, owners are searched too.
    """

    limit: int
    words: Sequence[Word] = ()
    owner: str | None = None
    first: Sequence[Collection[str]] = ()
    nobodys: str | None = None


class Sessions:
    def __init__(self, database: Database) -> None:
        self._db = database

    def create(
        self,
        *,
        mode: DiagnosticMode = "diagnostic",
        persona: str | None = None,
        origin: Literal["patient", "batch"] = "patient",
        lifetime: timedelta | None = None,
        owner: str | None = None,
        choice: Choice = Choice(),  # noqa: B008  # frozen
    ) -> Session:
        """With a `lifetime`, whoever looks for expired sessions after it deletes what is left of this one."""
        identifier, key = self._new()
        self._db.run(
            """
            INSERT INTO sessions (id, status, mode, persona, audit_key, origin, expires_at, owner, model, locale)
            VALUES (%s, 'active', %s, %s, %s, %s, now() + %s::interval, %s, %s, %s)
            """,
            identifier, mode, persona, key, origin, lifetime, owner, choice.model, choice.locale,
        )  # fmt: skip
        return self.get(identifier)

    def fork_within(self, connection: Connection, parent: Session, checkpoint: str) -> str:
        """A session for a copy of `parent`, in the caller's transaction; a parent being deleted is not found."""
        identifier, key = self._new()
        made = connection.execute(
            """
            INSERT INTO sessions
                (id, status, mode, persona, audit_key, origin, parent_id, parent_checkpoint, owner, model, locale)
            SELECT %s, 'active', mode, persona, %s, 'fork', id, %s, owner, model, locale
            FROM sessions WHERE id = %s FOR KEY SHARE
            """,
            (identifier, key, checkpoint, parent.id),
        )
        if not made.rowcount:
            raise NotFoundError(f"there is no session {parent.id!r} any more.")
        return identifier

    def _new(self) -> tuple[str, bytes]:
        """An identifier, and the sealed key of its audit."""
        identifier = secrets.token_urlsafe(16)
        while identifier.startswith("-"):  # which a command line would take for an option
            identifier = secrets.token_urlsafe(16)
        return identifier, self._db.vault.seal(os.urandom(32), _key_aad(identifier))

    def get(self, identifier: str) -> Session:
        return _session(self._row(identifier))

    def choice(self, identifier: str) -> Choice:
        row = self._row(identifier)
        return Choice(row["model"], row["locale"])

    def newest(
        self, limit: int = 200, *, origins: Collection[Origin] = _PATIENTS, owner: str | None = None
    ) -> list[Session]:
        """Those of one owner, or of everybody."""
        rows = self._db.all(
            """
            SELECT * FROM sessions WHERE origin = ANY(%s) AND (%s::text IS NULL OR owner = %s)
            ORDER BY created_at DESC, id LIMIT %s
            """,
            list(origins), owner, owner, limit,
        )  # fmt: skip
        return [_session(row) for row in rows]

    def search(self, wanted: Wanted) -> tuple[list[Session], int]:
        """The first of patients' sessions that are wanted, and how many there are in all."""
        known = (
            "concat_ws(' ', id, persona, CASE WHEN %s::text IS NULL THEN NULL ELSE coalesce(nullif(owner, %s), %s) END)"
        )
        each = f" AND (strpos(lower({known}), %s) > 0 OR status = ANY(%s) OR id = ANY(%s))"
        where = "origin = 'patient' AND (%s::text IS NULL OR owner = %s)" + each * len(wanted.words)
        values: list[object] = [wanted.owner, wanted.owner]
        for word in wanted.words:
            values += [wanted.nobodys, LOCAL_OWNER, wanted.nobodys, word.text, list(word.statuses), list(word.ids)]
        places = "".join(f"WHEN id = ANY(%s) THEN {place} " for place in range(len(wanted.first)))
        order = f"CASE {places}ELSE {len(wanted.first)} END, " if places else ""
        rows = self._db.all(
            f"SELECT * FROM sessions WHERE {where} ORDER BY {order}created_at DESC, id LIMIT %s",  # noqa: S608  # constants
            *values, *map(list, wanted.first), wanted.limit,
        )  # fmt: skip
        count = self._db.one(f"SELECT count(*) AS n FROM sessions WHERE {where}", *values)  # noqa: S608  # constants
        return [_session(row) for row in rows], int(count["n"]) if count else 0

    def nobodys(self) -> list[str]:
        """Patients' sessions that are of none who signs in; forks go with theirs."""
        rows = self._db.all(
            """
            SELECT id FROM sessions WHERE origin = 'patient' AND coalesce(owner, %s) = %s ORDER BY created_at, id
            """,
            LOCAL_OWNER, LOCAL_OWNER,
        )  # fmt: skip
        return [row["id"] for row in rows]

    def expired(self) -> list[str]:
        return [row["id"] for row in self._db.all("SELECT id FROM sessions WHERE expires_at <= now()")]

    def forks_of(self, identifier: str) -> list[str]:
        """Its forks and theirs."""
        rows = self._db.all(
            """
            WITH RECURSIVE forks AS (
                SELECT id FROM sessions WHERE parent_id = %s
                UNION ALL SELECT s.id FROM sessions s JOIN forks ON s.parent_id = forks.id
            )
            SELECT id FROM forks
            """,
            identifier,
        )
        return [row["id"] for row in rows]

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

    def is_stopped(self, identifier: str) -> bool:
        """Whether a stop is on record, which may be ahead of the conversation."""
        found = self._db.one("SELECT FROM sessions WHERE id = %s AND status = 'terminated_for_safety'", identifier)
        return found is not None

    def waits_for(self, identifier: str, turn: int, lock: Connection) -> bool:
        """Whether the conversation was left waiting for just this turn, so that there is nothing to recover.

        This row may be behind the checkpoint, when a process was killed between the two. The ledger is not: a turn
        that it holds may have been answered already, and resuming with it would answer the next one.
        """
        row = lock.execute(
            """
            SELECT FROM sessions s WHERE id = %s AND status = 'active' AND next_turn = %s
            AND NOT EXISTS (SELECT FROM turns WHERE session_id = s.id AND turn = s.next_turn)
            """,
            (identifier, turn),
        ).fetchone()
        return row is not None

    def unfinished(self) -> list[str]:
        """Sessions with a message in the ledger, or a stop on record, that the conversation has not got to yet."""
        rows = self._db.all(
            """
            SELECT id FROM sessions WHERE status = 'active'
            AND next_turn <= (SELECT max(turn) FROM turns WHERE session_id = sessions.id)
            UNION SELECT session_id FROM raised WHERE NOT is_refused
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


def stop_within(connection: Connection, identifier: str) -> bool:
    """Close the session for safety, in the caller's transaction; False where it was closed so before."""
    done = connection.execute(
        "UPDATE sessions SET status = 'terminated_for_safety', updated_at = now() "
        "WHERE id = %s AND status <> 'terminated_for_safety'",
        (identifier,),
    )
    return done.rowcount == 1


def lock_key(identifier: str) -> int:
    """The number of the advisory lock that whoever changes a session holds."""
    return int.from_bytes(hashlib.sha256(identifier.encode()).digest()[:8], signed=True)


def _key_aad(identifier: str) -> str:
    return f"{identifier}:audit_key"


def _session(row: Row) -> Session:
    values = {k: v for k, v in row.items() if k != "audit_key"}
    return Session(**{**values, "flags": tuple(row["flags"])})
