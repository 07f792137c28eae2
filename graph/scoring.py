"""What becomes of a reply: the score of an answer with its second opinion, or the mark that there was none."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from agents.contract import Agent, AgentResult
from agents.faults import reader_faults
from agents.replies import Reply, read_reply
from agents.scorer import AnswerToScore, ItemScore, score_by_rules
from graph.state import AgentRecord, Cursor, InterviewState, Line, ScoreRecord, SecondOpinion
from graph.tools import Scored, score_response
from instruments.level1 import item_id
from instruments.profile import UNDETERMINED_FROM, ItemResponse, RiskFlags
from instruments.tools import ProfilePatch, ResponseScore, ScoreResponse

DISAGREEMENT = 2
"""So many points between a model and the rules are a disagreement, and raise the ambiguity by as many."""

NO_ANSWER = ResponseScore(score0to4=0, ambiguity1to10=10, confidence=0.0)
SELF_HARM_ITEM, _SUBSTANCE_ITEMS = 11, (21, 23)
# Replies that say nothing of the item yet: their follow-up comes before any conclusion.
_SAYS_NOTHING_YET = ("empty", "wordless", "question", "ready", "unreadable", "request", "earlier", "complaint")


@dataclass(frozen=True)
class Judged:
    """`made` is the scorer's result; without one, nobody was asked."""

    score: ResponseScore
    record: ScoreRecord
    made: AgentResult[ItemScore] | None = None


def judge(state: InterviewState, scorer: Agent[AnswerToScore, ItemScore], threshold: int) -> Judged | None:
    """Score the reply to the open question; None when it adds nothing to a score that there is already."""
    with reader_faults() as failed:
        judged = _judged(state, scorer, threshold)
    if judged is None:
        return None
    unread = (*state.cursor.unread, *failed)
    return replace(judged, record=judged.record.model_copy(update={"unread": unread}))


def _judged(state: InterviewState, scorer: Agent[AnswerToScore, ItemScore], threshold: int) -> Judged | None:
    cursor = state.cursor
    if not cursor.reply.answers:
        known = state.profile.response(item_id(cursor.item))
        return None if known and not state.records[cursor.item].unanswered else _unanswered()
    scored = score_response(_call(state), scorer)
    record = ScoreRecord(**agent_record(scored.made).model_dump())
    if scored.made.engine == "llm":
        return _with_second_opinion(scored, record, threshold)
    return Judged(scored.score, record, scored.made)


def patch_for(cursor: Cursor, score: ResponseScore, *, unclear: bool, settled: bool) -> ProfilePatch:
    """What an item's score changes in the profile."""
    identifier = item_id(cursor.item)
    response = ItemResponse(
        item_id=identifier,
        score=score.score0to4,
        ambiguity=score.ambiguity1to10,
        evidence_quotes=score.evidence_quotes,
        confidence=score.confidence,
    )
    premature = not settled and not cursor.reply.answers and cursor.reply.kind in _SAYS_NOTHING_YET
    signalled = RiskFlags() if premature else flags_by_score(cursor.item, score.score0to4, score.ambiguity1to10)
    return ProfilePatch(
        item_response=response,
        settled=settled,
        follow_ups_needed=(identifier,) if unclear else (),
        risk_flags_patch=score.risk_flags_patch | signalled,
    )


def flags_by_score(item: int, score: int, ambiguity: int) -> RiskFlags:
    """What a score signals by itself. Smoking alone signals nothing; an undetermined item 11 is no all-clear."""
    present = score >= 1
    undetermined = ambiguity >= UNDETERMINED_FROM
    return RiskFlags(
        self_harm_ideation=item == SELF_HARM_ITEM and (present or undetermined),
        substance_abuse_signal=item in _SUBSTANCE_ITEMS and present,
    )


def needs_a_reply(reply: Reply) -> bool:
    """Whether the patient waits for more than the next question, however clear the rest of the message was.

    Who went back to an earlier item and answered this one as well does not.
    """
    return reply.kind not in ("answer", "pause") and not (reply.kind == "earlier" and reply.answers)


def agent_record(made: AgentResult[Any]) -> AgentRecord:
    return AgentRecord(
        engine=made.engine,
        model=made.model,
        prompt_version=made.prompt_version,
        tries=made.tries,
        failures=made.failures,
        seconds=made.seconds,
    )


def _unanswered() -> Judged:
    record = ScoreRecord(engine="rules", model=None, prompt_version=None, tries=0, seconds=0, unanswered=True)
    return Judged(NO_ANSWER, record)


def _with_second_opinion(scored: Scored, record: ScoreRecord, threshold: int) -> Judged:
    """The rules beside the model. Rules that have nothing to go on have no opinion."""
    rules, score = score_by_rules(scored.answer), scored.score
    has_opinion = rules.ambiguity < UNDETERMINED_FROM
    disagrees = has_opinion and abs(rules.score - score.score0to4) >= DISAGREEMENT
    if disagrees:
        raised = min(10, max(score.ambiguity1to10 + DISAGREEMENT, threshold))
        score = score.model_copy(update={"ambiguity1to10": raised})
    opinion = SecondOpinion(score=rules.score, ambiguity=rules.ambiguity, disagrees=disagrees)
    return Judged(score, record.model_copy(update={"second_opinion": opinion}), scored.made)


def _call(state: InterviewState) -> ScoreResponse:
    """The last answer, with what was asked and answered about this item before it; asides are left out."""
    said = [line for line in state.lines_of(state.cursor.item) if line.kind not in ("aside", "pause")]
    last = max(at for at, line in enumerate(said) if line.kind == "answer")
    own = state.cursor.reply.own
    return ScoreResponse(
        session_id=state.setup.session_id,
        item_id=item_id(state.cursor.item),
        patient_text=own or said[last].text,
        transcript_context=tuple(_about_this_item(line).transcribed() for line in said[:last]),
    )


def _about_this_item(line: Line) -> Line:
    """What an earlier message said of the open item, where it also went back to another one."""
    own = read_reply(line.text, item=line.item).own if line.kind == "answer" else ""
    return line.model_copy(update={"text": own}) if own else line
