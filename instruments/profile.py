"""PatientProfile: what an interview yields. snake_case inside, camelCase at the JSON edge by alias."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer
from pydantic.alias_generators import to_camel

from instruments.level1 import Level1, Score, item_id, level1

Ambiguity = Annotated[int, Field(ge=1, le=10)]
Confidence = Annotated[float, Field(ge=0, le=1)]
Timestamp = Annotated[datetime, PlainSerializer(lambda t: t.isoformat(timespec="seconds"), when_used="json")]
Role = Literal["patient", "interviewer"]

UNDETERMINED_FROM = 8
"""From this ambiguity on, a score is a best fit that must not be read as a finding."""


class SessionStatus(StrEnum):
    ACTIVE = "active"
    COMPLETED = "completed"
    TERMINATED = "terminated_for_safety"


class Wire(BaseModel):
    """Base of every type that crosses the JSON edge."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)

    def to_json_dict(self) -> dict[str, Any]:
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


class TranscriptLine(Wire):
    role: Role
    text: str
    timestamp: Timestamp | None = None
    item_id: str | None = None
    """The item that the line asks or answers."""


class ItemResponse(Wire):
    item_id: str
    score: Score
    ambiguity: Ambiguity
    evidence_quotes: tuple[str, ...] = ()
    confidence: Confidence | None = None

    @property
    def undetermined(self) -> bool:
        return self.ambiguity >= UNDETERMINED_FROM


class DomainSummary(Wire):
    domain: str
    severity_aggregate: int
    notable_symptoms: tuple[str, ...] = ()


class RiskFlags(Wire):
    suicidality_mentioned: bool = False
    self_harm_ideation: bool = False
    violence_risk: bool = False
    substance_abuse_signal: bool = False

    def __or__(self, other: RiskFlags) -> RiskFlags:
        """Flags only ever add up; nothing clears one."""
        mine, theirs = self.model_dump(), other.model_dump()
        return RiskFlags(**{name: mine[name] or theirs[name] for name in mine})


class QuestionState(Wire):
    pending_items: tuple[str, ...] = tuple(item_id(n) for n in range(1, 24))
    completed_items: tuple[str, ...] = ()
    follow_ups_needed: tuple[str, ...] = ()


class SessionMeta(Wire):
    session_id: str
    model_version: str
    prompt_version: str
    synthetic_persona_id: str | None = None


class PatientProfile(Wire):
    session_status: SessionStatus = SessionStatus.ACTIVE
    completed_at: Timestamp | None = None
    transcript: tuple[TranscriptLine, ...] = ()
    item_responses: tuple[ItemResponse, ...] = ()
    symptom_summary: tuple[DomainSummary, ...] = ()
    risk_flags: RiskFlags = RiskFlags()
    question_state: QuestionState = QuestionState()
    session_meta: SessionMeta

    def response(self, identifier: str) -> ItemResponse | None:
        return next((r for r in self.item_responses if r.item_id == identifier), None)

    @property
    def undetermined_domains(self) -> tuple[str, ...]:
        """Domains whose aggregate rests on an item that is not determined, so that it must be shown as such."""
        unclear = {r.item_id for r in self.item_responses if r.undetermined}
        return tuple(d.name for d in level1().domains if any(item.id in unclear for item in d.items))

    def with_follow_up_needed(self, *identifiers: str) -> PatientProfile:
        """Mark items to be clarified in person."""
        needed = tuple(sorted({*self.question_state.follow_ups_needed, *identifiers}))
        return self.model_copy(
            update={"question_state": self.question_state.model_copy(update={"follow_ups_needed": needed})}
        )

    def with_response(self, response: ItemResponse, *, needs_follow_up: bool, settled: bool) -> PatientProfile:
        """Record or replace an item's response; `settled` moves the item from pending to completed."""
        others = [r for r in self.item_responses if r.item_id != response.item_id]
        responses = tuple(sorted([*others, response], key=lambda r: r.item_id))
        state = self.question_state
        needed = _with(state.follow_ups_needed, response.item_id, needs_follow_up)
        if settled:
            state = QuestionState(
                pending_items=_with(state.pending_items, response.item_id, False),
                completed_items=_with(state.completed_items, response.item_id, True),
                follow_ups_needed=needed,
            )
        else:
            state = state.model_copy(update={"follow_ups_needed": needed})
        return self.model_copy(
            update={
                "item_responses": responses,
                "question_state": state,
                "symptom_summary": summarise(responses),
            }
        )


def _with(items: tuple[str, ...], identifier: str, present: bool) -> tuple[str, ...]:
    rest = [i for i in items if i != identifier]
    return tuple(sorted([*rest, identifier]) if present else rest)


def summarise(responses: Iterable[ItemResponse], measure: Level1 | None = None) -> tuple[DomainSummary, ...]:
    """Domain by domain the highest item score, the form's own rule: never a mean and never a total."""
    by_id = {r.item_id: r for r in responses}
    summary = []
    for domain in (measure or level1()).domains:
        answered = [(item, by_id[item.id]) for item in domain.items if item.id in by_id]
        if answered:
            notable = tuple(item.text.rstrip("?") for item, r in answered if r.score >= domain.threshold)
            aggregate = max(r.score for _, r in answered)
            summary.append(DomainSummary(domain=domain.name, severity_aggregate=aggregate, notable_symptoms=notable))
    return tuple(summary)
