"""The append-only audit: content-free entries, hash-chained per session.

A patient's text enters only as an HMAC under the session's own key, since the plain hash of "yes" can be looked up.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from psycopg.types.json import Jsonb

from errors import NotFoundError
from storage.database import Connection, Database
from storage.snapshots import canonical_json

GENESIS = "0" * 64


@dataclass(frozen=True)
class Broken:
    """The first row of a session's chain that does not verify."""

    session_id: str
    seq: int
    problem: str


class Audit:
    def __init__(self, database: Database) -> None:
        self._db = database

    def append(self, session_id: str, entry: dict[str, Any]) -> int:
        """Add an entry and give its number. Entries hold ids, offsets, names and figures, never text."""
        with self._db.transaction() as connection:
            return append_within(connection, session_id, entry)

    @contextmanager
    def once(
        self, session_id: str, key: str, entry: dict[str, Any], *, durable: bool = True
    ) -> Iterator[Connection | None]:
        """Add an entry unless one with this key is there: work done again after a crash is not told twice.

        Gives the transaction's connection for what belongs to the same moment, or None when all was there already. An
        entry that need not be durable does not wait for the disk: the last ones may be lost with the whole server.
        A session that was deleted meanwhile is not found: the chain of a deleted session ends with its deletion.
        """
        with self._db.transaction() as connection:
            lock_chain(connection, session_id, durable=durable)
            last = _last(connection, session_id, key)
            if not last["exists"]:
                raise NotFoundError(f"there is no session {session_id!r} any more.")
            if last["known"]:
                yield None
                return
            _insert(connection, session_id, {**entry, "key": key}, last)
            yield connection

    def entries(self, session_id: str) -> list[dict[str, Any]]:
        rows = self._db.all("SELECT entry FROM audit WHERE session_id = %s ORDER BY seq", session_id)
        return [row["entry"] for row in rows]

    def verify(self) -> tuple[int, list[Broken]]:
        """How many rows were read, and where chains break."""
        broken: dict[str, Broken] = {}
        expected: dict[str, tuple[int, str]] = {}
        rows = self._db.all("SELECT * FROM audit ORDER BY session_id, seq")
        for row in rows:
            session, seq = row["session_id"], row["seq"]
            next_seq, previous = expected.get(session, (1, GENESIS))
            problem = _problem(row, next_seq, previous)
            if problem:
                broken.setdefault(session, Broken(session, seq, problem))
            expected[session] = (seq + 1, row["hash"])
        return len(rows), list(broken.values())


def append_within(connection: Connection, session_id: str, entry: dict[str, Any]) -> int:
    """Append inside the caller's transaction, one writer a session at a time."""
    lock_chain(connection, session_id)
    return _insert(connection, session_id, entry, _last(connection, session_id, ""))


def lock_chain(connection: Connection, session_id: str, *, durable: bool = True) -> None:
    """Until the transaction ends, nobody else adds to this session's audit."""
    connection.execute(
        "SELECT set_config('synchronous_commit', %s, true), pg_advisory_xact_lock(hashtextextended('audit:' || %s, 0))",
        ("on" if durable else "off", session_id),
    )


def _last(connection: Connection, session_id: str, key: str) -> dict[str, Any]:
    """The end of the session's chain, whether an entry with this key is in it, and whether there is such a session."""
    row = connection.execute(
        """
        SELECT coalesce(max(seq), 0) AS seq, (array_agg(hash ORDER BY seq DESC))[1] AS hash,
               coalesce(bool_or(entry ->> 'key' = %s), false) AS known,
               EXISTS (SELECT FROM sessions WHERE id = %s) AS exists
        FROM audit WHERE session_id = %s
        """,
        (key, session_id, session_id),
    ).fetchone()
    assert row is not None  # noqa: S101  # an aggregate always has a row
    return row


def _insert(connection: Connection, session_id: str, entry: dict[str, Any], last: dict[str, Any]) -> int:
    seq, previous = last["seq"] + 1, last["hash"] or GENESIS
    connection.execute(
        "INSERT INTO audit VALUES (%s, %s, %s, %s, %s)",
        (session_id, seq, Jsonb(entry), previous, chain_hash(session_id, seq, entry, previous)),
    )
    return int(seq)


def chain_hash(session_id: str, seq: int, entry: dict[str, Any], previous: str) -> str:
    return hashlib.sha256(canonical_json([session_id, seq, entry, previous])).hexdigest()


def text_mac(key: bytes, text: str) -> str:
    return hmac.new(key, text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()


def _problem(row: dict[str, Any], seq: int, previous: str) -> str | None:
    if row["seq"] != seq:
        return f"row {seq} is missing"
    if row["previous_hash"] != previous:
        return "it does not follow from the row before it"
    if row["hash"] != chain_hash(row["session_id"], row["seq"], row["entry"], row["previous_hash"]):
        return "its content does not match its hash"
    return None
