"""The DSM-5 Level-1 interview: one node a state of the PRD.

START → INTRO → ASK_ITEM → RISK_CHECK ─┬→ SCORE_ITEM (+ DRAFT) ─┬→ FOLLOW_UP → RISK_CHECK
                                       │                        ├→ ASK_ITEM
                                       │                        ├→ PAUSE
                                       │                        └→ REPORT → END
                                       ├→ PAUSE → RISK_CHECK
                                       ├→ RESUME ─┬→ RISK_CHECK
                                       │          └→ ASK_ITEM, FOLLOW_UP
                                       └→ SAFETY_STOP → END

`interrupt()` is the first statement of RISK_CHECK and stands nowhere else, so that a patient's message has one way in
and a resume runs nothing again. A pause is no other state of the session: it waits in RISK_CHECK like any question.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal

from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from agents.contract import Agent, AgentResult
from agents.diagnostician import diagnose_by_rules
from agents.faults import reader_faults
from agents.interviewer import Draft, QuestionBrief, acknowledgement, closing_text, intro_text
from agents.replies import Reply, in_distress, read_reply
from agents.risk import RiskVerdict, check_risk
from agents.risk.checker import Checked, MessageToCheck, RiskChecker
from agents.risk.rules import FAULT
from agents.risk.second import UNREAD
from agents.scorer import AnswerToScore, ItemScore
from agents.wording import Tone, pause_text, welcome_text
from graph.nodes import node
from graph.scoring import SELF_HARM_ITEM, Judged, agent_record, judge, needs_a_reply, patch_for
from graph.state import CheckPart, Cursor, InterviewState, InterviewUpdate, Line, LineKind, RiskRecord, StoredState
from graph.tools import Asked, get_next_question, store_session_state
from instruments.level1 import item_id, item_number
from instruments.profile import PatientProfile, RiskFlags, SessionStatus
from instruments.tools import (
    Diagnose,
    Diagnosis,
    GetNextQuestion,
    Passages,
    ProfilePatch,
    RetrieveDsmPassages,
    Retriever,
    StoreSessionState,
)

log = logging.getLogger("crosscut.safety")
AfterStart = Literal["INTRO", "SAFETY_STOP", "__end__"]
AfterCheck = Literal["SCORE_ITEM", "DRAFT", "PAUSE", "RESUME", "SAFETY_STOP"]
AfterScore = Literal["FOLLOW_UP", "ASK_ITEM", "PAUSE", "REPORT"]
NODES = (
    "INTRO", "ASK_ITEM", "RISK_CHECK", "SCORE_ITEM", "DRAFT", "FOLLOW_UP", "PAUSE", "RESUME", "REPORT", "SAFETY_STOP",
)  # fmt: skip
# After a pause these only say that the patient is there again.
_RETURNS = ("ready", "empty", "wordless")
CallRecorder = Callable[[str, int, str, AgentResult[Any]], None]
CheckRecorder = Callable[["ReceivedMessage", RiskVerdict], None]
SignalRecorder = Callable[[str, int], None]


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
    at: datetime | None = None
    """When it came, where that was before now."""


class NoPassages:
    """A library without books."""

    def retrieve_dsm_passages(self, call: RetrieveDsmPassages) -> Passages:  # noqa: ARG002
        return Passages(passages=())


@dataclass(frozen=True)
class InterviewAgents:
    """Everything that the nodes call, and what the report is made with once they are done."""

    interviewer: Agent[QuestionBrief, Draft]
    scorer: Agent[AnswerToScore, ItemScore]
    risk: RiskChecker
    script: str
    follow_up_threshold: int
    diagnostician: Agent[Diagnose, Diagnosis] = Agent("diagnostician", diagnose_by_rules)  # noqa: RUF009
    retriever: Retriever = NoPassages()  # noqa: RUF009
    record_calls: CallRecorder = lambda *_: None
    record_check: CheckRecorder = lambda *_: None
    record_signal: SignalRecorder = lambda *_: None
    """Told of a session and its turn whose score sets a flag, whatever the risk check found in the words."""
    is_stopped: Callable[[str], bool] = lambda _: False
    """Whether a stop of this session is on record, even if its conversation has not got to it."""
    cast: Callable[[str], Mapping[str, Any]] = lambda _: {}
    """What takes the place of the above in a session that was started with a model or a locale of its own."""

    def of(self, session_id: str) -> InterviewAgents:
        changes = self.cast(session_id)
        return replace(self, **changes) if changes else self


@dataclass(frozen=True)
class InterviewNodes:
    agents: InterviewAgents

    @node()
    def intro(self, state: InterviewState) -> Command[Literal["ASK_ITEM"]]:
        return Command(update=InterviewUpdate(lines=[_say(state, "intro", intro_text())]), goto="ASK_ITEM")

    @node()
    def ask_item(self, state: InterviewState) -> Command[Literal["RISK_CHECK"]]:
        asked, update = self._asked(state)
        item = item_number(asked.question.item_id)
        lead = _acknowledged(state, item)
        update["lines"] = [_say(state, "question", f"{lead} {asked.question.question_text}".strip(), item)]
        update["cursor"] = state.cursor.model_copy(update={"item": item, "awaiting": "answer"})
        return Command(update=update, goto="RISK_CHECK")

    @node(minds_stops=False)
    def risk_check(self, state: InterviewState) -> Command[AfterCheck]:
        message = interrupt({"turn": state.cursor.turn})
        cursor = state.cursor
        verdict = self._checked(state, message)
        with reader_faults() as unread:
            reply = read_reply(message["text"], item=cursor.item, paused=cursor.paused)
        after = _after_check(cursor, reply)
        heard_at = _heard_at(cursor, reply, after, unread)
        update = InterviewUpdate(lines=[_heard(cursor, message, reply)], cursor=heard_at)
        if verdict.level != "none":
            update["profile"] = after_verdict(state.profile, verdict)
            update["risks"] = {cursor.turn: risk_record(verdict)}
        if verdict.level == "stop":
            return Command(update=update, goto="SAFETY_STOP")
        # Rules word a question in no time; only a model is worth asking ahead.
        ahead = after == "SCORE_ITEM" and self._cast(state).interviewer.llm is not None
        return Command(update=update, goto=[after, "DRAFT"] if ahead else after)

    @node()
    def score_item(self, state: InterviewState) -> Command[AfterScore]:
        cursor, threshold = state.cursor, self.agents.follow_up_threshold
        judged = judge(state, self._cast(state).scorer, threshold)
        if judged and judged.made:
            self._account(state, "scorer", judged.made)
        first = cursor.awaiting == "answer"
        unclear = judged is None or judged.score.ambiguity1to10 >= threshold
        asks_again = first and (unclear or needs_a_reply(cursor.reply))
        patch = _item_patch(state, judged, unclear=unclear or asks_again, settled=not asks_again)
        if patch.risk_flags_patch != RiskFlags():
            self.agents.record_signal(state.setup.session_id, cursor.turn - 1)
        update = InterviewUpdate(profile=_stored(state, patch), records={cursor.item: judged.record} if judged else {})
        return Command(update=update, goto=_after_score(update, state, asks_again=asks_again))

    @node()
    def draft(self, state: InterviewState) -> Command[tuple[()]]:
        """Word the next item while this answer is scored; whether it comes next is not this node's business."""
        pending = map(item_number, state.profile.question_state.pending_items)
        upcoming = [item for item in pending if item not in state.drafts]
        return Command(update=self._draft(state, upcoming[0]) if upcoming else InterviewUpdate())

    @node()
    def follow_up(self, state: InterviewState) -> Command[Literal["RISK_CHECK"]]:
        asked, update = self._asked(state)
        cursor = state.cursor
        update["lines"] = [_say(state, "follow_up", asked.question.question_text, cursor.item)]
        update["cursor"] = cursor.model_copy(update={"awaiting": "follow_up"})
        return Command(update=update, goto="RISK_CHECK")

    @node()
    def pause(self, state: InterviewState) -> Command[Literal["RISK_CHECK"]]:
        """The patient wants to stop for now. What is open stays open until they write again."""
        cursor = state.cursor
        text = pause_text(
            state.setup.seed,
            cursor.turn,
            again=cursor.paused,
            distressed=cursor.reply.distressed,
            said=state.said,
        )
        line = _say(state, "pause", text, cursor.item)
        paused = cursor.model_copy(update={"paused": True})
        return Command(update=InterviewUpdate(lines=[line], cursor=paused), goto="RISK_CHECK")

    @node()
    def resume(self, state: InterviewState) -> Command[Literal["RISK_CHECK", "ASK_ITEM", "FOLLOW_UP"]]:
        """The patient is back: go on where the conversation was. The open question is repeated, not asked anew."""
        cursor, seed = state.cursor, state.setup.seed
        if cursor.awaiting == "nothing" or _owes_follow_up(state):
            line = _say(state, "resumed", welcome_text(seed, cursor.turn, said=state.said))
            after: Literal["ASK_ITEM", "FOLLOW_UP"] = "ASK_ITEM" if cursor.awaiting == "nothing" else "FOLLOW_UP"
            return Command(update=InterviewUpdate(lines=[line]), goto=after)
        welcome = welcome_text(seed, cursor.turn, _open_question(state), state.said)
        line = _say(state, "resumed", welcome, cursor.item)
        return Command(update=InterviewUpdate(lines=[line]), goto="RISK_CHECK")

    @node()
    def report(self, state: InterviewState) -> Command[Literal["__end__"]]:
        done = ProfilePatch(session_status=SessionStatus.COMPLETED, completed_at=_now())
        return Command(
            update=InterviewUpdate(
                profile=_stored(state, done),
                lines=[_say(state, "closing", closing_text())],
                cursor=state.cursor.model_copy(update={"awaiting": "nothing"}),
            ),
            goto="__end__",
        )

    @node(runs_when=SessionStatus.TERMINATED, minds_stops=False)
    def safety_stop(self, state: InterviewState) -> Command[Literal["__end__"]]:
        line = _say(state, "safety_script", self._cast(state).script)
        cursor = state.cursor.model_copy(update={"awaiting": "nothing"})
        return Command(update=InterviewUpdate(lines=[line], cursor=cursor), goto="__end__")

    def _checked(self, state: InterviewState, message: dict[str, Any]) -> RiskVerdict:
        """Rules and, where there is one, the model; on record before anything else happens.

        Once a stop is on record no model is asked: what is left to hear is heard by the rules alone.
        """
        cursor, asked = state.cursor, state.last_line
        question = asked.text if asked else ""
        text, item = message["text"], item_answered(message["text"], cursor.item, paused=cursor.paused)
        to_check = MessageToCheck(text=text, item=item, question=question, message_id=message["id"])
        risk = self.agents.risk
        alone = risk.has_model and self.agents.is_stopped(state.setup.session_id)
        checked = Checked(risk.read(to_check)) if alone else risk.check(to_check)
        received = ReceivedMessage(state.setup.session_id, cursor.turn, message["id"], text)
        self.agents.record_check(received, checked.verdict)
        if checked.result is not None:
            self._account(state, "risk", checked.result)
        return checked.verdict

    def _asked(self, state: InterviewState) -> tuple[Asked, InterviewUpdate]:
        """The next question, and what is new about its wording."""
        asked = get_next_question(
            GetNextQuestion(session_id=state.setup.session_id), state, words=self._cast(state).interviewer
        )
        if asked.made is None:
            return asked, InterviewUpdate()
        return asked, self._worded(state, item_number(asked.question.item_id), asked.made)

    def _draft(self, state: InterviewState, item: int) -> InterviewUpdate:
        brief = QuestionBrief(item=item, seed=state.setup.seed)
        return self._worded(state, item, self._cast(state).interviewer.run(brief))

    def _cast(self, state: InterviewState) -> InterviewAgents:
        return self.agents.of(state.setup.session_id)

    def _worded(self, state: InterviewState, item: int, made: AgentResult[Draft]) -> InterviewUpdate:
        self._account(state, "interviewer", made)
        return InterviewUpdate(drafts={item: made.output}, wordings={item: agent_record(made)})

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


def _heard(cursor: Cursor, message: dict[str, Any], reply: Reply) -> Line:
    kind: LineKind = "answer" if reply.answers else "aside"
    return Line(turn=cursor.turn, role="patient", kind=kind, text=message["text"], item=cursor.item, at=message["at"])


def _heard_at(cursor: Cursor, reply: Reply, after: AfterCheck, unread: Sequence[str]) -> Cursor:
    still = cursor.paused and after == "PAUSE"
    heard = {"turn": cursor.turn + 1, "reply": reply, "paused": still, "unread": tuple(unread)}
    return cursor.model_copy(update=heard)


def _after_check(cursor: Cursor, reply: Reply) -> Literal["SCORE_ITEM", "PAUSE", "RESUME"]:
    if cursor.awaiting == "nothing":  # paused between two items: there is nothing to answer
        return "PAUSE" if reply.kind == "pause" else "RESUME"
    if reply.kind == "pause" and not reply.answers:
        return "PAUSE"
    return "RESUME" if cursor.paused and reply.kind in _RETURNS else "SCORE_ITEM"


def _item_patch(state: InterviewState, judged: Judged | None, *, unclear: bool, settled: bool) -> ProfilePatch:
    """What a reply changes: the open item, and an earlier one if the patient went back to that."""
    cursor = state.cursor
    corrected = _taken_up_again(state)
    if judged is None:
        known = state.profile.response(item_id(cursor.item))
        return ProfilePatch(item_response=known, settled=settled, follow_ups_needed=(item_id(cursor.item), *corrected))
    patch = patch_for(cursor, judged.score, unclear=unclear, settled=settled)
    return patch.model_copy(update={"follow_ups_needed": (*patch.follow_ups_needed, *corrected)})


def _taken_up_again(state: InterviewState) -> tuple[str, ...]:
    """The earlier item that the patient spoke of; the one before, if they named none."""
    reply, done = state.cursor.reply, state.profile.question_state.completed_items
    if reply.kind != "earlier":
        return ()
    named = item_id(reply.about)
    return (named,) if named in done else done[-1:]


def _after_score(update: InterviewUpdate, state: InterviewState, *, asks_again: bool) -> AfterScore:
    """Where to go on; a patient who answered and wants to stop is asked nothing more."""
    is_done = not asks_again and not update["profile"].question_state.pending_items
    if is_done:
        return "REPORT"
    if state.cursor.reply.kind == "pause":
        if not asks_again:
            update["cursor"] = state.cursor.model_copy(update={"awaiting": "nothing"})
        return "PAUSE"
    return "FOLLOW_UP" if asks_again else "ASK_ITEM"


def _owes_follow_up(state: InterviewState) -> bool:
    """Whether a pause came between an unclear answer and its follow-up."""
    cursor = state.cursor
    return cursor.awaiting == "answer" and state.profile.response(item_id(cursor.item)) is not None


def _open_question(state: InterviewState) -> str:
    """As it was worded, without what was said before it."""
    cursor = state.cursor
    draft = state.drafts[cursor.item]
    return draft.question if cursor.awaiting == "answer" else draft.follow_up


def _acknowledged(state: InterviewState, item: int) -> str:
    """What is said before an item's question; nothing before the first, and nothing after a welcome."""
    cursor, before = state.cursor, state.last_line
    if not cursor.item or (before and before.kind == "resumed"):
        return ""
    return acknowledgement(state.setup.seed, item, _tone(state))


def _tone(state: InterviewState) -> Tone:
    cursor = state.cursor
    if _is_grave(state):
        return "gentle"
    if cursor.reply.kind == "earlier":
        return "kept"
    return "plain" if cursor.reply.answers else "open"


def _is_grave(state: InterviewState) -> bool:
    """After words that were flagged, after anything but a plain no to the self-harm item, and after distress."""
    cursor = state.cursor
    risk = state.risks.get(cursor.turn - 1)
    flags = risk.flags if risk else RiskFlags()
    if flags.suicidality_mentioned or flags.self_harm_ideation or flags.violence_risk:
        return True
    asked = state.profile.response(item_id(cursor.item))
    if cursor.item == SELF_HARM_ITEM and asked and (asked.score or asked.undetermined):
        return True
    said = [line.text for line in state.lines_of(cursor.item) if line.role == "patient"]
    return any(in_distress(text) for text in said)


def _stored(state: InterviewState, patch: ProfilePatch) -> PatientProfile:
    call = StoreSessionState(session_id=state.setup.session_id, patch=patch)
    return store_session_state(call, state.profile)


def item_answered(text: str, item: int, *, paused: bool) -> int:
    """After a pause "I'm ready" answers the pause and not the item, if nothing in it is a worry by itself.

    Where the reader of replies fails, the message is read as an answer to the item, the graver way.
    """
    if not paused or check_risk(text).level != "none":
        return item
    try:
        return 0 if read_reply(text, item=item, paused=True).kind == "ready" else item
    except Exception as error:
        log.error("a reply after a pause could not be read: %s", type(error).__name__)
        return item


def risk_record(verdict: RiskVerdict) -> RiskRecord:
    return RiskRecord(
        level=verdict.level,
        rule=verdict.rule or "",
        spans=verdict.spans,
        flags=verdict.flags,
        degraded=verdict.degraded,
        failed=tuple(_failed_parts(verdict)),
    )


def _failed_parts(verdict: RiskVerdict) -> Iterator[CheckPart]:
    if verdict.rule == FAULT:
        yield "rules"
    if UNREAD in verdict.cues:
        yield "reader"
    if verdict.degraded and verdict.model is not None and verdict.model_level is None:
        yield "model"


def after_verdict(profile: PatientProfile, verdict: RiskVerdict) -> PatientProfile:
    status = SessionStatus.TERMINATED if verdict.level == "stop" else profile.session_status
    return profile.model_copy(update={"risk_flags": profile.risk_flags | verdict.flags, "session_status": status})


def stop_update(
    state: InterviewState, message: ReceivedMessage, verdict: RiskVerdict, script: str, *, heard_at: int | None = None
) -> InterviewUpdate:
    """A stop from outside of the flow: after the end, by the therapist, or for a message that was refused otherwise.

    `heard_at` is the message's turn where the conversation has it already.
    """
    cursor = state.cursor
    at, after = (cursor.turn, cursor.turn + 1) if heard_at is None else (heard_at, cursor.turn)
    when = message.at or _now()
    script_line = Line(turn=after, role="interviewer", kind="safety_script", text=script, at=when)
    heard = [] if heard_at is not None or not message.text else [_heard_outside(cursor, message.text, when)]
    return InterviewUpdate(
        profile=after_verdict(state.profile, verdict),
        risks={at: risk_record(verdict)},
        lines=[*heard, script_line],
        cursor=cursor.model_copy(update={"turn": after, "awaiting": "nothing"}),
    )


def _heard_outside(cursor: Cursor, text: str, at: datetime) -> Line:
    reply = read_reply(text, item=cursor.item, paused=cursor.paused)
    return _heard(cursor, {"text": text, "at": at}, reply)
