"""What reviewers say of single turns: stopped wrongly, missed, scored wrongly. Also on stopped sessions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args

from errors import InputError, NotFoundError
from storage.database import Database, Row

LabelKind = Literal["false stop", "missed", "wrong score"]
LABELS: tuple[LabelKind, ...] = get_args(LabelKind)


@dataclass(frozen=True)
class Label:
    session_id: str
    turn: int
    label: LabelKind
    note: str
    labelled_by: str
    labelled_at: datetime


class Labels:
    def __init__(self, database: Database) -> None:
        self._db = database

    def add(self, session_id: str, turn: int, label: str, by: str, note: str = "") -> Label:
        """The same label again by the same reviewer replaces its note. A note is clinical text, hence sealed."""
        if label not in LABELS:
            raise InputError(f"a turn can be labelled {', '.join(map(repr, LABELS))}, not {label!r}.")
        if not by.strip():
            raise InputError("a label needs the name of whoever gives it.")
        sealed = self._db.vault.seal_text(note.strip(), _aad(session_id, turn)) if note.strip() else None
        row = self._db.one(
            """
            INSERT INTO labels (session_id, turn, label, note, labelled_by)
            SELECT session_id, turn, %s, %s, %s FROM turns WHERE session_id = %s AND turn = %s
            ON CONFLICT (session_id, turn, label, labelled_by) DO UPDATE SET note = EXCLUDED.note, labelled_at = now()
            RETURNING *
            """,
            label, sealed, by.strip(), session_id, turn,
        )  # fmt: skip
        if row is None:
            raise NotFoundError(f"session {session_id!r} has no turn {turn} of a patient.")
        return self._label(row)

    def remove(self, session_id: str, turn: int, label: str, by: str) -> bool:
        removed = self._db.run(
            "DELETE FROM labels WHERE session_id = %s AND turn = %s AND label = %s AND labelled_by = %s",
            session_id, turn, label, by.strip(),
        )  # fmt: skip
        return bool(removed)

    def all_of(self, session_id: str | None = None) -> list[Label]:
        """Those of a session, or of all."""
        rows = self._db.all(
            "SELECT * FROM labels WHERE session_id = coalesce(%s, session_id) ORDER BY session_id, turn, id", session_id
        )
        return [self._label(row) for row in rows]

    def _label(self, row: Row) -> Label:
        values = {name: value for name, value in row.items() if name != "id"}
        note = self._db.vault.open_text(row["note"], _aad(row["session_id"], row["turn"])) if row["note"] else ""
        return Label(**{**values, "note": note})


def _aad(session_id: str, turn: int) -> str:
    return f"{session_id}:label:{turn}"
