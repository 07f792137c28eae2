"""Deletes a session with everything that was ever derived from it; only the content-free audit stays."""

from __future__ import annotations

from datetime import UTC, datetime

from errors import NotFoundError
from storage.audit import Audit, lock_chain
from storage.checkpoints import delete_threads
from storage.database import Connection, Database
from storage.sessions import lock_key


def delete_session(database: Database, session_id: str) -> tuple[str, ...]:
    """Remove a session and its forks, which hold the same patient's words, and give the ids of all that went.

    The session's own lock is taken first and waited for: a turn that is being worked on ends before its session does.
    Tables of ours go with the sessions row, by their foreign keys; its audit key is a column of that row.
    """
    with database.transaction() as connection:
        doomed = locked_tree(connection, session_id)
        if not doomed:
            raise NotFoundError(f"session {session_id!r} was not found: perhaps it has been deleted already.")
        delete_threads(connection, doomed)
        for gone in doomed:
            Audit(database).append_within(connection, gone, _record(gone, session_id))
        connection.execute("DELETE FROM sessions WHERE id = ANY(%s)", (doomed,))
    return tuple(doomed)


def _record(session_id: str, asked_for: str) -> dict[str, object]:
    return {
        "kind": "deletion",
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "with": asked_for if asked_for != session_id else None,
    }


def locked_tree(connection: Connection, session_id: str) -> list[str]:
    """The session and its forks, theirs too. Each row is locked before its forks are looked for, so none is added."""
    tree: list[str] = []
    found = [session_id]
    while found:
        identifier = found.pop()
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (lock_key(identifier),))
        lock_chain(connection, identifier)  # before the row, in the order of whoever records a check
        row = connection.execute("SELECT FROM sessions WHERE id = %s FOR UPDATE", (identifier,)).fetchone()
        if row is not None:
            tree.append(identifier)
            forks = connection.execute("SELECT id FROM sessions WHERE parent_id = %s ORDER BY id", (identifier,))
            found += [fork["id"] for fork in forks]
    return tree
