"""The frozen record of one revision of a completed session's report: all that benchmark and comparison may look at.

A revision keeps what it was made from (graph/basis.py), so a snapshot taken of it at any later time has the same bytes
and the same address.
"""

from __future__ import annotations

from pydantic import PrivateAttr

from errors import InputError
from graph.basis import Basis, FrozenCall, FrozenLine, FrozenResponse, TurnSeconds
from graph.corrections import CorrectedScore, overlaid
from graph.provenance import Provenance
from graph.reporting import Report
from graph.runtime import InterviewRuntime
from instruments.profile import (
    DomainSummary,
    ItemResponse,
    QuestionState,
    RiskFlags,
    SessionMeta,
    SessionStatus,
    Timestamp,
    Wire,
)
from instruments.tools import Diagnose, Diagnosis, DiagnosisSnapshot, DiagnosticMode, Passage, ReportSection
from storage.database import Database
from storage.snapshots import UNAVAILABLE, UNFINISHED, Frozen, Snapshots, address, canonical_json

__all__ = [
    "CorrectedScore",
    "Frozen",
    "FrozenCall",
    "FrozenLine",
    "FrozenResponse",
    "Snapshot",
    "SnapshotDesk",
    "TurnSeconds",
    "snapshot_of",
]

FORMAT = 1


class Snapshot(Wire):
    """`responses` are as scored; `symptom_summary` and `question_state` as the diagnostician saw them, corrected."""

    format: int = FORMAT
    session_id: str
    session_meta: SessionMeta
    persona_id: str | None = None
    mode: DiagnosticMode
    revision: int
    completed_at: Timestamp | None = None
    lines: tuple[FrozenLine, ...]
    responses: tuple[FrozenResponse, ...]
    corrections: tuple[CorrectedScore, ...] = ()
    symptom_summary: tuple[DomainSummary, ...]
    question_state: QuestionState
    risk_flags: RiskFlags
    checked_turns: tuple[int, ...]
    passages: tuple[Passage, ...]
    sections: tuple[ReportSection, ...]
    diagnosis: Diagnosis
    engines: dict[str, str]
    calls: tuple[FrozenCall, ...]
    turn_seconds: tuple[TurnSeconds, ...]
    provenance: Provenance

    _address: str | None = PrivateAttr(None)

    @property
    def sha256(self) -> str:
        """Where it is kept; that of an older version's bytes stays, whatever this one would write in their place."""
        return self._address or address(self.to_json_dict())

    @property
    def item_responses(self) -> tuple[ItemResponse, ...]:
        """What the diagnostician saw: the original responses with the therapist's corrections over them."""
        return overlaid(tuple(response.plain() for response in self.responses), self.corrections)

    @property
    def markdown(self) -> str:
        return "\n\n".join(f"## {section.title}\n\n{section.markdown}" for section in self.sections) + "\n"

    def diagnose_call(self, mode: DiagnosticMode | None = None) -> Diagnose:
        """Just what the diagnostician was given, so that another one can be asked the same; nothing of its answer."""
        given = DiagnosisSnapshot(
            transcript=tuple(line.transcribed() for line in self.lines),
            item_responses=self.item_responses,
            symptom_summary=self.symptom_summary,
            question_state=self.question_state,
            passages=self.passages,
        )
        return Diagnose(session_id=self.session_id, snapshot=given, diagnostic_mode=mode or self.mode)


def snapshot_of(report: Report, basis: Basis) -> Snapshot:
    profile = report.profile
    return Snapshot(
        session_id=report.session_id,
        session_meta=profile.session_meta,
        persona_id=profile.session_meta.synthetic_persona_id,
        mode=report.mode,
        revision=report.revision,
        completed_at=profile.completed_at,
        lines=basis.lines,
        responses=basis.responses,
        corrections=basis.corrections,
        symptom_summary=profile.symptom_summary,
        question_state=profile.question_state,
        risk_flags=profile.risk_flags,
        checked_turns=basis.checked_turns,
        passages=basis.passages,
        sections=report.sections,
        diagnosis=report.diagnosis,
        engines=report.engines,
        calls=basis.calls,
        turn_seconds=basis.turn_seconds,
        provenance=basis.provenance,
    )


class SnapshotDesk:
    """Every way to a snapshot asks first whether the session was stopped, also by a stop that still waits on disk."""

    def __init__(self, database: Database, runtime: InterviewRuntime) -> None:
        self._store = Snapshots(database)
        self._runtime = runtime

    def freeze(self, session_id: str, revision: int | None = None) -> str:
        """The address of a revision's snapshot, the newest's if none is named; a missing report is written first."""
        self.refuse_unfinished(session_id)
        if revision is None:
            self._runtime.reports.newest(session_id)
        return self._frozen(session_id, revision)

    def get(self, sha256: str) -> Snapshot:
        self.refuse_unfinished(self._store.session_of(sha256))
        snapshot = Snapshot.model_validate(self._store.get(sha256))
        snapshot._address = sha256
        return snapshot

    def content(self, sha256: str) -> bytes:
        """The very bytes that the address is the SHA-256 of."""
        self.refuse_unfinished(self._store.session_of(sha256))
        return canonical_json(self._store.get(sha256))

    def of_session(self, session_id: str) -> list[Frozen]:
        """Oldest first; what is missing is frozen. Revisions that an older version wrote have none."""
        self.freeze(session_id)
        for session, revision in self._store.unfrozen(session_id):
            self._frozen(session, revision)
        return self._store.of_session(session_id)

    def freeze_missing(self) -> list[tuple[str, int]]:
        """Freeze what nobody has frozen yet, for the sweep: which revisions of which sessions. One that fails keeps
        nobody else's back."""
        done = []
        for session, revision in self._store.unfrozen():
            try:
                self.freeze(session, revision)
            except InputError:  # stopped or deleted meanwhile
                continue
            done.append((session, revision))
        return done

    def _frozen(self, session_id: str, revision: int | None) -> str:
        report, basis = self._runtime.reports.kept(session_id, revision)
        body = snapshot_of(report, basis).to_json_dict()
        return self._store.freeze(session_id, body, report.revision)

    def refuse_unfinished(self, session_id: str) -> None:
        status = self._runtime.view(session_id).profile.session_status
        if status is SessionStatus.TERMINATED:
            raise InputError(UNAVAILABLE)
        if status is SessionStatus.ACTIVE:
            raise InputError(UNFINISHED)
