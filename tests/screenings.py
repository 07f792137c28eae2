"""Completed screenings made of a few answers, for the tests of impressions and reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from benchmark.personas import Persona
from benchmark.simulator import SimulatedPatient
from graph.reporting import diagnosis_call
from instruments.disorders import Disorder
from instruments.level1 import Score, item_id, level1
from instruments.profile import (
    Ambiguity,
    ItemResponse,
    PatientProfile,
    RiskFlags,
    SessionMeta,
    SessionStatus,
    TranscriptLine,
)
from instruments.tools import Diagnose, DiagnosticMode, Passage, PassageSource
from rag.retrieval import citation

Answer = tuple[Score, str]
ANSWERED_AT = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
NO = "Not at all."
BOOK = "A Handbook"
LOW: dict[int, Answer] = {
    1: (4, "Nothing gives me any joy, every single day."),
    2: (4, "I’ve felt low and hopeless nearly every day since my work went wrong."),
    14: (3, "I lie awake on most nights."),
    20: (2, "Several days I wanted to see nobody."),
}
"""A low mood, told in four answers; one has a curly apostrophe, as phones type it."""


def profile_of(
    answers: Mapping[int, Answer],
    *,
    ambiguities: Mapping[int, Ambiguity] | None = None,
    flags: RiskFlags | None = None,
    persona: str | None = None,
) -> PatientProfile:
    """All 23 items answered, those that are not given with 0; what is unclear is to be clarified in person."""
    unclear = ambiguities or {}
    meta = SessionMeta(session_id="s_1_x", model_version="m", prompt_version="p", synthetic_persona_id=persona)
    profile = PatientProfile(session_meta=meta, risk_flags=flags or RiskFlags())
    lines: list[TranscriptLine] = []
    for item in level1().items:
        score, text = answers.get(item.number, (0, NO))
        lines += [_line("interviewer", f"How about {item.topic}?", item.id), _line("patient", text, item.id)]
        response = ItemResponse(
            item_id=item.id,
            score=score,
            ambiguity=unclear.get(item.number, 2),
            evidence_quotes=(text,) if score else (),
            confidence=0.9,
        )
        profile = profile.with_response(response, needs_follow_up=response.ambiguity >= 5, settled=True)
    done = {"transcript": tuple(lines), "session_status": SessionStatus.COMPLETED, "completed_at": ANSWERED_AT}
    return profile.model_copy(update=done)


def call_of(profile: PatientProfile, mode: DiagnosticMode = "diagnostic", passages: Iterable[Passage] = ()) -> Diagnose:
    call = diagnosis_call(profile, mode)
    return call.model_copy(update={"snapshot": call.snapshot.model_copy(update={"passages": tuple(passages)})})


def saying(profile: PatientProfile, item: int, text: str) -> PatientProfile:
    """The same scores, but this is what the patient said to the item; what was quoted before is still in it."""
    lines = tuple(
        line.model_copy(update={"text": text}) if line.role == "patient" and line.item_id == item_id(item) else line
        for line in profile.transcript
    )
    return profile.model_copy(update={"transcript": lines})


def of_persona(persona: Persona) -> PatientProfile:
    """A persona's gold scores with what it says."""
    patient = SimulatedPatient(persona, 0)
    said = {item: patient.answer(item, is_follow_up=False, question="") for item in persona.scores}
    return profile_of({item: (score, said[item]) for item, score in persona.scores.items()})


def passage(section: str, text: str = "A. Something lasts for weeks.", *, page: int = 12, book: str = BOOK) -> Passage:
    return Passage(
        chunk_id=f"{page:05d}-{section[-12:]}",
        text=text,
        source=PassageSource(book=book, page_start=page, page_end=page, section_path=section),
        citation=citation(book, page, page, section),
        similarity=0.5,
    )


def criteria_of(disorder: Disorder, page: int = 12) -> Passage:
    return passage(f"{disorder.category} > {disorder.name} > Diagnostic Criteria", page=page)


def _line(role: str, text: str, item: str) -> TranscriptLine:
    return TranscriptLine.model_validate({"role": role, "text": text, "timestamp": ANSWERED_AT, "itemId": item})
