"""Clients' labels: a therapist's own pseudonym for a person, sealed; equal labels join a person's interviews."""

from __future__ import annotations

from collections.abc import Collection

from errors import InputError
from storage.database import Connection, Database

LONGEST_LABEL = 80


class ClientLabels:
    def __init__(self, database: Database) -> None:
        self._db = database

    def put(self, session_id: str, owner: str | None, label: str) -> None:
        """Label the client; an empty label takes it away. The same label of two owners means two clients."""
        label = " ".join(label.split())
        if len(label) > LONGEST_LABEL:
            raise InputError(f"a label may have {LONGEST_LABEL} characters, not {len(label)}.")
        if not label:
            self._db.run("DELETE FROM client_labels WHERE session_id = %s", session_id)
            return
        self._db.run(
            """
            INSERT INTO client_labels (session_id, mac, label) SELECT id, %s, %s FROM sessions WHERE id = %s
            ON CONFLICT (session_id) DO UPDATE SET mac = excluded.mac, label = excluded.label
            """,
            self._mac(owner, label),
            self._db.vault.seal_text(label, _aad(session_id)),
            session_id,
        )

    def move_within(self, connection: Connection, session_ids: Collection[str], owner: str) -> None:
        """Let labelled sessions join those of another owner's client of the same label."""
        for session_id, label in self.of(session_ids).items():
            connection.execute(
                "UPDATE client_labels SET mac = %s WHERE session_id = %s", (self._mac(owner, label), session_id)
            )

    def of(self, session_ids: Collection[str]) -> dict[str, str]:
        """The labels of those sessions that have one."""
        rows = self._db.all("SELECT session_id, label FROM client_labels WHERE session_id = ANY(%s)", list(session_ids))
        return {row["session_id"]: self._db.vault.open_text(row["label"], _aad(row["session_id"])) for row in rows}

    def naming(self, words: Collection[str], owner: str | None) -> dict[str, list[str]]:
        """For each word in lower case, the sessions of an owner, or of everybody, whose label has it. Labels are
        sealed, so that all of them are opened for it."""
        rows = self._db.all(
            """
            SELECT session_id, label FROM client_labels JOIN sessions s ON s.id = session_id
            WHERE %s::text IS NULL OR s.owner = %s
            """,
            owner, owner,
        )  # fmt: skip
        labels = {row["session_id"]: self._db.vault.open_text(row["label"], _aad(row["session_id"])) for row in rows}
        return {word: [one for one, label in labels.items() if word in label.lower()] for word in words}

    def _mac(self, owner: str | None, label: str) -> bytes:
        return self._db.vault.mac(label.casefold(), f"client of {owner or ''}")

    def same_client(self, session_id: str) -> list[str]:
        """All sessions of this session's client, the first interview first; none without a label."""
        rows = self._db.all(
            """
            SELECT s.id FROM client_labels l JOIN client_labels own ON own.mac = l.mac
            JOIN sessions s ON s.id = l.session_id WHERE own.session_id = %s ORDER BY s.created_at, s.id
            """,
            session_id,
        )
        return [row["id"] for row in rows]


def _aad(session_id: str) -> str:
    return f"{session_id}:client"
