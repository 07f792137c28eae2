"""The instrument and the profile, as the form and the PRD have them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from instruments.level1 import Level1, item_id, item_number, level1
from instruments.profile import (
    DomainSummary,
    ItemResponse,
    PatientProfile,
    RiskFlags,
    SessionMeta,
    SessionStatus,
    TranscriptLine,
    summarise,
)


def _profile() -> PatientProfile:
    meta = SessionMeta(session_id="s", model_version="rules", prompt_version="1")
    return PatientProfile(session_meta=meta)


def test_the_form_has_23_items_in_13_domains_with_its_thresholds() -> None:
    measure = level1()
    assert [item.number for item in measure.items] == list(range(1, 24))
    assert len(measure.domains) == 13
    low = {d.name for d in measure.domains if d.threshold == 1}
    assert low == {"Suicidal Ideation", "Psychosis", "Substance Use"}
    assert "American Psychiatric Association" in measure.notice
    assert measure.domain_of(11).name == "Suicidal Ideation"


def test_a_form_with_a_missing_item_is_refused() -> None:
    data = level1().model_dump()
    data["domains"] = data["domains"][1:]
    with pytest.raises(ValidationError, match="items must be 1 to 23"):
        Level1.model_validate(data)


@given(st.integers(1, 23))
def test_item_ids_go_both_ways(number: int) -> None:
    assert item_number(item_id(number)) == number


def test_the_json_edge_has_exactly_the_names_of_the_prd() -> None:
    profile = _profile().model_copy(
        update={
            "transcript": (TranscriptLine(role="patient", text="hello"),),
            "item_responses": (ItemResponse(item_id="L1-01", score=2, ambiguity=3, confidence=0.5),),
            "symptom_summary": (DomainSummary(domain="Depression", severity_aggregate=2),),
        }
    )
    edge = profile.to_json_dict()
    assert set(edge) == {
        "sessionStatus",
        "transcript",
        "itemResponses",
        "symptomSummary",
        "riskFlags",
        "questionState",
        "sessionMeta",
    }
    assert set(edge["itemResponses"][0]) == {"itemId", "score", "ambiguity", "evidenceQuotes", "confidence"}
    assert set(edge["symptomSummary"][0]) == {"domain", "severityAggregate", "notableSymptoms"}
    assert set(edge["riskFlags"]) == {
        "suicidalityMentioned",
        "selfHarmIdeation",
        "violenceRisk",
        "substanceAbuseSignal",
    }
    assert set(edge["questionState"]) == {"pendingItems", "completedItems", "followUpsNeeded"}
    assert set(edge["sessionMeta"]) == {"sessionId", "modelVersion", "promptVersion"}
    assert PatientProfile.model_validate_json(json.dumps(edge)) == profile


def test_a_domain_takes_its_highest_item_never_a_mean() -> None:
    responses = [
        ItemResponse(item_id="L1-06", score=1, ambiguity=1),
        ItemResponse(item_id="L1-07", score=4, ambiguity=1),
        ItemResponse(item_id="L1-08", score=0, ambiguity=1),
    ]
    (anxiety,) = summarise(responses)
    assert (anxiety.domain, anxiety.severity_aggregate) == ("Anxiety", 4)
    assert anxiety.notable_symptoms == ("Feeling panic or being frightened",)


def test_a_response_moves_its_item_only_when_it_is_settled() -> None:
    unclear = ItemResponse(item_id="L1-01", score=2, ambiguity=6)
    asked = _profile().with_response(unclear, needs_follow_up=True, settled=False)
    assert asked.question_state.pending_items[0] == "L1-01"
    assert asked.question_state.follow_ups_needed == ("L1-01",)
    clear = ItemResponse(item_id="L1-01", score=3, ambiguity=2)
    settled = asked.with_response(clear, needs_follow_up=False, settled=True)
    assert settled.question_state.completed_items == ("L1-01",)
    assert settled.question_state.follow_ups_needed == ()
    assert len(settled.question_state.pending_items) == 22
    assert settled.item_responses == (clear,)


flags = st.builds(RiskFlags, *[], **{name: st.booleans() for name in RiskFlags.model_fields})


@given(flags, flags)
def test_flags_only_add_up(one: RiskFlags, other: RiskFlags) -> None:
    both = (one | other).model_dump()
    assert all(both[name] == (getattr(one, name) or getattr(other, name)) for name in both)


def test_the_profile_is_frozen() -> None:
    with pytest.raises(ValidationError):
        _profile().session_status = SessionStatus.COMPLETED  # type: ignore[misc]
