"""The PRD's tools: their names and fields at the JSON edge, and what the ones of the interview do."""

from __future__ import annotations

import inspect
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import ValidationError

import instruments.tools as contracts
from agents.contract import Agent, Budget
from agents.interviewer import interviewer
from agents.replies import Reply
from agents.scorer import AnswerToScore, ItemScore
from errors import InputError
from graph.state import Cursor, InterviewState, InterviewUpdate, Setup, first_state, plain
from graph.tools import answer_to_score, get_next_question, score_response, store_session_state
from instruments.profile import ItemResponse, PatientProfile, RiskFlags, SessionMeta, SessionStatus, TranscriptLine
from instruments.tools import (
    TOOLS,
    Diagnose,
    GetNextQuestion,
    NextQuestion,
    ProfilePatch,
    ScoreResponse,
    StoreSessionState,
)

PRD_FIELDS: dict[str, tuple[set[str], set[str]]] = {
    "getNextQuestion": (
        {"sessionId"},
        {"itemId", "canonicalText", "questionText", "isFollowUp", "remainingCount"},
    ),
    "scoreResponse": (
        {"sessionId", "itemId", "patientText", "transcriptContext"},
        {"score0to4", "ambiguity1to10", "evidenceQuotes", "confidence", "riskFlagsPatch"},
    ),
    "diagnose": ({"sessionId", "snapshot", "diagnostic_mode"}, {"diagnoses", "reasoning", "citations", "ragUsed"}),
    "storeSessionState": ({"sessionId", "patch"}, {"sessionStatus", "itemResponses", "questionState", "riskFlags"}),
    "retrieveDsmPassages": ({"queryState"}, {"passages"}),
    "generateReport": ({"sessionId"}, {"markdown"}),
}


@pytest.mark.parametrize("name", PRD_FIELDS)
def test_the_json_edge_has_the_names_of_the_prd(name: str) -> None:
    takes, gives = PRD_FIELDS[name]
    assert set(TOOLS[name].takes.model_json_schema()["properties"]) == takes
    assert gives <= set(TOOLS[name].gives.model_json_schema()["properties"])


def test_there_are_the_tools_of_the_prd_and_no_others() -> None:
    assert set(TOOLS) == set(PRD_FIELDS)


@pytest.mark.parametrize("name", PRD_FIELDS)
def test_inputs_are_validated_and_closed(name: str) -> None:
    with pytest.raises(ValidationError):
        TOOLS[name].takes.model_validate({"hello": 1})


def test_the_tools_of_other_parts_are_contracts_without_a_body() -> None:
    for name in ("Diagnostician", "Retriever", "ReportWriter"):
        protocol = getattr(contracts, name)
        assert getattr(protocol, "_is_protocol", False)
        (method,) = [m for n, m in vars(protocol).items() if not n.startswith("_") and inspect.isfunction(m)]
        assert inspect.getsource(method).rstrip().endswith("...")


def test_an_item_id_is_one_of_the_form() -> None:
    line = {"role": "interviewer", "text": "?"}
    call = {"sessionId": "s", "patientText": "x", "transcriptContext": [line]}
    assert ScoreResponse.model_validate({**call, "itemId": "L1-23"}).item_id == "L1-23"
    for wrong in ("L1-24", "L1-00", "L1-1", "11"):
        with pytest.raises(ValidationError):
            ScoreResponse.model_validate({**call, "itemId": wrong})


def test_the_mode_has_the_prds_own_spelling() -> None:
    snapshot: dict[str, Any] = {"transcript": [], "itemResponses": [], "symptomSummary": [], "questionState": {}}
    call = Diagnose.model_validate({"sessionId": "s", "snapshot": snapshot, "diagnostic_mode": "screening"})
    assert call.to_json_dict()["diagnostic_mode"] == "screening"
    with pytest.raises(ValidationError):
        Diagnose.model_validate({"sessionId": "s", "snapshot": snapshot, "diagnostic_mode": "certain"})


# ---- getNextQuestion ----


def _profile() -> PatientProfile:
    return PatientProfile(session_meta=SessionMeta(session_id="s", model_version="m", prompt_version="p"))


def _state(profile: PatientProfile | None = None, cursor: Cursor | None = None) -> InterviewState:
    begun = first_state(Setup(session_id="s", seed=1), profile or _profile())
    return InterviewState({**begun, **plain(InterviewUpdate(cursor=cursor or Cursor()))})


def _ask(state: InterviewState) -> NextQuestion:
    words = interviewer(None, Budget())
    return get_next_question(GetNextQuestion(session_id="s"), state, words).question


def test_the_next_question_is_the_first_pending_item_paraphrased() -> None:
    asked = _ask(_state())
    assert (asked.item_id, asked.is_follow_up, asked.remaining_count) == ("L1-01", False, 23)
    assert asked.canonical_text == "Little interest or pleasure in doing things?"
    assert asked.question_text != asked.canonical_text


def test_of_an_item_that_was_asked_the_next_question_is_its_follow_up() -> None:
    vague = ItemResponse(item_id="L1-01", score=2, ambiguity=6)
    profile = _profile().with_response(vague, needs_follow_up=True, settled=False)
    asked = _ask(_state(profile, Cursor(turn=2, item=1, awaiting="answer")))
    assert (asked.item_id, asked.is_follow_up, asked.remaining_count) == ("L1-01", True, 23)
    assert "how many" in asked.question_text.lower()
    refused = _ask(_state(profile, Cursor(turn=2, item=1, awaiting="answer", reply=Reply("refusal"))))
    assert refused.question_text != asked.question_text


def test_a_call_for_another_session_is_refused() -> None:
    with pytest.raises(InputError, match="'other'"):
        get_next_question(GetNextQuestion(session_id="other"), _state(), interviewer(None, Budget()))
    with pytest.raises(InputError, match="'other'"):
        store_session_state(StoreSessionState(session_id="other", patch=ProfilePatch()), _profile())


# ---- scoreResponse ----


def _call(text: str, *context: tuple[Any, str]) -> ScoreResponse:
    lines = tuple(TranscriptLine(role=role, text=said) for role, said in context)
    return ScoreResponse(session_id="s", item_id="L1-06", patient_text=text, transcript_context=lines)


def test_the_context_tells_an_answer_from_the_answer_to_a_follow_up() -> None:
    first = answer_to_score(_call("Some.", ("interviewer", "Q?")))
    assert first == AnswerToScore(item=6, question="Q?", answer="Some.")
    second = answer_to_score(_call("Nine.", ("interviewer", "Q?"), ("patient", "Some."), ("interviewer", "F?")))
    assert second == AnswerToScore(
        item=6, question="Q?", answer="Some.", follow_up_question="F?", follow_up_answer="Nine."
    )
    after_an_aside = answer_to_score(_call("Nine.", ("interviewer", "Q?"), ("interviewer", "F?")))
    assert after_an_aside == AnswerToScore(item=6, question="F?", answer="Nine.")


def test_a_score_carries_the_scorers_result_in_the_prds_names() -> None:
    flags = RiskFlags(violence_risk=True)

    def score(answer: AnswerToScore) -> ItemScore:
        return ItemScore(score=3, ambiguity=2, evidence_quotes=("Nine",), confidence=0.8, risk_flags_patch=flags)

    found = score_response(_call("Nine.", ("interviewer", "Q?")), Agent(name="scorer", rules=score))
    assert found.score.to_json_dict() == {
        "score0to4": 3,
        "ambiguity1to10": 2,
        "evidenceQuotes": ["Nine"],
        "confidence": 0.8,
        "riskFlagsPatch": flags.to_json_dict(),
    }


# ---- storeSessionState ----


def _stored(profile: PatientProfile, patch: ProfilePatch) -> PatientProfile:
    return store_session_state(StoreSessionState(session_id="s", patch=patch), profile)


def test_a_patch_changes_what_it_names_and_nothing_else() -> None:
    answer = ItemResponse(item_id="L1-01", score=3, ambiguity=2)
    done = _stored(_profile(), ProfilePatch(item_response=answer, settled=True))
    assert done.question_state.completed_items == ("L1-01",)
    assert done.symptom_summary[0].severity_aggregate == 3
    assert _stored(done, ProfilePatch()) == done
    now = datetime(2025, 1, 1, tzinfo=UTC)
    closed = _stored(done, ProfilePatch(session_status=SessionStatus.COMPLETED, completed_at=now))
    assert (closed.session_status, closed.completed_at) == (SessionStatus.COMPLETED, now)
    assert closed.item_responses == done.item_responses


def test_flags_are_added_and_never_cleared() -> None:
    flagged = _stored(_profile(), ProfilePatch(risk_flags_patch=RiskFlags(violence_risk=True)))
    again = _stored(flagged, ProfilePatch(risk_flags_patch=RiskFlags(self_harm_ideation=True)))
    assert (again.risk_flags.violence_risk, again.risk_flags.self_harm_ideation) == (True, True)


def test_an_item_that_needs_a_follow_up_is_listed_until_it_is_clear() -> None:
    vague = ItemResponse(item_id="L1-01", score=2, ambiguity=6)
    open_item = _stored(_profile(), ProfilePatch(item_response=vague, follow_ups_needed=("L1-01",)))
    assert open_item.question_state.follow_ups_needed == ("L1-01",)
    assert open_item.question_state.pending_items[0] == "L1-01"
    clear = ItemResponse(item_id="L1-01", score=2, ambiguity=2)
    assert _stored(open_item, ProfilePatch(item_response=clear, settled=True)).question_state.follow_ups_needed == ()
