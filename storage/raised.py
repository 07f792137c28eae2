"""Messages that raised a flag or a stop, kept whole and sealed until, or because, the conversation does not have them.

A stop waits here from the moment it is on record until it is in the conversation, which takes longer while another
message is being worked on. A worry that was refused (stale, after the end) stays, since it is nowhere else to be read.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Literal

from errors import SealError
from storage.database import Connection, Database


@dataclass(frozen=True)
class Raised:
    """Everything the ledger, the audit, the session's row and the therapist need to know of one message."""

    session_id: str
    turn: int
    message_id: str
    text: str
    rule: str
    flags: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]
    locale: str
    script_version: str
    at: datetime
    cues: tuple[str, ...] = ()
    degraded: bool = False
    level: str = "stop"
    refused: str = ""
    """Why it is no turn of the conversation; empty for one that is to become part of it."""
    model: str | None = None
    prompt_version: str | None = None
    model_level: Literal["none", "flag", "stop"] | None = None
    milliseconds: float = 0.0
    engine: Literal["rules", "rules+reader", "rules+llm", "rules+reader+llm"] = "rules"
    tables: str | None = None

    def encoded(self) -> bytes:
        # ASCII escapes carry lone surrogates, which a patient's text may hold and UTF-8 may not.
        return json.dumps({**asdict(self), "at": self.at.isoformat()}, ensure_ascii=True).encode()

    def __repr__(self) -> str:
        return f"Raised(session_id={self.session_id!r}, turn={self.turn})"  # a patient's words stay out of logs


def decoded(content: bytes, where: str) -> Raised:
    try:
        data = json.loads(content)
        values = {
            **data,
            "flags": tuple(data["flags"]),
            "cues": tuple(data["cues"]),
            "spans": tuple((start, end) for start, end in data["spans"]),
            "at": datetime.fromisoformat(data["at"]),
        }
        return Raised(**values)
    except (ValueError, TypeError, KeyError):
        raise SealError(f"{where} was written by another version of Crosscut") from None


class RaisedMessages:
    def __init__(self, database: Database) -> None:
        self._db = database

    def add_within(self, connection: Connection, raised: Raised, key: str) -> None:
        """Keep it, in the transaction of its audit row and under that row's key: what is audited apart is kept so."""
        sealed = self._db.vault.seal(raised.encoded(), _aad(raised.session_id, key))
        connection.execute(
            "INSERT INTO raised (session_id, key, is_refused, content) VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING",
            (raised.session_id, key, bool(raised.refused), sealed),
        )

    def waiting(self, session_id: str) -> Raised | None:
        """The stop that is on record and perhaps not in the conversation yet."""
        return next(iter(self._kept(session_id, refused=False)), None)

    def refused(self, session_id: str) -> list[Raised]:
        return self._kept(session_id, refused=True)

    def entered(self, session_id: str, *, is_said: bool) -> None:
        """The conversation has the session's stop now; a message that is not in it stays, as one that was refused."""
        done = "DELETE FROM raised" if is_said else "UPDATE raised SET is_refused = true"
        self._db.run(f"{done} WHERE session_id = %s AND NOT is_refused", session_id)

    def _kept(self, session_id: str, *, refused: bool) -> list[Raised]:
        rows = self._db.all(
            "SELECT key, content FROM raised WHERE session_id = %s AND is_refused = %s ORDER BY created_at, key",
            session_id, refused,
        )  # fmt: skip
        return [self._opened(session_id, row["key"], row["content"]) for row in rows]

    def _opened(self, session_id: str, key: str, content: bytes) -> Raised:
        return decoded(self._db.vault.open(content, _aad(session_id, key)), f"a message of session {session_id}")


def _aad(session_id: str, key: str) -> str:
    return f"{session_id}:raised:{key}"
