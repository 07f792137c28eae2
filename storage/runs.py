"""Batch runs: their cells as rows, each held under a lease by whoever works on it, with one place for its figures.

A message of the broker only says "look at this cell". Whether it is to be worked on, and whose result counts, is
decided here: a claim is one conditional UPDATE, and only the holder of the newest claim can enter figures.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from psycopg.types.json import Jsonb

from errors import NotFoundError
from storage.database import Connection, Database, Row, borrowed

RunStatus = Literal["running", "aggregating", "done", "cancelled"]
CellStatus = Literal["queued", "running", "done", "failed", "cancelled"]

_DUE = "(c.status = 'queued' OR c.status = 'running' AND c.lease_until < now())"


@dataclass(frozen=True)
class Run:
    id: str
    name: str
    spec: dict[str, Any]
    status: RunStatus
    aggregate: dict[str, Any] | None
    created_at: datetime
    updated_at: datetime
    finished_at: datetime | None
    owner: str | None
    """Who started it; None at the command line."""


@dataclass(frozen=True, order=True)
class CellKey:
    """What makes a cell one of its kind in a run."""

    patient: str
    model: str
    mode: str
    repeat: int


@dataclass(frozen=True)
class Cell:
    """`figures` are numbers and the product's own names, never what a patient said."""

    id: int
    run_id: str
    key: CellKey
    status: CellStatus
    tries: int
    session_id: str | None
    figures: dict[str, Any] | None
    error: str | None


@dataclass(frozen=True)
class Claim:
    """A cell in somebody's hands. `left_over` is the session that the one before left behind."""

    cell_id: int
    run_id: str
    key: CellKey
    holder: str
    tries: int
    left_over: str | None


class Runs:
    def __init__(self, database: Database) -> None:
        self._db = database

    # ---- a run as a whole ----

    def create(
        self,
        name: str,
        spec: Mapping[str, Any],
        patients: Mapping[str, bytes | None],
        cells: Iterable[CellKey],
        *,
        owner: str | None = None,
    ) -> str:
        """The run with all its cells, in one transaction: a run that can be seen is whole."""
        identifier = secrets.token_hex(4)
        with self._db.transaction() as connection:
            connection.execute(
                "INSERT INTO runs (id, name, spec, status, owner) VALUES (%s, %s, %s, 'running', %s)",
                (identifier, name, Jsonb(dict(spec)), owner),
            )
            connection.cursor().executemany(
                "INSERT INTO run_patients VALUES (%s, %s, %s)",
                [(identifier, patient, self._sealed(identifier, patient, body)) for patient, body in patients.items()],
            )
            with connection.cursor().copy("COPY cells (run_id, patient, model, mode, repeat) FROM STDIN") as copy:
                for cell in cells:
                    copy.write_row((identifier, cell.patient, cell.model, cell.mode, cell.repeat))
        return identifier

    def get(self, run_id: str) -> Run:
        row = self._db.one("SELECT * FROM runs WHERE id = %s", run_id)
        if row is None:
            raise NotFoundError(f"there is no run {run_id!r}: `crosscut batch list` shows them.")
        return Run(**row)

    def newest(self, limit: int = 100, *, owner: str | None = None) -> list[Run]:
        """Those of one owner, or of everybody."""
        rows = self._db.all(
            """
            SELECT * FROM runs WHERE %s::text IS NULL OR owner = %s ORDER BY created_at DESC, id LIMIT %s
            """,
            owner, owner, limit,
        )  # fmt: skip
        return [Run(**row) for row in rows]

    def counts(self, run_id: str) -> dict[CellStatus, int]:
        rows = self._db.all("SELECT status, count(*) AS n FROM cells WHERE run_id = %s GROUP BY status", run_id)
        found = {row["status"]: row["n"] for row in rows}
        return {status: found.get(status, 0) for status in ("queued", "running", "done", "failed", "cancelled")}

    def cells(self, run_id: str) -> Iterator[Cell]:
        """All cells in the order of their keys, a few at a time."""
        with self._db.transaction() as connection, connection.cursor("cells") as cursor:
            cursor.execute(
                'SELECT * FROM cells WHERE run_id = %s ORDER BY patient COLLATE "C", model COLLATE "C", mode, repeat',
                (run_id,),
            )
            for row in cursor:
                yield _cell(row)

    def answers(self, run_id: str, patient: str) -> bytes | None:
        """What a patient of this run has prepared to say; None for a persona."""
        row = self._db.one("SELECT answers FROM run_patients WHERE run_id = %s AND patient = %s", run_id, patient)
        if row is None:
            raise NotFoundError(f"run {run_id!r} has no patient {patient!r}.")
        return self._db.vault.open(row["answers"], _aad(run_id, patient)) if row["answers"] else None

    def cancel(self, run_id: str) -> int:
        """Take back every cell that is not done; whoever works on one learns it at the next heartbeat."""
        self.get(run_id)
        with self._db.transaction() as connection:
            _lock(connection, run_id)
            connection.execute(
                "UPDATE runs SET status = 'cancelled', updated_at = now() WHERE id = %s AND status = 'running'",
                (run_id,),
            )
            return connection.execute(
                """
                UPDATE cells SET status = 'cancelled', holder = NULL, lease_until = NULL, updated_at = now()
                WHERE run_id = %s AND status IN ('queued', 'running')
                """,
                (run_id,),
            ).rowcount

    def resume(self, run_id: str) -> int:
        """Queue again what failed or was cancelled, and whatever messages may have been lost."""
        self.get(run_id)
        with self._db.transaction() as connection:
            _lock(connection, run_id)
            queued = connection.execute(
                """
                UPDATE cells SET status = 'queued', sent_at = NULL, tries = 0, error = NULL, figures = NULL,
                    updated_at = now()
                WHERE run_id = %s AND status IN ('failed', 'cancelled')
                """,
                (run_id,),
            ).rowcount
            connection.execute("UPDATE cells SET sent_at = NULL WHERE run_id = %s AND status = 'queued'", (run_id,))
            open_again = _has_open_cells(connection, run_id)
            connection.execute(
                "UPDATE runs SET status = %s, finished_at = NULL, updated_at = now() WHERE id = %s",
                ("running" if open_again else "aggregating", run_id),
            )
        return queued

    def sessions(self, run_id: str) -> list[str]:
        rows = self._db.all("SELECT session_id FROM cells WHERE run_id = %s AND session_id IS NOT NULL", run_id)
        return [row["session_id"] for row in rows]

    def delete(self, run_id: str) -> None:
        if not self._db.run("DELETE FROM runs WHERE id = %s", run_id):
            raise NotFoundError(f"there is no run {run_id!r}: `crosscut batch list` shows them.")

    # ---- messages ----

    def to_send(self, window: int, *, again: bool = False) -> list[int]:
        """Cells that need a message, up to `window` a run on their way; with `again`, also those sent before.

        A run is sent in pieces, so that the broker never holds a million messages.
        """
        sent: list[int] = []
        for run in self._db.all("SELECT id FROM runs WHERE status = 'running' ORDER BY created_at, id"):
            sent += self._to_send(run["id"], window, again)
        return sent

    def _to_send(self, run_id: str, window: int, again: bool) -> list[int]:
        statement = f"""
            UPDATE cells SET sent_at = now() WHERE id IN (
                SELECT c.id FROM cells c WHERE run_id = %(run)s AND {_DUE}
                AND (sent_at IS NULL OR %(again)s OR c.status = 'running')
                ORDER BY sent_at NULLS LAST, c.id
                LIMIT greatest(0, %(window)s - (
                    SELECT count(*) FROM (
                        SELECT FROM cells WHERE run_id = %(run)s AND status = 'queued' AND sent_at IS NOT NULL
                        AND NOT %(again)s LIMIT %(window)s
                    ) AS outstanding
                )) FOR UPDATE SKIP LOCKED
            ) RETURNING id
            """  # noqa: S608  # a constant of this module
        with self._db.connection() as connection:
            rows = connection.execute(statement, {"run": run_id, "window": window, "again": again}).fetchall()
        return sorted(row["id"] for row in rows)

    def unaggregated(self) -> list[str]:
        """Runs whose cells have all ended and whose tables nobody has made yet."""
        return [
            row["id"] for row in self._db.all("SELECT id FROM runs WHERE status = 'aggregating' ORDER BY created_at")
        ]

    # ---- a cell in somebody's hands ----

    def claim(self, cell_id: int, lease_seconds: float) -> Claim | None:
        """Take a cell that is queued, or whose holder has fallen silent; None when there is nothing to do."""
        holder = secrets.token_hex(8)
        row = self._db.one(
            f"""
            UPDATE cells c SET status = 'running', holder = %s, tries = tries + 1, updated_at = now(),
                lease_until = now() + make_interval(secs => %s)
            FROM runs r WHERE c.id = %s AND r.id = c.run_id AND r.status = 'running' AND {_DUE}
            RETURNING c.*
            """,  # noqa: S608  # a constant of this module
            holder, lease_seconds, cell_id,
        )  # fmt: skip
        if row is None:
            return None
        return Claim(row["id"], row["run_id"], _key(row), holder, row["tries"], row["session_id"])

    def keep(self, claim: Claim, lease_seconds: float) -> bool:
        """The heartbeat; False when the cell is no longer the caller's: cancelled, or taken by another."""
        return bool(
            self._db.run(
                """
                UPDATE cells SET lease_until = now() + make_interval(secs => %s)
                WHERE id = %s AND holder = %s AND status = 'running'
                """,
                lease_seconds, claim.cell_id, claim.holder,
            )
        )  # fmt: skip

    def attach(self, claim: Claim, session_id: str | None) -> bool:
        """Note the session that the cell's interview is held in."""
        return bool(
            self._db.run(
                "UPDATE cells SET session_id = %s WHERE id = %s AND holder = %s AND status = 'running'",
                session_id, claim.cell_id, claim.holder,
            )
        )  # fmt: skip

    def give_back(self, claim: Claim) -> None:
        """Let somebody else try, as after a failure that is not the cell's own; so it is not counted as a try, of which
        too many would mean that the cell ends its workers."""
        self._db.run(
            """
            UPDATE cells SET status = 'queued', sent_at = NULL, holder = NULL, lease_until = NULL, updated_at = now(),
                tries = greatest(tries - 1, 0)
            WHERE id = %s AND holder = %s AND status = 'running'
            """,
            claim.cell_id, claim.holder,
        )  # fmt: skip

    def finish(
        self, claim: Claim, figures: Mapping[str, Any] | None, *, error: str | None = None
    ) -> Literal["entered", "last", "lost"]:
        """Enter what came out, once; with an error the cell failed. `last`: the run's tables are to be made now.

        Finishers of one run take turns, so that of the last two, one sees that it is the last.
        """
        with self._db.transaction() as connection:
            _lock(connection, claim.run_id)
            entered = connection.execute(
                """
                UPDATE cells SET status = %s, figures = %s, error = %s, holder = NULL, lease_until = NULL,
                    updated_at = now()
                WHERE id = %s AND holder = %s AND status = 'running'
                """,
                (
                    "done" if error is None else "failed",
                    Jsonb(dict(figures)) if figures is not None else None,
                    error,
                    claim.cell_id,
                    claim.holder,
                ),
            ).rowcount
            if not entered:
                return "lost"
            if _has_open_cells(connection, claim.run_id):
                return "entered"
            connection.execute(
                "UPDATE runs SET status = 'aggregating', updated_at = now() WHERE id = %s AND status = 'running'",
                (claim.run_id,),
            )
            return "last"

    # ---- the tables of a run ----

    @contextmanager
    def aggregating(self, run_id: str) -> Iterator[Run | None]:
        """Be the one who makes a run's tables; None when somebody else is, or nobody needs to."""
        with borrowed(self._db.locks) as connection:
            key = f"aggregate:{run_id}"
            row = connection.execute("SELECT pg_try_advisory_lock(hashtextextended(%s, 0)) AS taken", (key,)).fetchone()
            if row is None or not row["taken"]:
                yield None
                return
            try:
                yield self.to_aggregate(run_id)
            finally:
                connection.execute("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", (key,))

    def enter_aggregate(self, run: Run, aggregate: Mapping[str, Any]) -> bool:
        """Enter the tables of a run as `aggregating` gave it. False where it was taken up again meanwhile: they are of
        cells as they were before, and to be made again once the run's last cell has ended."""
        return bool(
            self._db.run(
                """
                UPDATE runs SET status = 'done', aggregate = %s, finished_at = now(), updated_at = now()
                WHERE id = %s AND status = 'aggregating' AND updated_at = %s
                """,
                Jsonb(dict(aggregate)), run.id, run.updated_at,
            )
        )  # fmt: skip

    def to_aggregate(self, run_id: str) -> Run | None:
        """The run, if its cells have all ended and its tables are to be made."""
        found = self._db.one("SELECT * FROM runs WHERE id = %s AND status = 'aggregating'", run_id)
        return Run(**found) if found else None

    def _sealed(self, run_id: str, patient: str, body: bytes | None) -> bytes | None:
        return None if body is None else self._db.vault.seal(body, _aad(run_id, patient))


def _lock(connection: Connection, run_id: str) -> None:
    connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (f"run:{run_id}",))


def _has_open_cells(connection: Connection, run_id: str) -> bool:
    found = connection.execute(
        "SELECT FROM cells WHERE run_id = %s AND status IN ('queued', 'running') LIMIT 1", (run_id,)
    )
    return found.fetchone() is not None


def _key(row: Row) -> CellKey:
    return CellKey(row["patient"], row["model"], row["mode"], row["repeat"])


def _cell(row: Row) -> Cell:
    kept = ("id", "run_id", "status", "tries", "session_id", "figures", "error")
    return Cell(key=_key(row), **{name: row[name] for name in kept})


def _aad(run_id: str, patient: str) -> str:
    return f"run:{run_id}:{patient}"
