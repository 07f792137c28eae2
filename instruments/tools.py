"""The tools' contracts: what each takes and gives, in the PRD's own names at the JSON edge.

Tools run on the server alone and are offered to no model and no patient. `getNextQuestion`, `scoreResponse` and
`storeSessionState` are in `graph/tools.py`; for the others, whoever implements one keeps to its protocol here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal, NamedTuple, Protocol

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from instruments.level1 import Score
from instruments.profile import (
    Ambiguity,
    Confidence,
    DomainSummary,
    ItemResponse,
    PatientProfile,
    QuestionState,
    RiskFlags,
    SessionStatus,
    Timestamp,
    TranscriptLine,
    Wire,
)

DiagnosticMode = Literal["screening", "categorical", "diagnostic"]
ItemId = Annotated[str, Field(pattern=r"^L1-(0[1-9]|1\d|2[0-3])$")]
SessionId = Annotated[str, Field(min_length=1)]


# ---- getNextQuestion ----


class GetNextQuestion(Wire):
    session_id: SessionId


class NextQuestion(Wire):
    """`remaining_count` counts the items that are not settled yet, this one among them."""

    item_id: ItemId
    canonical_text: str
    question_text: str
    is_follow_up: bool
    remaining_count: int = Field(ge=1, le=23)


# ---- scoreResponse ----


class ScoreResponse(Wire):
    """`transcript_context` is what was said about this item before `patient_text`, and nothing of other items."""

    session_id: SessionId
    item_id: ItemId
    patient_text: str
    transcript_context: tuple[TranscriptLine, ...] = Field(min_length=1)


class ResponseScore(Wire):
    score0to4: Annotated[Score, Field(alias="score0to4")]
    ambiguity1to10: Annotated[Ambiguity, Field(alias="ambiguity1to10")]
    evidence_quotes: tuple[str, ...] = ()
    confidence: Confidence
    risk_flags_patch: RiskFlags = RiskFlags()


# ---- storeSessionState ----


class ProfilePatch(Wire):
    """A delta of a profile. Flags are added, never cleared; an item that is `settled` is pending no more."""

    item_response: ItemResponse | None = None
    settled: bool = False
    follow_ups_needed: tuple[ItemId, ...] = ()
    risk_flags_patch: RiskFlags = RiskFlags()
    session_status: SessionStatus | None = None
    completed_at: Timestamp | None = None


class StoreSessionState(Wire):
    session_id: SessionId
    patch: ProfilePatch


# ---- retrieveDsmPassages ----


class QueryState(Wire):
    symptom_summary: tuple[DomainSummary, ...]
    candidate_diagnoses: tuple[str, ...] = ()
    salient_quotes: tuple[str, ...] = ()
    top_k: int = Field(6, ge=1, le=50)


class RetrieveDsmPassages(Wire):
    query_state: QueryState


ILLUSTRATIVE = "illustrative handbook, not DSM-5"
"""Stands behind the name of a book that is only there to show how things work."""


class PassageSource(Wire):
    book: str
    page_start: int | None = Field(None, ge=1)
    page_end: int | None = Field(None, ge=1)
    section_path: str | None = None


class Passage(Wire):
    chunk_id: str
    text: str
    source: PassageSource
    citation: str
    similarity: float

    @property
    def is_illustrative(self) -> bool:
        return ILLUSTRATIVE in self.source.book


class Passages(Wire):
    passages: tuple[Passage, ...]


# ---- diagnose ----


class DiagnosisSnapshot(Wire):
    """What the diagnostician may see; passages that were frozen with a session are used again as they were."""

    transcript: tuple[TranscriptLine, ...]
    item_responses: tuple[ItemResponse, ...]
    symptom_summary: tuple[DomainSummary, ...]
    question_state: QuestionState
    passages: tuple[Passage, ...] | None = None


class Diagnose(Wire):
    session_id: SessionId
    snapshot: DiagnosisSnapshot
    diagnostic_mode: Annotated[DiagnosticMode, Field(alias="diagnostic_mode")] = "diagnostic"


class Impression(Wire):
    """`citations` name passages that were retrieved; `quotes` are the patient's own words."""

    name: str
    confidence: Confidence
    item_ids: tuple[ItemId, ...]
    quotes: tuple[str, ...] = ()
    citations: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()


class Removed(Wire):
    """How much of an engine's evidence was not there and was taken out."""

    quotes: int = 0
    citations: int = 0
    items: int = 0
    impressions: int = 0


class Diagnosis(Wire):
    """`rag_used` is as code found it, `rag_claimed` as the model said. That and `removed` are noted by code; a model is
    not asked for them."""

    summary: str
    diagnoses: tuple[Impression, ...]
    reasoning: tuple[str, ...]
    citations: tuple[str, ...]
    limitations: tuple[str, ...]
    rag_used: bool
    rag_claimed: SkipJsonSchema[bool | None] = None
    removed: SkipJsonSchema[Removed] = Removed()


# ---- generateReport ----


class GenerateReport(Wire):
    session_id: SessionId


class ReportSection(Wire):
    """A report streams section by section, in the PRD's order."""

    title: Literal[
        "Executive Summary", "Symptom Domain Table", "Item-Level Appendix", "Provisional Impressions", "Limitations"
    ]
    markdown: str


# ---- the tools that other parts implement ----


class Diagnostician(Protocol):
    def diagnose(self, call: Diagnose) -> Diagnosis: ...


class Retriever(Protocol):
    def retrieve_dsm_passages(self, call: RetrieveDsmPassages) -> Passages: ...


class ReportWriter(Protocol):
    def generate_report(self, call: GenerateReport) -> Iterator[ReportSection]: ...


class ToolContract(NamedTuple):
    takes: type[Wire]
    gives: type[Wire]


TOOLS: dict[str, ToolContract] = {
    "getNextQuestion": ToolContract(GetNextQuestion, NextQuestion),
    "scoreResponse": ToolContract(ScoreResponse, ResponseScore),
    "diagnose": ToolContract(Diagnose, Diagnosis),
    "storeSessionState": ToolContract(StoreSessionState, PatientProfile),
    "retrieveDsmPassages": ToolContract(RetrieveDsmPassages, Passages),
    "generateReport": ToolContract(GenerateReport, ReportSection),
}
"""By the PRD's names; `generateReport` gives its sections one after the other."""
