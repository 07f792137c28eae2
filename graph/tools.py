"""The interview's tools, as the nodes call them: each takes and gives the validated types of `instruments/tools.py`.

They work on the state that a node holds, and what they give goes into the node's update: the checkpoint persists it.
Writing to a session from outside of its run would erase the interrupt that waits for the patient.
"""

from __future__ import annotations

from dataclasses import dataclass

from agents.contract import Agent, AgentResult
from agents.interviewer import Draft, QuestionBrief
from agents.scorer import AnswerToScore, ItemScore
from agents.wording import asked_again, follow_up_lead
from errors import InputError
from graph.state import InterviewState
from instruments.level1 import item_id, item_number, level1
from instruments.profile import PatientProfile, TranscriptLine
from instruments.tools import (
    GetNextQuestion,
    NextQuestion,
    ResponseScore,
    ScoreResponse,
    StoreSessionState,
)


@dataclass(frozen=True)
class Asked:
    """A question, with the draft that was made for it if there was none yet."""

    question: NextQuestion
    draft: Draft
    made: AgentResult[Draft] | None = None


@dataclass(frozen=True)
class Scored:
    score: ResponseScore
    answer: AnswerToScore
    made: AgentResult[ItemScore]


def get_next_question(call: GetNextQuestion, state: InterviewState, words: Agent[QuestionBrief, Draft]) -> Asked:
    """The next pending item's question; of an item that was asked already, its one follow-up."""
    _check_session(call.session_id, state)
    pending = state.profile.question_state.pending_items
    item = level1().item(item_number(pending[0]))
    brief = QuestionBrief(item=item.number, seed=state.setup.seed)
    draft, made = state.drafts.get(item.number), None
    if draft is None:
        made = words.run(brief)
        draft = made.output
    is_follow_up = state.cursor.item == item.number
    question = NextQuestion(
        item_id=item.id,
        canonical_text=item.text,
        question_text=_follow_up(brief, draft, state) if is_follow_up else draft.question,
        is_follow_up=is_follow_up,
        remaining_count=len(pending),
    )
    return Asked(question, draft, made)


def _follow_up(brief: QuestionBrief, draft: Draft, state: InterviewState) -> str:
    """How often, after an unclear answer; the question put again, after what was no answer."""
    reply = state.cursor.reply
    if reply.kind not in ("answer", "pause"):
        return asked_again(brief, reply, draft.follow_up, state.said)
    known = state.profile.response(item_id(brief.item))
    lead = follow_up_lead(brief, elsewhere=known is not None and known.undetermined, said=state.said)
    return f"{lead} {draft.follow_up}".strip()


def score_response(call: ScoreResponse, scorer: Agent[AnswerToScore, ItemScore]) -> Scored:
    answer = answer_to_score(call)
    made = scorer.run(answer)
    found = made.output
    score = ResponseScore(
        score0to4=found.score,
        ambiguity1to10=found.ambiguity,
        evidence_quotes=found.evidence_quotes,
        confidence=found.confidence,
        risk_flags_patch=found.risk_flags_patch,
    )
    return Scored(score, answer, made)


def answer_to_score(call: ScoreResponse) -> AnswerToScore:
    """The exchange so far: what was asked and answered before, if it was, and what this answers."""
    said = call.transcript_context
    asked = _last(said, "interviewer")
    before = next((at for at, line in enumerate(said) if line.role == "patient"), None)
    if before is None:
        return AnswerToScore(item=item_number(call.item_id), question=asked, answer=call.patient_text)
    return AnswerToScore(
        item=item_number(call.item_id),
        question=_last(said[:before], "interviewer"),
        answer="\n".join(line.text for line in said if line.role == "patient"),
        follow_up_question=asked,
        follow_up_answer=call.patient_text,
    )


def _last(lines: tuple[TranscriptLine, ...], role: str) -> str:
    return next((line.text for line in reversed(lines) if line.role == role), "")


def store_session_state(call: StoreSessionState, profile: PatientProfile) -> PatientProfile:
    """The profile with the delta applied."""
    if call.session_id != profile.session_meta.session_id:
        raise InputError(f"the patch is for session {call.session_id!r}, the profile of another one.")
    patch = call.patch
    if patch.item_response is not None:
        needed = patch.item_response.item_id in patch.follow_ups_needed
        profile = profile.with_response(patch.item_response, needs_follow_up=needed, settled=patch.settled)
    profile = profile.with_follow_up_needed(*patch.follow_ups_needed)
    fields = {"session_status": patch.session_status, "completed_at": patch.completed_at}
    changed = {name: value for name, value in fields.items() if value is not None}
    return profile.model_copy(update={"risk_flags": profile.risk_flags | patch.risk_flags_patch, **changed})


def _check_session(session_id: str, state: InterviewState) -> None:
    if session_id != state.setup.session_id:
        raise InputError(f"the call is for session {session_id!r}, the state of another one.")
