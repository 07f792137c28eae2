"""A therapist's corrections laid over a profile; the checkpoint, and what is measured, keep the scores as they were."""

from __future__ import annotations

from collections.abc import Mapping

from instruments.level1 import Score, item_id
from instruments.profile import ItemResponse, PatientProfile, Timestamp, Wire, summarise
from storage.corrections import Correction

_CLEAR = 1


class CorrectedScore(Wire):
    item_id: str
    score: Score
    original: Score
    reason: str
    corrected_by: str
    corrected_at: Timestamp


def standing_corrections(profile: PatientProfile, found: Mapping[int, Correction]) -> tuple[CorrectedScore, ...]:
    """Those that say something else than was scored; one that goes back to the original corrects nothing any more."""
    made = []
    for item, one in sorted(found.items()):
        response = profile.response(item_id(item))
        if response is not None and response.score != one.score:
            made.append(
                CorrectedScore(
                    item_id=response.item_id,
                    score=one.score,
                    original=response.score,
                    reason=one.reason,
                    corrected_by=one.corrected_by,
                    corrected_at=one.corrected_at,
                )
            )
    return tuple(made)


def overlaid(responses: tuple[ItemResponse, ...], corrections: tuple[CorrectedScore, ...]) -> tuple[ItemResponse, ...]:
    """A person has decided: what is corrected is clear, and the scorer's confidence says nothing of it."""
    by_item = {one.item_id: one.score for one in corrections}
    return tuple(
        r.model_copy(update={"score": by_item[r.item_id], "ambiguity": _CLEAR, "confidence": None})
        if r.item_id in by_item
        else r
        for r in responses
    )


def corrected(profile: PatientProfile, corrections: tuple[CorrectedScore, ...]) -> PatientProfile:
    """The profile as the therapist sees it: their scores, the aggregates they give, nothing of them left to clarify."""
    if not corrections:
        return profile
    responses = overlaid(profile.item_responses, corrections)
    settled = {one.item_id for one in corrections}
    state = profile.question_state
    needed = tuple(item for item in state.follow_ups_needed if item not in settled)
    return profile.model_copy(
        update={
            "item_responses": responses,
            "symptom_summary": summarise(responses),
            "question_state": state.model_copy(update={"follow_ups_needed": needed}),
        }
    )
