"""The DSM-5 Level-1 interview: one node a state of the PRD.

START → INTRO → ASK_ITEM → RISK_CHECK ─┬→ SCORE_ITEM (+ DRAFT) ─┬→ FOLLOW_UP → RISK_CHECK
                                       │                        ├→ ASK_ITEM
                                       │                        └→ REPORT → END
                                       └→ SAFETY_STOP → END

`interrupt()` is the first statement of RISK_CHECK and stands nowhere else, so that a patient's message has one way in
and a resume runs nothing again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from agents.contract import Agent, AgentResult
from agents.interviewer import Draft, QuestionBrief, acknowledgement, closing_text, intro_text
from agents.risk import RiskVerdict
from agents.risk.checker import MessageToCheck, RiskChecker
from agents.scorer import AnswerToScore, ItemScore
from graph.nodes import node
from graph.state import Cursor, InterviewState, InterviewUpdate, Line, LineKind, RiskRecord, ScoreRecord, StoredState
from instruments.level1 import item_id, item_number
from instruments.profile import UNDETERMINED_FROM, ItemResponse, PatientProfile, RiskFlags, SessionStatus

AfterStart = Literal["INTRO", "SAFETY_STOP", "__end__"]
NODES = ("INTRO", "ASK_ITEM", "RISK_CHECK", "SCORE_ITEM", "DRAFT", "FOLLOW_UP", "REPORT", "SAFETY_STOP")
CallRecorder = Callable[[str, int, str, AgentResult[Any]], None]
CheckRecorder = Callable[["ReceivedMessage", RiskVerdict], None]


@dataclass(frozen=True)
class ReceivedMessage:
    """A patient's message as it is audited; `turn` is the one it was meant for."""

    session_id: str
    turn: int
    message_id: str
    text: str
    refused: str = ""
    shown: tuple[str, str] | None = None
    """The locale and version of the script that was shown, where that was before now."""


@dataclass(frozen=True)
class InterviewAgents:
    """Everything the nodes call."""

    interviewer: Agent[QuestionBrief, Draft]
    scorer: Agent[AnswerToScore, ItemScore]
    risk: RiskChecker
    script: str
    follow_up_threshold: int
    record_calls: CallRecorder = lambda *_: None
    record_check: CheckRecorder = lambda *_: None


@dataclass(frozen=True)
class InterviewNodes:
    agents: InterviewAgents

    @node()
    def intro(self, state: InterviewState) -> Command[Literal["ASK_ITEM"]]:
        return Command(update=InterviewUpdate(lines=[_say(state, "intro", intro_text())]), goto="ASK_ITEM")

    @node()
    def ask_item(self, state: InterviewState) -> Command[Literal["RISK_CHECK"]]:
        item = item_number(state.profile.question_state.pending_items[0])
        drafts = {} if item in state.drafts else self._draft(state, item)
        draft = drafts.get(item) or state.drafts[item]
        lead = acknowledgement(state.setup.seed, state.cursor.turn) if state.cursor.item else ""
        question = _say(state, "question", f"{lead} {draft.question}".strip(), item)
        cursor = state.cursor.model_copy(update={"item": item, "awaiting": "answer"})
        return Command(update=InterviewUpdate(lines=[question], cursor=cursor, drafts=drafts), goto="RISK_CHECK")

    @node()
    def risk_check(self, state: InterviewState) -> Command[Literal["SCORE_ITEM", "DRAFT", "SAFETY_STOP"]]:
        message = interrupt({"turn": state.cursor.turn})
        cursor = state.cursor
        verdict = self._checked(state, message)
        update = InterviewUpdate(
            lines=[_heard(cursor, message)], cursor=cursor.model_copy(update={"turn": cursor.turn + 1})
        )
        if verdict.level != "none":
            update["profile"] = after_verdict(state.profile, verdict)
            update["risks"] = {cursor.turn: risk_record(verdict)}
        if verdict.level == "stop":
            return Command(update=update, goto="SAFETY_STOP")
        # Rules word a question in no time; only a model is worth asking ahead.
        ahead = self.agents.interviewer.llm is not None
        return Command(update=update, goto=["SCORE_ITEM", "DRAFT"] if ahead else "SCORE_ITEM")

    @node()
    def score_item(self, state: InterviewState) -> Command[Literal["FOLLOW_UP", "ASK_ITEM", "REPORT"]]:
        cursor = state.cursor
        result = self.agents.scorer.run(_answer(state))
        self._account(state, "scorer", result)
        unclear = result.output.ambiguity >= self.agents.follow_up_threshold
        asks_again = unclear and cursor.awaiting == "answer"
        profile = state.profile.with_response(
            _response(cursor.item, result.output), needs_follow_up=unclear, settled=not asks_again
        )
        signalled = result.output.risk_flags_patch | flags_by_score(cursor.item, result.output)
        profile = profile.model_copy(update={"risk_flags": profile.risk_flags | signalled})
        update = InterviewUpdate(profile=profile, records={cursor.item: _record(result)})
        if asks_again:
            return Command(update=update, goto="FOLLOW_UP")
        return Command(update=update, goto="ASK_ITEM" if profile.question_state.pending_items else "REPORT")

    @node()
    def draft(self, state: InterviewState) -> Command[tuple[()]]:
        """Word the next item while this answer is scored; whether it comes next is not this node's business."""
        pending = map(item_number, state.profile.question_state.pending_items)
        upcoming = [item for item in pending if item not in state.drafts]
        return Command(update=InterviewUpdate(drafts=self._draft(state, upcoming[0]) if upcoming else {}))

    @node()
    def follow_up(self, state: InterviewState) -> Command[Literal["RISK_CHECK"]]:
        cursor = state.cursor
        line = _say(state, "follow_up", state.drafts[cursor.item].follow_up, cursor.item)
        asked = cursor.model_copy(update={"awaiting": "follow_up"})
        return Command(update=InterviewUpdate(lines=[line], cursor=asked), goto="RISK_CHECK")

    @node()
    def report(self, state: InterviewState) -> Command[Literal["__end__"]]:
        done = {"session_status": SessionStatus.COMPLETED, "completed_at": _now()}
        return Command(
            update=InterviewUpdate(
                profile=state.profile.model_copy(update=done),
                lines=[_say(state, "closing", closing_text())],
                cursor=state.cursor.model_copy(update={"awaiting": "nothing"}),
            ),
            goto="__end__",
        )

    @node(runs_when=SessionStatus.TERMINATED)
    def safety_stop(self, state: InterviewState) -> Command[Literal["__end__"]]:
        line = _say(state, "safety_script", self.agents.script)
        cursor = state.cursor.model_copy(update={"awaiting": "nothing"})
        return Command(update=InterviewUpdate(lines=[line], cursor=cursor), goto="__end__")

    def _checked(self, state: InterviewState, message: dict[str, Any]) -> RiskVerdict:
        """Rules and, where there is one, the model; on record before anything else happens."""
        cursor, asked = state.cursor, state.last_words
        checked = self.agents.risk.check(MessageToCheck(text=message["text"], item=cursor.item, question=asked))
        if checked.result is not None:
            self._account(state, "risk", checked.result)
        received = ReceivedMessage(state.setup.session_id, cursor.turn, message["id"], message["text"])
        self.agents.record_check(received, checked.verdict)
        return checked.verdict

    def _draft(self, state: InterviewState, item: int) -> dict[int, Draft]:
        result = self.agents.interviewer.run(QuestionBrief(item=item, seed=state.setup.seed))
        self._account(state, "interviewer", result)
        return {item: result.output}

    def _account(self, state: InterviewState, agent: str, result: AgentResult[Any]) -> None:
        self.agents.record_calls(state.setup.session_id, state.cursor.turn, agent, result)


def build_interview(agents: InterviewAgents) -> StateGraph[StoredState]:
    nodes = InterviewNodes(agents)
    graph = StateGraph(StoredState)
    graph.add_conditional_edges(START, _route_by_status)
    for name in NODES:
        graph.add_node(name, getattr(nodes, name.lower()))
    return graph


def _route_by_status(state: StoredState) -> AfterStart:
    status = InterviewState(state).profile.session_status
    if status is SessionStatus.TERMINATED:
        return "SAFETY_STOP"
    return "INTRO" if status is SessionStatus.ACTIVE else "__end__"


def _now() -> datetime:
    return datetime.now(UTC)


def _say(state: InterviewState, kind: LineKind, text: str, item: int = 0) -> Line:
    return Line(turn=state.cursor.turn, role="interviewer", kind=kind, text=text, item=item, at=_now())


def _heard(cursor: Cursor, message: dict[str, Any]) -> Line:
    return Line(
        turn=cursor.turn, role="patient", kind="answer", text=message["text"], item=cursor.item, at=message["at"]
    )


def risk_record(verdict: RiskVerdict) -> RiskRecord:
    return RiskRecord(
        level=verdict.level,
        rule=verdict.rule or "",
        spans=verdict.spans,
        flags=verdict.flags,
        degraded=verdict.degraded,
    )


def flags_by_score(item: int, score: ItemScore) -> RiskFlags:
    """What a score signals by itself. Smoking alone signals nothing; an undetermined item 11 is no all-clear."""
    present = score.score >= 1
    return RiskFlags(
        self_harm_ideation=item == 11 and (present or score.ambiguity >= UNDETERMINED_FROM),
        substance_abuse_signal=item in (21, 23) and present,
    )


def after_verdict(profile: PatientProfile, verdict: RiskVerdict) -> PatientProfile:
    status = SessionStatus.TERMINATED if verdict.level == "stop" else profile.session_status
    return profile.model_copy(update={"risk_flags": profile.risk_flags | verdict.flags, "session_status": status})


def stop_update(state: InterviewState, message: ReceivedMessage, verdict: RiskVerdict, script: str) -> InterviewUpdate:
    """A stop from outside of the flow: after the end, by the therapist, or for a message that was refused otherwise."""
    cursor = state.cursor
    said = {"text": message.text, "at": _now()}
    heard = [_heard(cursor, said)] if message.text else []
    return InterviewUpdate(
        profile=after_verdict(state.profile, verdict),
        risks={cursor.turn: risk_record(verdict)},
        lines=[*heard, Line(turn=cursor.turn + 1, role="interviewer", kind="safety_script", text=script, at=_now())],
        cursor=cursor.model_copy(update={"turn": cursor.turn + 1, "awaiting": "nothing"}),
    )


def _answer(state: InterviewState) -> AnswerToScore:
    item = state.cursor.item
    lines = state.lines_of(item)
    said = {kind: [line.text for line in lines if line.kind == kind] for kind in ("question", "follow_up", "answer")}
    answers = said["answer"]
    return AnswerToScore(
        item=item,
        question=said["question"][0],
        answer=answers[0],
        follow_up_question=said["follow_up"][0] if said["follow_up"] else None,
        follow_up_answer=answers[1] if len(answers) > 1 else None,
    )


def _response(item: int, score: ItemScore) -> ItemResponse:
    return ItemResponse(
        item_id=item_id(item),
        score=score.score,
        ambiguity=score.ambiguity,
        evidence_quotes=score.evidence_quotes,
        confidence=score.confidence,
    )


def _record(result: AgentResult[ItemScore]) -> ScoreRecord:
    return ScoreRecord(
        engine=result.engine,
        model=result.model,
        prompt_version=result.prompt_version,
        tries=result.tries,
        failures=result.failures,
        seconds=result.seconds,
    )
