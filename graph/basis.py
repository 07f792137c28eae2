"""All that a revision of a report was made from, kept with it: whoever freezes it later gets the same bytes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from agents.contract import AgentResult
from agents.patient import PATIENT
from graph.corrections import CorrectedScore
from graph.provenance import Provenance
from graph.state import Line, LineKind, ScoreRecord
from graph.view import View
from instruments.level1 import Score, item_id, item_number
from instruments.profile import ItemResponse, Role, Timestamp, TranscriptLine, Wire
from instruments.tools import Passage
from storage.audit import Audit
from storage.checkpoints import written_at
from storage.database import Database
from storage.model_calls import ModelCall, ModelCalls
from storage.sessions import Session, Sessions
from storage.turns import Turn, Turns

INTERVIEW_AGENTS = ("interviewer", "scorer", "risk")
"""Whose calls hold an interview. A persona's, where a model plays it, are kept too and are nobody's cost."""


class FrozenLine(Wire):
    turn: int
    role: Role
    kind: LineKind
    item_id: str | None = None
    text: str
    at: Timestamp

    def transcribed(self) -> TranscriptLine:
        return TranscriptLine(role=self.role, text=self.text, timestamp=self.at, item_id=self.item_id)


class FrozenResponse(ItemResponse):
    """As it was scored, whatever was corrected later. `second_score` is the rules' own, where a model scored."""

    engine: Literal["llm", "rules"]
    model: str | None = None
    tries: int = 0
    unanswered: bool = False
    second_score: Score | None = None

    def plain(self) -> ItemResponse:
        return ItemResponse.model_validate({name: getattr(self, name) for name in ItemResponse.model_fields})


class FrozenCall(Wire):
    """Unknown tokens and costs are left out: they are not zero."""

    agent: str
    turn: int
    attempt: int
    model: str
    outcome: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = None
    seconds: float
    prompt_version: str
    prompt_sha256: str


class TurnSeconds(Wire):
    """From the message's entry in the ledger to the last checkpoint before the next message."""

    turn: int
    seconds: float


class Basis(Wire):
    """`passages` are as the diagnostician saw them, `checked_turns` those with a risk check on the audit."""

    lines: tuple[FrozenLine, ...]
    responses: tuple[FrozenResponse, ...]
    corrections: tuple[CorrectedScore, ...]
    passages: tuple[Passage, ...]
    calls: tuple[FrozenCall, ...]
    turn_seconds: tuple[TurnSeconds, ...]
    checked_turns: tuple[int, ...]
    provenance: Provenance


@dataclass(frozen=True)
class Made:
    """What writing a revision brought forth, beside the view that it was written from."""

    view: View
    corrections: tuple[CorrectedScore, ...]
    passages: tuple[Passage, ...]
    result: AgentResult[Any]


class BasisDesk:
    def __init__(self, database: Database, provenance: Provenance) -> None:
        self._db = database
        self._sessions = Sessions(database)
        self._turns = Turns(database)
        self._audit = Audit(database)
        self._calls = ModelCalls(database)
        self._provenance = provenance

    def of(self, made: Made) -> Basis:
        view = made.view
        turns = self._turns.of_session(view.session_id)
        session = self._sessions.get(view.session_id)
        return Basis(
            lines=tuple(map(_frozen_line, view.lines)),
            responses=tuple(
                _frozen_response(r, view.records[item_number(r.item_id)]) for r in view.profile.item_responses
            ),
            corrections=made.corrections,
            passages=made.passages,
            calls=tuple(self._interview_calls(view.session_id)) + tuple(_diagnostician_calls(made)),
            turn_seconds=tuple(_seconds(turns, written_at(self._db, view.session_id))),
            checked_turns=tuple(sorted(self._checked(session, turns))),
            provenance=self._provenance if session.persona else self._provenance.without_patient(),
        )

    def _interview_calls(self, session_id: str) -> list[FrozenCall]:
        return [_frozen_call(call) for call in self._calls.of_session(session_id, (*INTERVIEW_AGENTS, PATIENT))]

    def _checked(self, session: Session, turns: Sequence[Turn]) -> set[int]:
        """Turns that a fork has of its parent were checked there."""
        own = {e["turn"] for e in self._audit.entries(session.id) if e.get("kind") == "check" and not e.get("refused")}
        found = own & {turn.turn for turn in turns}
        inherited = [turn for turn in turns if turn.received_at < session.created_at]
        if session.parent_id and inherited:
            found |= self._checked(self._sessions.get(session.parent_id), inherited)
        return found


def _frozen_line(line: Line) -> FrozenLine:
    about = item_id(line.item) if line.item else None
    return FrozenLine(turn=line.turn, role=line.role, kind=line.kind, item_id=about, text=line.text, at=line.at)


def _frozen_response(response: ItemResponse, record: ScoreRecord) -> FrozenResponse:
    return FrozenResponse(
        **response.model_dump(),
        engine=record.engine,
        model=record.model,
        tries=record.tries,
        unanswered=record.unanswered,
        second_score=record.second_opinion.score if record.second_opinion else None,
    )


def _frozen_call(call: ModelCall) -> FrozenCall:
    return FrozenCall.model_validate({name: getattr(call, name) for name in FrozenCall.model_fields})


def _diagnostician_calls(made: Made) -> list[FrozenCall]:
    """Of this revision alone: what another one cost is not its price."""
    return [
        FrozenCall(
            agent="diagnostician",
            turn=made.view.turn,
            attempt=number,
            model=call.model,
            outcome=call.outcome,
            prompt_tokens=call.prompt_tokens,
            completion_tokens=call.completion_tokens,
            cost_usd=call.cost_usd,
            seconds=round(call.seconds, 6),
            prompt_version=made.result.prompt_version or "",
            prompt_sha256=made.result.prompt_sha256 or "",
        )
        for number, call in enumerate(made.result.calls, start=1)
    ]


def _seconds(turns: Sequence[Turn], checkpoints: Sequence[datetime]) -> list[TurnSeconds]:
    """A turn whose checkpoint is not there, as in a fork's copied part, has no time."""
    ends = [turn.received_at for turn in turns[1:]]
    times = []
    for number, turn in enumerate(turns):
        last = bisect_left(checkpoints, ends[number]) if number < len(ends) else len(checkpoints)
        if last and checkpoints[last - 1] >= turn.received_at:
            seconds = (checkpoints[last - 1] - turn.received_at).total_seconds()
            times.append(TurnSeconds(turn=turn.turn, seconds=round(seconds, 6)))
    return times
