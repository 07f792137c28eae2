"""Patients' links: an unguessable token a session, of which only the hash can be searched for."""

from __future__ import annotations

import hashlib
import secrets

from errors import NotFoundError
from storage.database import Database

TOKEN_BYTES = 32


class PatientLinks:
    def __init__(self, database: Database) -> None:
        self._db = database

    def token(self, session_id: str) -> str:
        """The session's token, made when it is first asked for; two who ask at once get the same."""
        made = secrets.token_urlsafe(TOKEN_BYTES)
        self._db.run(
            """
            INSERT INTO patient_links (session_id, token_sha256, token)
            SELECT id, %s, %s FROM sessions WHERE id = %s AND origin = 'patient' ON CONFLICT (session_id) DO NOTHING
            """,
            _digest(made), self._db.vault.seal_text(made, _aad(session_id)), session_id,
        )  # fmt: skip
        row = self._db.one("SELECT token FROM patient_links WHERE session_id = %s", session_id)
        if row is None:
            raise NotFoundError(f"session {session_id!r} has no patient's link: it is deleted, a fork or of a batch.")
        return self._db.vault.open_text(row["token"], _aad(session_id))

    def renew(self, session_id: str) -> str:
        """Another token; the old link leads nowhere from now on."""
        self._db.run("DELETE FROM patient_links WHERE session_id = %s", session_id)
        return self.token(session_id)

    def session_id(self, token: str) -> str:
        row = self._db.one("SELECT session_id FROM patient_links WHERE token_sha256 = %s", _digest(token))
        if row is None:
            raise NotFoundError("this link leads nowhere.")
        return str(row["session_id"])


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def _aad(session_id: str) -> str:
    return f"{session_id}:patient_link"
