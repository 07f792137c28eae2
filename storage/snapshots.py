"""Frozen results, addressed by the SHA-256 of their canonical JSON."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from errors import NotFoundError, SealError
from storage.database import Database


def canonical_json(value: Any) -> bytes:
    """One text for one value: sorted keys, no spaces, no NaN, UTF-8."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "surrogatepass")


def address(value: Any) -> str:
    return hashlib.sha256(canonical_json(value)).hexdigest()


class Snapshots:
    def __init__(self, database: Database) -> None:
        self._db = database

    def freeze(self, session_id: str, body: dict[str, Any]) -> str:
        """Store `body` once and give its address; freezing the same again changes nothing."""
        content = canonical_json(body)
        sha256 = hashlib.sha256(content).hexdigest()
        self._db.run(
            "INSERT INTO snapshots (sha256, session_id, body) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING",
            sha256, session_id, self._db.vault.seal(content, sha256),
        )  # fmt: skip
        return sha256

    def get(self, sha256: str) -> dict[str, Any]:
        row = self._db.one("SELECT body FROM snapshots WHERE sha256 = %s", sha256)
        if row is None:
            raise NotFoundError(f"there is no snapshot {sha256!r}")
        content = self._db.vault.open(row["body"], sha256)
        if hashlib.sha256(content).hexdigest() != sha256:
            raise SealError(f"snapshot {sha256} does not match its address")
        body: dict[str, Any] = json.loads(content)
        return body

    def of_session(self, session_id: str) -> list[str]:
        rows = self._db.all("SELECT sha256 FROM snapshots WHERE session_id = %s ORDER BY created_at", session_id)
        return [row["sha256"] for row in rows]
