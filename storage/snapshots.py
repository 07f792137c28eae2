"""Frozen results, addressed by the SHA-256 of their canonical JSON; none is changed, none made of a stopped session."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from errors import InputError, NotFoundError, SealError
from storage.database import Database

UNAVAILABLE = "this session was stopped for safety: there is no benchmark and no comparison of it."
UNFINISHED = "this interview is not finished: it can be benchmarked when it is."


def canonical_json(value: Any) -> bytes:
    """One text for one value: sorted keys, no spaces, no NaN, UTF-8."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "surrogatepass")


def address(value: Any) -> str:
    return hashlib.sha256(canonical_json(value)).hexdigest()


@dataclass(frozen=True)
class Frozen:
    sha256: str
    session_id: str
    revision: int | None
    created_at: datetime


class Snapshots:
    def __init__(self, database: Database) -> None:
        self._db = database

    def freeze(self, session_id: str, body: dict[str, Any], revision: int | None = None) -> str:
        """Store `body` once and give its address; freezing the same again changes nothing."""
        content = canonical_json(body)
        sha256 = hashlib.sha256(content).hexdigest()
        with self._db.transaction() as connection:
            # Holds the row, so that a stop comes before or after.
            row = connection.execute("SELECT status FROM sessions WHERE id = %s FOR UPDATE", (session_id,)).fetchone()
            _refuse(row["status"] if row else None, session_id)
            connection.execute(
                """
                INSERT INTO snapshots (sha256, session_id, body, revision) VALUES (%s, %s, %s, %s)
                ON CONFLICT DO NOTHING
                """,
                (sha256, session_id, self._db.vault.seal(content, sha256), revision),
            )
        return sha256

    def get(self, sha256: str) -> dict[str, Any]:
        row = self._db.one(
            "SELECT body, session_id, status FROM snapshots JOIN sessions s ON s.id = session_id WHERE sha256 = %s",
            sha256,
        )
        if row is None:
            raise NotFoundError(f"there is no snapshot {sha256!r}")
        _refuse(row["status"], row["session_id"])
        content = self._db.vault.open(row["body"], sha256)
        if hashlib.sha256(content).hexdigest() != sha256:
            raise SealError(f"snapshot {sha256} does not match its address")
        body: dict[str, Any] = json.loads(content)
        return body

    def session_of(self, sha256: str) -> str:
        row = self._db.one("SELECT session_id FROM snapshots WHERE sha256 = %s", sha256)
        if row is None:
            raise NotFoundError(f"there is no snapshot {sha256!r}")
        return str(row["session_id"])

    def of_session(self, session_id: str) -> list[Frozen]:
        """Oldest first."""
        rows = self._db.all(
            """
            SELECT sha256, session_id, revision, created_at FROM snapshots WHERE session_id = %s
            ORDER BY revision NULLS FIRST, created_at
            """,
            session_id,
        )
        return [Frozen(**row) for row in rows]

    def unfrozen(self, session_id: str | None = None) -> list[tuple[str, int]]:
        """Revisions of a completed session, or of all patients', that nobody has frozen yet, though all was kept."""
        rows = self._db.all(
            """
            SELECT r.session_id, r.revision FROM reports r JOIN sessions s ON s.id = r.session_id
            WHERE s.status = 'completed' AND r.basis IS NOT NULL
            AND (s.id = %s OR (%s::text IS NULL AND s.origin = 'patient'))
            AND NOT EXISTS (SELECT FROM snapshots WHERE session_id = r.session_id AND revision = r.revision)
            ORDER BY r.created_at
            """,
            session_id, session_id,
        )  # fmt: skip
        return [(row["session_id"], row["revision"]) for row in rows]


def _refuse(status: str | None, session_id: str) -> None:
    if status is None:
        raise NotFoundError(f"there is no session {session_id!r} any more.")
    if status == "terminated_for_safety":
        raise InputError(UNAVAILABLE)
    if status != "completed":
        raise InputError(UNFINISHED)
