"""Results of metrics: one row a snapshot, metric set and version of that set."""

from __future__ import annotations

import json
from typing import Any

from errors import InputError
from storage.database import Database
from storage.snapshots import UNAVAILABLE, canonical_json


class Results:
    def __init__(self, database: Database) -> None:
        self._db = database

    def put(self, snapshot: str, metric_set: str, version: str, body: dict[str, Any]) -> None:
        """Whoever works on the same once more replaces the row. Nothing is kept of a session stopped meanwhile."""
        sealed = self._db.vault.seal(canonical_json(body), _aad(snapshot, metric_set, version))
        with self._db.transaction() as connection:
            found = connection.execute(
                """
                SELECT s.status FROM sessions s JOIN snapshots n ON n.session_id = s.id
                WHERE n.sha256 = %s FOR UPDATE OF s
                """,
                (snapshot,),
            ).fetchone()
            if found is None or found["status"] == "terminated_for_safety":
                raise InputError(UNAVAILABLE)
            connection.execute(
                """
                INSERT INTO results (snapshot_sha256, metric_set, version, body) VALUES (%s, %s, %s, %s)
                ON CONFLICT (snapshot_sha256, metric_set, version)
                DO UPDATE SET body = EXCLUDED.body, created_at = now()
                """,
                (snapshot, metric_set, version, sealed),
            )

    def get(self, snapshot: str, metric_set: str, version: str) -> dict[str, Any] | None:
        row = self._db.one(
            "SELECT body FROM results WHERE snapshot_sha256 = %s AND metric_set = %s AND version = %s",
            snapshot, metric_set, version,
        )  # fmt: skip
        if row is None:
            return None
        body: dict[str, Any] = json.loads(self._db.vault.open(row["body"], _aad(snapshot, metric_set, version)))
        return body


def _aad(snapshot: str, metric_set: str, version: str) -> str:
    return f"{snapshot}:{metric_set}:{version}"
