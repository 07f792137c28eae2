"""What people say of a comparison: blind votes on pairs of columns, and overrides. Nothing said is ever replaced."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from errors import NotFoundError
from storage.comparisons import Comparisons
from storage.database import Connection, Database, Row

Choice = Literal["left", "right", "tie", "both_bad"]


@dataclass(frozen=True)
class BallotRow:
    id: str
    run_id: str
    voter: str
    left_model: str
    right_model: str
    seed: int
    made_at: datetime


@dataclass(frozen=True)
class VoteRow:
    """`number` counts the votes on one ballot: the first one counts, later ones are kept."""

    ballot_id: str
    number: int
    choice: Choice
    blind: bool
    voted_by: str
    voted_at: datetime
    run_id: str
    left_model: str
    right_model: str


@dataclass(frozen=True)
class OverrideRow:
    run_id: str
    number: int
    body: bytes
    given_by: str
    given_at: datetime

    def __repr__(self) -> str:
        return f"OverrideRow(run_id={self.run_id!r}, number={self.number})"  # what it says stays out of logs


class Ballots:
    def __init__(self, database: Database) -> None:
        self._db = database
        self._runs = Comparisons(database)

    def of_voter(self, run_id: str, voter: str) -> list[BallotRow]:
        rows = self._db.all(
            "SELECT * FROM comparison_ballots WHERE run_id = %s AND voter = %s ORDER BY made_at, id", run_id, voter
        )
        return [BallotRow(**row) for row in rows]

    def get(self, ballot_id: str) -> BallotRow:
        row = self._db.one("SELECT * FROM comparison_ballots WHERE id = %s", ballot_id)
        if row is None:
            raise NotFoundError(f"there is no ballot {ballot_id!r}")
        return BallotRow(**row)

    def hand_out(self, run_id: str, voter: str, left: str, right: str, seed: int) -> None:
        """One ballot a voter and pair: a second one, in whichever order, is not made."""
        with self._runs.adding_to(run_id) as connection:
            connection.execute(
                """
                INSERT INTO comparison_ballots (id, run_id, voter, left_model, right_model, seed)
                VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING
                """,
                (uuid.uuid4().hex, run_id, voter, left, right, seed),
            )

    def cast(self, ballot: BallotRow, choice: Choice, by: str) -> VoteRow:
        """A vote is blind when it is the ballot's first, by somebody who has not seen which model is which."""
        with self._runs.adding_to(ballot.run_id) as connection:
            number = _next(
                connection, "SELECT max(number) AS last FROM comparison_votes WHERE ballot_id = %s", ballot.id
            )
            seen = connection.execute(
                "SELECT FROM comparison_openings WHERE run_id = %s AND opened_by = %s", (ballot.run_id, by)
            ).fetchone()
            connection.execute(
                "INSERT INTO comparison_votes (ballot_id, number, choice, blind, voted_by) VALUES (%s, %s, %s, %s, %s)",
                (ballot.id, number, choice, number == 1 and seen is None, by),
            )
        return self.votes_on(ballot.id)[-1]

    def votes_on(self, ballot_id: str) -> list[VoteRow]:
        return self._votes("v.ballot_id = %s", ballot_id)

    def votes_of_run(self, run_id: str) -> list[VoteRow]:
        return self._votes("b.run_id = %s", run_id)

    def votes_of_session(self, session_id: str) -> list[VoteRow]:
        return self._votes("b.run_id IN (SELECT id FROM comparison_runs WHERE session_id = %s)", session_id)

    def _votes(self, condition: str, *values: str) -> list[VoteRow]:
        rows = self._db.all(
            f"""
            SELECT v.*, b.run_id, b.left_model, b.right_model
            FROM comparison_votes v JOIN comparison_ballots b ON b.id = ballot_id
            WHERE {condition} ORDER BY voted_at, ballot_id, number
            """,  # noqa: S608  # conditions are constants of this module
            *values,
        )
        return [VoteRow(**row) for row in rows]

    def open(self, run_id: str, by: str) -> None:
        """Somebody sees which model is which."""
        self._db.run(
            "INSERT INTO comparison_openings (run_id, opened_by) VALUES (%s, %s) ON CONFLICT DO NOTHING", run_id, by
        )

    def is_open_to(self, run_id: str, viewer: str) -> bool:
        """Whether somebody has seen which model is which."""
        found = self._db.one("SELECT FROM comparison_openings WHERE run_id = %s AND opened_by = %s", run_id, viewer)
        return found is not None

    def override(self, run_id: str, body: bytes, by: str) -> OverrideRow:
        with self._runs.adding_to(run_id) as connection:
            number = _next(connection, "SELECT max(number) AS last FROM comparison_overrides WHERE run_id = %s", run_id)
            sealed = self._db.vault.seal(body, _aad(run_id, number))
            row = connection.execute(
                """
                INSERT INTO comparison_overrides (run_id, number, body, given_by) VALUES (%s, %s, %s, %s)
                RETURNING *
                """,
                (run_id, number, sealed, by),
            ).fetchone()
        assert row is not None  # noqa: S101  # an insert returns its row
        return self._opened(row)

    def overrides(self, run_id: str) -> list[OverrideRow]:
        rows = self._db.all("SELECT * FROM comparison_overrides WHERE run_id = %s ORDER BY number", run_id)
        return [self._opened(row) for row in rows]

    def _opened(self, row: Row) -> OverrideRow:
        return OverrideRow(**{**row, "body": self._db.vault.open(row["body"], _aad(row["run_id"], row["number"]))})


def _next(connection: Connection, statement: str, identifier: str) -> int:
    """The session's row is locked, so nobody else counts meanwhile."""
    row = connection.execute(statement.encode(), (identifier,)).fetchone()
    return (row["last"] or 0) + 1 if row else 1


def _aad(run_id: str, number: int) -> str:
    return f"{run_id}:override:{number}"
