"""The append-only audit: content-free entries, hash-chained per session.

Where a chain ends is kept beside it under the installation's key, so that rows cut off at its end are noticed as well.
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
_AUDITED = "SELECT id FROM sessions WHERE next_turn > 1"  # each turn that was taken has a row


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
            return self.append_within(connection, session_id, entry)

    def append_within(self, connection: Connection, session_id: str, entry: dict[str, Any]) -> int:
        """Append inside the caller's transaction, one writer a session at a time."""
        lock_chain(connection, session_id)
        return self._insert(connection, session_id, entry, _last(connection, session_id, ""))

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
            self._insert(connection, session_id, {**entry, "key": key}, last)
            yield connection

    def has(self, session_id: str, key: str) -> bool:
        """Whether an entry with this key is there."""
        found = "SELECT FROM audit WHERE session_id = %s AND entry ->> 'key' = %s"
        return self._db.one(found, session_id, key) is not None

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
        for fault in self._wrong_ends({session: (seq - 1, last) for session, (seq, last) in expected.items()}):
            broken.setdefault(fault.session_id, fault)
        return len(rows), list(broken.values())

    def adopt(self) -> None:
        """Give chains from before ends were kept the ones they have now: where not one has an end."""
        with self._db.transaction() as connection:
            if connection.execute("SELECT FROM audit_ends LIMIT 1").fetchone() is not None:
                return
            rows = connection.execute(
                "SELECT DISTINCT ON (session_id) session_id, seq, hash FROM audit ORDER BY session_id, seq DESC"
            ).fetchall()
            ends = [(row["session_id"], row["seq"], self._mac(**row)) for row in rows]
            connection.cursor().executemany("INSERT INTO audit_ends VALUES (%s, %s, %s) ON CONFLICT DO NOTHING", ends)

    def _wrong_ends(self, found: dict[str, tuple[int, str]]) -> Iterator[Broken]:
        ends = {row["session_id"]: row for row in self._db.all("SELECT * FROM audit_ends")}
        for session, (seq, last) in found.items():
            end = ends.get(session)
            if end is None:
                yield Broken(session, seq, "where the chain ends is not on record")
            elif not hmac.compare_digest(end["mac"], self._mac(session, seq, last)):
                yield Broken(session, seq, f"the chain ended at row {end['seq']} when it was last written")
        audited = {row["id"] for row in self._db.all(_AUDITED)}
        for session in sorted((audited | ends.keys()) - found.keys()):
            yield Broken(session, 1, "the whole chain is missing")

    def _insert(self, connection: Connection, session_id: str, entry: dict[str, Any], last: dict[str, Any]) -> int:
        seq, previous = last["seq"] + 1, last["hash"] or GENESIS
        hashed = chain_hash(session_id, seq, entry, previous)
        connection.execute(
            """
            WITH row AS (INSERT INTO audit VALUES (%s, %s, %s, %s, %s) RETURNING session_id, seq)
            INSERT INTO audit_ends SELECT session_id, seq, %s FROM row
            ON CONFLICT (session_id) DO UPDATE SET seq = excluded.seq, mac = excluded.mac
            """,
            (session_id, seq, Jsonb(entry), previous, hashed, self._mac(session_id, seq, hashed)),
        )
        return int(seq)

    def _mac(self, session_id: str, seq: int, hash: str) -> bytes:  # noqa: A002  # the column's name
        return self._db.vault.mac(f"{session_id}:{seq}:{hash}", "audit end")


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
