"""Whether anything of a session has changed, asked often and cheaply: one statement, no content."""

from __future__ import annotations

from errors import NotFoundError
from storage.database import Database


def pulse(database: Database, session_id: str) -> str:
    """A mark that is another one as soon as a turn, flag, notice, correction or label of the session is."""
    row = database.one(
        """
        SELECT concat_ws('/', extract(epoch FROM s.updated_at), s.status, s.next_turn, s.flags,
            (SELECT count(*) FROM notices WHERE session_id = s.id),
            (SELECT count(*) FROM corrections WHERE session_id = s.id),
            (SELECT count(*) FROM labels WHERE session_id = s.id),
            (SELECT count(*) FROM notices WHERE session_id = s.id AND acknowledged_at IS NULL)) AS mark
        FROM sessions s WHERE id = %s
        """,
        session_id,
    )
    if row is None:
        raise NotFoundError(f"there is no session {session_id!r}: `crosscut sessions` lists them.")
    return str(row["mark"])
