"""What a screen shows of a session, read from its checkpoint."""

from __future__ import annotations

from dataclasses import dataclass

from graph.state import AgentRecord, InterviewState, Line, RiskRecord, ScoreRecord
from instruments.profile import PatientProfile, SessionStatus
from instruments.tools import DiagnosticMode


@dataclass(frozen=True)
class View:
    session_id: str
    profile: PatientProfile
    turn: int
    item: int
    lines: tuple[Line, ...]
    records: dict[int, ScoreRecord]
    risks: dict[int, RiskRecord]
    wordings: dict[int, AgentRecord]
    paused: bool
    mode: DiagnosticMode

    @property
    def open(self) -> bool:
        return self.profile.session_status is SessionStatus.ACTIVE

    @property
    def items_completed(self) -> int:
        return len(self.profile.question_state.completed_items)


def view_of(state: InterviewState) -> View:
    transcript = tuple(line.transcribed() for line in state.lines)
    return View(
        session_id=state.setup.session_id,
        profile=state.profile.model_copy(update={"transcript": transcript}),
        turn=state.cursor.turn,
        item=state.cursor.item,
        lines=tuple(state.lines),
        records=state.records,
        risks=state.risks,
        wordings=state.wordings,
        paused=state.cursor.paused,
        mode=state.setup.mode,
    )
