"""LangGraph's three checkpoint tables, where its saver does not serve: the copy for a fork, and removal."""

# ruff: noqa: S608  # the pieces that the statements are made of are constants of this module

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime
from typing import Any

from storage.database import Connection, Database

Reseal = Callable[[tuple[str, bytes]], tuple[str, bytes]]
"""From a stored type and blob to those that take their place."""

TABLES = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")

_CHAIN = """
    WITH RECURSIVE chain AS (
        SELECT checkpoint_id, parent_checkpoint_id FROM checkpoints
        WHERE thread_id = %(source)s AND checkpoint_ns = '' AND checkpoint_id = %(checkpoint)s
        UNION ALL
        SELECT older.checkpoint_id, older.parent_checkpoint_id FROM checkpoints older JOIN chain
        ON older.checkpoint_id = chain.parent_checkpoint_id
        WHERE older.thread_id = %(source)s AND older.checkpoint_ns = ''
    )
    SELECT checkpoint_id FROM chain
"""
_COPY_CHECKPOINTS = """
    INSERT INTO checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata)
    SELECT %(target)s, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata
    FROM checkpoints WHERE thread_id = %(source)s AND checkpoint_ns = '' AND checkpoint_id = ANY(%(chain)s)
"""
_COPY_BLOBS = """
    INSERT INTO checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
    SELECT DISTINCT %(target)s, b.checkpoint_ns, b.channel, b.version, b.type, b.blob
    FROM checkpoints c CROSS JOIN jsonb_each_text(c.checkpoint -> 'channel_versions') AS used (channel, version)
    JOIN checkpoint_blobs b USING (thread_id, checkpoint_ns, channel, version)
    WHERE c.thread_id = %(source)s AND c.checkpoint_ns = '' AND c.checkpoint_id = ANY(%(chain)s)
"""
_COPY_WRITES = """
    INSERT INTO checkpoint_writes
        (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob, task_path)
    SELECT %(target)s, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob, task_path
    FROM checkpoint_writes WHERE thread_id = %(source)s AND checkpoint_ns = ''
        AND checkpoint_id = ANY(%(chain)s) AND checkpoint_id <> %(checkpoint)s
"""


def copy_thread(
    connection: Connection, source: str, target: str, checkpoint: str, *, channels: Collection[str], reseal: Reseal
) -> None:
    """Copy a thread's history up to a checkpoint, with what `channels` hold passed through `reseal`.

    What was written after the checkpoint stays behind, above all the answer given there: LangGraph would resume with
    that one, whatever else it was told.
    """
    values: dict[str, Any] = {"source": source, "target": target, "checkpoint": checkpoint}
    values["chain"] = [row["checkpoint_id"] for row in connection.execute(_CHAIN, values)]
    for statement in (_COPY_CHECKPOINTS, _COPY_BLOBS, _COPY_WRITES):
        connection.execute(statement, values)
    for table in ("checkpoint_blobs", "checkpoint_writes"):
        _rewrite(connection, table, target, list(channels), reseal)


def _rewrite(connection: Connection, table: str, thread: str, channels: list[str], reseal: Reseal) -> None:
    rows = connection.execute(
        f"SELECT ctid, type, blob FROM {table} WHERE thread_id = %s AND channel = ANY(%s) AND blob IS NOT NULL",
        (thread, channels),
    ).fetchall()
    changed = [(*reseal((row["type"], row["blob"])), row["ctid"]) for row in rows]
    connection.cursor().executemany(f"UPDATE {table} SET type = %s, blob = %s WHERE ctid = %s::tid", changed)


def delete_threads(connection: Connection, threads: list[str]) -> None:
    for table in TABLES:
        connection.execute(f"DELETE FROM {table} WHERE thread_id = ANY(%s)", (threads,))


def written_at(database: Database, thread: str) -> list[datetime]:
    """When each checkpoint of a thread was written, oldest first."""
    rows = database.all(
        "SELECT (checkpoint ->> 'ts')::timestamptz AS at FROM checkpoints "
        "WHERE thread_id = %s AND checkpoint_ns = '' ORDER BY checkpoint_id",
        thread,
    )
    return [row["at"] for row in rows]
