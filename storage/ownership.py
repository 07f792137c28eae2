"""Gives sessions that belong to nobody to somebody: those from the command line, or from before there was a login."""

from __future__ import annotations

from datetime import UTC, datetime

from errors import InputError, NotFoundError
from storage.audit import Audit
from storage.clients import ClientLabels
from storage.database import Connection, Database
from storage.deletion import locked_tree
from storage.sessions import NOBODYS


def assign(database: Database, session_id: str, owner: str) -> tuple[str, ...]:
    """Make `owner` the owner of a session and its forks, and give their ids. It is taken away from nobody."""
    with database.transaction() as connection:
        given = locked_tree(connection, session_id)
        if not given:
            raise NotFoundError(f"there is no session {session_id!r}: `crosscut sessions` lists them.")
        _refuse_owned(connection, given)
        connection.execute("UPDATE sessions SET owner = %s WHERE id = ANY(%s)", (owner, given))
        ClientLabels(database).move_within(connection, given, owner)
        for one in given:
            at = datetime.now(UTC).isoformat(timespec="seconds")
            Audit(database).append_within(connection, one, {"kind": "assignment", "at": at, "to": owner})
    return tuple(given)


def _refuse_owned(connection: Connection, session_ids: list[str]) -> None:
    rows = connection.execute("SELECT id, owner FROM sessions WHERE id = ANY(%s)", (session_ids,)).fetchall()
    for row in rows:
        if row["owner"] not in NOBODYS:
            raise InputError(f"session {row['id']!r} has an owner already, and stays theirs.")
