"""What differs between two states of a conversation, and between the outcomes of two sessions. Pure data, no I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Generic, TypeVar

from graph.state import Cursor, InterviewState, Line
from instruments.profile import ItemResponse, PatientProfile, SessionStatus, TranscriptLine, Wire

T = TypeVar("T")


class Compared(Wire):
    """What is not there is told as null: in a comparison, its absence is the finding."""

    def to_json_dict(self) -> dict[str, Any]:
        return self.model_dump(mode="json", by_alias=True)


class Change(Wire, Generic[T]):
    before: T
    after: T


def shown(score: int, *, undetermined: bool) -> str:
    """A best fit that nobody gave is never shown as a bare number."""
    return f"not determined (best fit {score})" if undetermined else str(score)


class Scored(Wire):
    """An item's score as it is compared: quotes and confidence do not make a difference."""

    score: int
    ambiguity: int
    undetermined: bool

    def __str__(self) -> str:
        return f"{shown(self.score, undetermined=self.undetermined)}, ambiguity {self.ambiguity}"


class Highest(Wire):
    """A domain's highest score; undetermined as soon as one of its items is."""

    score: int
    undetermined: bool

    def __str__(self) -> str:
        return shown(self.score, undetermined=self.undetermined)


class Position(Wire):
    turn: int
    item: int
    awaiting: str

    def __str__(self) -> str:
        return f"turn {self.turn}, item {self.item}, awaiting {self.awaiting.replace('_', '-')}"


class SaidLine(TranscriptLine):
    """A line with its place: the same words said again elsewhere are another line."""

    turn: int
    kind: str


class StateDiff(Compared):
    """Between two checkpoints. Scores are by item id; lines are whole ones, since none is ever edited."""

    scores: dict[str, Change[Scored | None]]
    cursor: Change[Position] | None
    flags_set: tuple[str, ...]
    flags_cleared: tuple[str, ...]
    lines_added: tuple[SaidLine, ...]
    lines_removed: tuple[SaidLine, ...]
    status: Change[SessionStatus] | None

    def readable(self) -> list[str]:
        told = [f"{item}: {_or_none(c.before)} → {_or_none(c.after)}" for item, c in self.scores.items()]
        if self.cursor:
            told.append(f"cursor: {self.cursor.before} → {self.cursor.after}")
        told += [f"flag set: {name}" for name in self.flags_set]
        told += [f"flag cleared: {name}" for name in self.flags_cleared]
        if self.status:
            told.append(f"status: {self.status.before.value} → {self.status.after.value}")
        told += [f"+ {_spoken(line)}" for line in self.lines_added]
        told += [f"- {_spoken(line)}" for line in self.lines_removed]
        return told


class Outcome(Wire):
    """What a session has come to, as far as two sessions can be compared by it."""

    session_id: str
    status: SessionStatus
    scores: dict[str, Scored]
    domains: dict[str, Highest]
    flags: tuple[str, ...]

    @classmethod
    def of(cls, profile: PatientProfile) -> Outcome:
        return cls(
            session_id=profile.session_meta.session_id,
            status=profile.session_status,
            scores=_scores(profile),
            domains=_domains(profile),
            flags=_flags(profile),
        )


class Comparison(Compared):
    """Two outcomes and where they differ; None stands for an item or domain that one of them did not get to."""

    original: Outcome
    fork: Outcome
    scores: dict[str, Change[Scored | None]]
    domains: dict[str, Change[Highest | None]]
    flags_gained: tuple[str, ...]
    flags_lost: tuple[str, ...]
    status: Change[SessionStatus] | None

    @classmethod
    def between(cls, original: Outcome, fork: Outcome) -> Comparison:
        return cls(
            original=original,
            fork=fork,
            scores=_changes(original.scores, fork.scores),
            domains=_changes(original.domains, fork.domains),
            flags_gained=_only_in(fork.flags, original.flags),
            flags_lost=_only_in(original.flags, fork.flags),
            status=_change(original.status, fork.status),
        )


def diff_states(before: InterviewState, after: InterviewState) -> StateDiff:
    old, new = before.profile, after.profile
    old_lines, new_lines = _lines(before.lines), _lines(after.lines)
    return StateDiff(
        scores=_changes(_scores(old), _scores(new)),
        cursor=_change(_position(before.cursor), _position(after.cursor)),
        flags_set=_only_in(_flags(new), _flags(old)),
        flags_cleared=_only_in(_flags(old), _flags(new)),
        lines_added=_only_in(new_lines, old_lines),
        lines_removed=_only_in(old_lines, new_lines),
        status=_change(old.session_status, new.session_status),
    )


def _scored(response: ItemResponse) -> Scored:
    return Scored(score=response.score, ambiguity=response.ambiguity, undetermined=response.undetermined)


def _scores(profile: PatientProfile) -> dict[str, Scored]:
    return {response.item_id: _scored(response) for response in profile.item_responses}


def _domains(profile: PatientProfile) -> dict[str, Highest]:
    unclear = profile.undetermined_domains
    return {
        domain.domain: Highest(score=domain.severity_aggregate, undetermined=domain.domain in unclear)
        for domain in profile.symptom_summary
    }


def _flags(profile: PatientProfile) -> tuple[str, ...]:
    return tuple(name for name, is_set in profile.risk_flags.to_json_dict().items() if is_set)


def _lines(lines: Iterable[Line]) -> tuple[SaidLine, ...]:
    return tuple(
        SaidLine(role=line.role, text=line.text, timestamp=line.at, turn=line.turn, kind=line.kind) for line in lines
    )


def _position(cursor: Cursor) -> Position:
    return Position(turn=cursor.turn, item=cursor.item, awaiting=cursor.awaiting)


def _change(before: T, after: T) -> Change[T] | None:
    return Change(before=before, after=after) if before != after else None


def _changes(before: Mapping[str, T], after: Mapping[str, T]) -> dict[str, Change[T | None]]:
    """In the order of what there was before, then what is new."""
    names = [*before, *(name for name in after if name not in before)]
    pairs = {name: (before.get(name), after.get(name)) for name in names}
    return {name: Change(before=old, after=new) for name, (old, new) in pairs.items() if old != new}


def _only_in(these: tuple[T, ...], those: tuple[T, ...]) -> tuple[T, ...]:
    return tuple(one for one in these if one not in those)


def _or_none(scored: Scored | None) -> str:
    return str(scored) if scored else "none"


def _spoken(line: SaidLine) -> str:
    return f"turn {line.turn}, {line.role} ({line.kind.replace('_', ' ')}): {line.text}"
