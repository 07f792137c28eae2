"""Blind votes on a run's columns, overrides, and their history."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import get_args

from benchmark.comparison.blind import blinded, drawn
from benchmark.comparison.figures import agreement
from benchmark.comparison.replay import Case
from benchmark.comparison.types import (
    Ballot,
    BlindOutput,
    Column,
    HistoryEntry,
    Override,
    PairTally,
    Reveal,
    Vote,
)
from benchmark.snapshot import SnapshotDesk
from errors import InputError
from instruments.profile import Wire
from storage.ballots import BallotRow, Ballots, Choice, OverrideRow, VoteRow
from storage.comparisons import STOPPED, ComparisonRun, Comparisons

CHOICES: tuple[Choice, ...] = get_args(Choice)
_COUNTED = {"tie": "ties", "both_bad": "both_bad"}


class _Preference(Wire):
    """What is sealed of an override."""

    model: str | None = None
    impression: str | None = None
    reason: str


@dataclass(frozen=True)
class BallotDesk:
    runs: Comparisons
    ballots: Ballots
    snapshots: SnapshotDesk

    def columns(self, run_id: str, viewer: str | None = None) -> tuple[Column, ...]:
        """Those that are there by now, the driver's first; refused once the session was stopped.

        A named viewer who holds a ballot of this run gets none before they have voted on it, and a vote that they
        give after having seen them is not a blind one.
        """
        run = self._shown_run(run_id)
        if viewer is not None:
            self.refuse_ballot_holder(run_id, viewer)
        found = {model: Column.model_validate_json(body) for model, body in self.runs.columns(run).items()}
        if viewer is not None and found:
            self.ballots.open(run_id, _name(viewer))
        return tuple(found[model] for model in run.models if model in found)

    def refuse_ballot_holder(self, run_id: str, viewer: str) -> None:
        """Who holds a ballot votes on it before they see anything that tells whose outputs they are."""
        self._shown_run(run_id)
        if self._uncast(run_id, _name(viewer)):
            raise InputError("there is a ballot of this comparison to vote on first: its figures come after that.")

    # ---- voting ----

    def ballot(self, run_id: str, voter: str) -> Ballot:
        """The voter's open ballot, else one on a pair that they have not had: two reports, and not whose."""
        voter = _name(voter)
        self._shown_run(run_id)
        if not self._uncast(run_id, voter):
            left, right, seed = self._next_pair(run_id, voter)
            self.ballots.hand_out(run_id, voter, left, right, seed)
        return self._shown(self._uncast(run_id, voter)[0])

    def open_ballot(self, run_id: str, voter: str) -> Ballot | None:
        """The ballot that the voter holds and has not voted on; none is handed out."""
        held = self._uncast(run_id, _name(voter))
        return self._shown(held[0]) if held else None

    def has_seen(self, run_id: str, viewer: str) -> bool:
        """Whether the viewer knows which model is which, so that their vote would not be blind."""
        return self.ballots.is_open_to(run_id, _name(viewer))

    def can_vote(self, run_id: str, voter: str) -> bool:
        """Whether there is a ballot for the voter: one they hold, or a pair that they have not had."""
        if self.runs.get(run_id).stopped or self.runs.get(run_id).ended_at is None:
            return False
        return bool(self._uncast(run_id, _name(voter)) or self._pairs_left(run_id, _name(voter)))

    def vote(self, ballot_id: str, choice: str, by: str) -> Vote:
        """The first vote on a ballot counts; a later one is kept beside it."""
        if choice not in CHOICES:
            raise InputError(f"a vote is one of {', '.join(CHOICES)}, not {choice!r}.")
        ballot = self.ballots.get(ballot_id)
        if _name(by) != ballot.voter:
            raise InputError("this ballot was handed out to somebody else.")
        return _vote(self.ballots.cast(ballot, choice, ballot.voter))

    def reveal(self, ballot_id: str, by: str) -> Reveal:
        """Which was which, with the pair's figures, once the ballot was cast. Later votes on this run are not blind."""
        ballot, votes = self.ballots.get(ballot_id), self.ballots.votes_on(ballot_id)
        if not votes:
            raise InputError("this ballot is to be voted on first: whose outputs they are comes after that.")
        answers = {column.model: column.diagnosis for column in self.columns(ballot.run_id) if column.diagnosis}
        self.ballots.open(ballot.run_id, _name(by))
        left, right = ballot.left_model, ballot.right_model
        figures = agreement(left, answers[left].diagnoses, right, answers[right].diagnoses)
        return Reveal(ballot_id=ballot_id, choice=votes[0].choice, left=left, right=right, agreement=figures)

    def tally(self, session_id: str) -> tuple[PairTally, ...]:
        """Votes on a session's comparisons by pair of models. Of a stopped session there are none to be had."""
        for run in self.runs.of_session(session_id):
            self._shown_run(run.id)
        return tallied(self.ballots.votes_of_session(session_id))

    # ---- overriding ----

    def override(
        self, run_id: str, *, reason: str, by: str, model: str | None = None, impression: str | None = None
    ) -> Override:
        """A clinician prefers this column, or this impression that may be in none. An earlier override is kept."""
        run = self.runs.get(run_id)
        if not reason.strip():
            raise InputError("an override needs a reason.")
        if model is None and not (impression or "").strip():
            raise InputError("an override names the column or the impression that is preferred.")
        if model is not None and model not in run.models:
            raise InputError(f"{model!r} is not in this comparison: choose one of {', '.join(run.models)}.")
        named = impression.strip() if impression and impression.strip() else None
        preference = _Preference(model=model, impression=named, reason=reason.strip())
        return _override(self.ballots.override(run_id, preference.model_dump_json().encode(), _name(by)))

    def overrides(self, run_id: str) -> tuple[Override, ...]:
        """Oldest first; the last one stands."""
        return tuple(_override(row) for row in self.ballots.overrides(self._shown_run(run_id).id))

    def history(self, run_id: str, viewer: str | None = None) -> tuple[HistoryEntry, ...]:
        """Every vote and override of a run, oldest first. It says whose outputs were voted on: see `columns` for what
        a viewer's name does."""
        self._shown_run(run_id)
        if viewer is not None:
            self.refuse_ballot_holder(run_id, viewer)
        votes = [_entry(row) for row in self.ballots.votes_of_run(run_id)]
        overrides = [
            HistoryEntry(kind="override", run_id=run_id, by=one.by, at=one.at, override=one)
            for one in self.overrides(run_id)
        ]
        if viewer is not None and (votes or overrides):
            self.ballots.open(run_id, _name(viewer))
        return tuple(sorted([*votes, *overrides], key=lambda entry: entry.at))

    def _shown_run(self, run_id: str) -> ComparisonRun:
        """Refused once its session was stopped, also by a stop that still waits on disk."""
        run = self.runs.get(run_id)
        if run.stopped:
            raise InputError(STOPPED)
        self.snapshots.refuse_unfinished(run.session_id)
        return run

    def _uncast(self, run_id: str, voter: str) -> list[BallotRow]:
        return [row for row in self.ballots.of_voter(run_id, voter) if not self.ballots.votes_on(row.id)]

    def _next_pair(self, run_id: str, voter: str) -> tuple[str, str, int]:
        answered = [column.model for column in self.columns(run_id) if column.diagnosis]
        if self.runs.get(run_id).ended_at is None:
            raise InputError("this comparison is not finished: it can be voted on when it is.")
        if len(answered) < 2:
            raise InputError("fewer than two models gave an answer: there is nothing to choose from.")
        pairs = self._pairs_left(run_id, voter)
        if not pairs:
            raise InputError("you have voted on every pair of this comparison.")
        seed = secrets.randbits(62)
        return *drawn(pairs, seed), seed

    def _pairs_left(self, run_id: str, voter: str) -> list[tuple[str, str]]:
        answered = [column.model for column in self.columns(run_id) if column.diagnosis]
        had = {frozenset((row.left_model, row.right_model)) for row in self.ballots.of_voter(run_id, voter)}
        return [pair for pair in combinations(answered, 2) if frozenset(pair) not in had]

    def _shown(self, row: BallotRow) -> Ballot:
        run = self.runs.get(row.run_id)
        case = Case.of(self.snapshots.get(run.snapshot_sha256))
        answers = {column.model: column.diagnosis for column in self.columns(row.run_id) if column.diagnosis}
        left, right = (
            BlindOutput(sections=blinded(case, answers[model], run.models))
            for model in (row.left_model, row.right_model)
        )
        votes = self.ballots.votes_on(row.id)
        return Ballot(id=row.id, left=left, right=right, choice=votes[0].choice if votes else None)


def tallied(votes: Iterable[VoteRow]) -> tuple[PairTally, ...]:
    """By pair, its models in alphabetical order. Only a ballot's first vote counts, and only if it was blind."""
    found: dict[tuple[str, str], dict[str, int]] = {}
    for vote in votes:
        first, second = sorted((vote.left_model, vote.right_model))
        counts = found.setdefault((first, second), {})
        if vote.number > 1:
            continue
        chosen = {"left": vote.left_model, "right": vote.right_model}.get(vote.choice)
        field = _COUNTED.get(vote.choice) or ("first_wins" if chosen == first else "second_wins")
        field = field if vote.blind else "not_blind"
        counts[field] = counts.get(field, 0) + 1
    return tuple(PairTally(first=a, second=b, **counts) for (a, b), counts in sorted(found.items()))


def _name(given: str) -> str:
    if not given.strip():
        raise InputError("a vote and an override need the name of whoever gives them.")
    return given.strip()


def _vote(row: VoteRow) -> Vote:
    return Vote(ballot_id=row.ballot_id, choice=row.choice, blind=row.blind, by=row.voted_by, at=row.voted_at)


def _entry(row: VoteRow) -> HistoryEntry:
    return HistoryEntry(
        kind="vote",
        run_id=row.run_id,
        by=row.voted_by,
        at=row.voted_at,
        vote=_vote(row),
        left=row.left_model,
        right=row.right_model,
    )


def _override(row: OverrideRow) -> Override:
    said = _Preference.model_validate_json(row.body)
    return Override(**said.model_dump(), by=row.given_by, at=row.given_at)
