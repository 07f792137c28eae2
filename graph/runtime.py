"""Runs interviews: a patient's message is taken exactly once, and whatever was killed is taken up again.

A turn: lock the session, recover it, enter the message in the ledger, resume the graph. Recovery never asks LangGraph
whether a run is finished (`next` is also empty between a node's writes and the next checkpoint); it asks whether the
graph waits for a message that the ledger already has.
"""

from __future__ import annotations

import hashlib
import logging
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Literal

from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command

from agents.risk import RiskVerdict, Span
from agents.risk.checker import MessageToCheck
from errors import (
    CrosscutError,
    InputError,
    NotFoundError,
    SealError,
    ServiceError,
    StaleTurn,
    StorageError,
    TurnError,
    TurnInProgress,
    UnrecordedStop,
)
from graph.checkpoints import SealedSaver
from graph.interview import InterviewAgents, ReceivedMessage, build_interview, stop_update
from graph.safety import SafetyDesk
from graph.state import AgentRecord, InterviewState, Line, RiskRecord, ScoreRecord, Setup, first_state, plain
from instruments.profile import PatientProfile, RiskFlags, SessionMeta, SessionStatus
from storage.database import Connection, Database, borrowed
from storage.deletion import delete_session
from storage.sessions import DiagnosticMode, Progress, Session, Sessions, lock_key
from storage.spool import StopRecord
from storage.turns import Turn, Turns

MAX_MESSAGE_CHARACTERS = 100_000
_MAX_STEPS_A_TURN = 25
_STOP_PATIENCE_SECONDS = 2.0

log = logging.getLogger("crosscut.safety")


@dataclass(frozen=True)
class View:
    """What a screen shows of a session, read from its checkpoint."""

    session_id: str
    profile: PatientProfile
    turn: int
    item: int
    lines: tuple[Line, ...]
    records: dict[int, ScoreRecord]
    risks: dict[int, RiskRecord]
    wordings: dict[int, AgentRecord]
    paused: bool

    @property
    def open(self) -> bool:
        return self.profile.session_status is SessionStatus.ACTIVE

    @property
    def items_completed(self) -> int:
        return len(self.profile.question_state.completed_items)


@dataclass(frozen=True)
class Versions:
    """What made this session's words and scores; goes into `sessionMeta`."""

    model: str
    prompt: str


class InterviewRuntime:
    def __init__(
        self, database: Database, agents: InterviewAgents, versions: Versions, desk: SafetyDesk, *, workers: int = 8
    ) -> None:
        self._db = database
        self._versions = versions
        self._agents = agents
        self._desk = desk
        self.sessions = Sessions(database)
        self.turns = Turns(database)
        self.graph: CompiledStateGraph[Any, Any, Any, Any] = build_interview(agents).compile(
            checkpointer=SealedSaver(database)
        )
        # A page's script is ended by a rerun or a closed tab; a turn is not, since it runs in threads of its own.
        self._executor = ThreadPoolExecutor(workers, thread_name_prefix="turn")

    def close(self) -> None:
        self._executor.shutdown()

    def start(
        self,
        *,
        mode: DiagnosticMode = "diagnostic",
        persona: str | None = None,
        seed: int | None = None,
        origin: Literal["patient", "batch"] = "patient",
        lifetime: timedelta | None = None,
    ) -> View:
        self._drain()
        session = self.sessions.create(mode=mode, persona=persona, origin=origin, lifetime=lifetime)
        return self._executor.submit(self._start, session, seed).result()

    def submit(
        self, session_id: str, text: str, *, expected_turn: int, message_id: str | None = None, item: int = 0
    ) -> View:
        """Take the patient's message as turn `expected_turn`, answering `item`, as shown on the sender's screen.

        The rules read it before anything else is done. What shows danger is acted upon whatever the state of the
        session, the lock or the database; what is refused for another reason has still been read and audited.
        """
        message = ReceivedMessage(session_id, expected_turn, message_id or uuid.uuid4().hex, text)
        verdict = self._read(message, item)
        work = self._stop if verdict.level == "stop" else self._take
        return self._executor.submit(work, message, verdict).result()

    def stop(self, session_id: str) -> View:
        """The therapist stops the session by hand, from whatever state it is in."""
        turn = self.sessions.get(session_id).next_turn
        message = ReceivedMessage(session_id, turn, f"clinician-{uuid.uuid4().hex}", "")
        verdict = RiskVerdict(level="stop", rule="clinician")
        return self._executor.submit(self._stop, message, verdict).result()

    def view(self, session_id: str) -> View:
        """The session as it stands; work that a killed process left is finished first."""
        try:
            self._drain()
            return self._view(self.sessions.get(session_id))
        except ServiceError:
            if any(record.session_id == session_id for record in self._desk.spool.pending()):
                raise UnrecordedStop(self._agents.script) from None
            raise

    def _view(self, session: Session) -> View:
        state, waits = self._load(session.id)
        if state is None or (state.is_open and (not waits or self._pending_turn(session.id, state))):
            return self.recover(session.id)
        if state.profile.session_status != session.status:  # killed after the checkpoint, before the row
            self.sessions.record_progress(session.id, _progress(state))
        return view_of(state)

    def recover(self, session_id: str) -> View:
        return self._executor.submit(self._recover_locked, session_id).result()

    def recover_all(self) -> list[str]:
        """Finish every session that was left in the middle of a turn; sessions being worked on are left alone."""
        self._drain()
        done = []
        for session_id in self.sessions.unfinished():
            try:
                self.recover(session_id)
            except TurnInProgress:
                continue
            done.append(session_id)
        return done

    def delete(self, session_id: str) -> tuple[str, ...]:
        """Delete a session and its forks for good; the ids of all that went. Their content-free audit stays."""
        self._drain()  # a stop that waits on disk belongs on the audit before the session goes
        gone = delete_session(self._db, session_id)
        self._desk.forget(gone)
        return gone

    def delete_expired(self) -> list[str]:
        """Delete the sessions whose lifetime has passed: what a killed batch left behind."""
        gone: list[str] = []
        for session_id in self.sessions.expired():
            with suppress(NotFoundError):  # somebody else was quicker
                gone += self.delete(session_id)
        return gone

    def _start(self, session: Session, seed: int | None) -> View:
        with self._locked(session.id) as lock:
            return view_of(self._begin(session, seed, lock))

    def _take(self, message: ReceivedMessage, verdict: RiskVerdict) -> View:
        self._drain()
        try:
            return self._taken(message)
        except (TurnError, InputError) as error:
            self._audit_refused(message, verdict, type(error).__name__)
            raise

    def _taken(self, message: ReceivedMessage) -> View:
        if len(message.text) > MAX_MESSAGE_CHARACTERS:
            raise InputError(f"a message may have {MAX_MESSAGE_CHARACTERS:,} characters, not {len(message.text):,}.")
        session_id, expected = message.session_id, message.turn
        with self._locked(session_id) as lock:
            if not self.sessions.waits_for(session_id, expected, lock):
                state = self._recovered(self.sessions.get(session_id), lock)
                if not state.is_open or self._is_duplicate(session_id, message.message_id, expected, state):
                    self._audit_refused(message, self._read(message, state.cursor.item), "closed or known")
                    return view_of(state)
            turn = self.turns.add(session_id, expected, message.message_id, message.text)
            if turn.turn != expected:  # this message was taken before, as another turn
                return view_of(self._recovered(self.sessions.get(session_id), lock))
            return view_of(self._resume(turn, lock))

    def _read(self, message: ReceivedMessage, item: int) -> RiskVerdict:
        return self._agents.risk.read(MessageToCheck(text=message.text, item=item, message_id=message.message_id))

    def _audit_refused(self, message: ReceivedMessage, verdict: RiskVerdict, reason: str) -> None:
        with suppress(NotFoundError):  # no session, hence no key and nothing to audit
            self._desk.record(replace(message, refused=reason), verdict)

    def _stop(self, message: ReceivedMessage, verdict: RiskVerdict) -> View:
        """Close the session for safety. With the database gone, the stop goes to the spool and the script is raised."""
        try:
            self._drain()
            with self._locked(message.session_id, wait=True) as lock:
                return view_of(self._stopped(message, verdict, lock))
        except StorageError as error:
            log.critical("a safety stop could not be entered: %s", type(error).__name__)
            try:
                self._desk.keep(message, verdict)
            except StorageError as second:
                log.critical("nor could it be spooled: %s", type(second).__name__)
            raise UnrecordedStop(self._agents.script) from None

    def _stopped(self, message: ReceivedMessage, verdict: RiskVerdict, lock: Connection) -> InterviewState:
        """Through the graph where the message answers the turn that is waited for, else directly."""
        session = self.sessions.get(message.session_id)
        try:
            state = self._resumed(session, message, lock)
        except CrosscutError:
            raise
        except Exception as error:  # whatever broke the conversation, it must not keep the stop from being entered
            log.critical("a session is stopped although it cannot be taken up: %s", type(error).__name__)
            found, _ = self._load(session.id)
            state = found or InterviewState(self._first_state(session, None))
        if state.profile.session_status is SessionStatus.TERMINATED:
            return state
        return self._forced_stop(state, message, verdict, lock)

    def _resumed(self, session: Session, message: ReceivedMessage, lock: Connection) -> InterviewState:
        state = self._recovered(session, lock)
        known = self.turns.by_message(session.id, message.message_id)
        if message.text and known is None and state.is_open and state.cursor.turn == message.turn:
            turn = self.turns.add(session.id, message.turn, message.message_id, message.text)
            state = self._resume(turn, lock)
        return state

    def _forced_stop(
        self, state: InterviewState, message: ReceivedMessage, verdict: RiskVerdict, lock: Connection
    ) -> InterviewState:
        self._desk.record(message, verdict)
        update = plain(stop_update(state, message, verdict, self._agents.script))
        self.graph.update_state(_config(message.session_id), update, as_node="SAFETY_STOP")
        stopped, _ = self._load(message.session_id)
        if stopped is None:
            raise StorageError("a safety stop was written and cannot be read back")
        self.sessions.record_progress(message.session_id, _progress(stopped), lock)
        return stopped

    def _drain(self) -> None:
        """Enter the stops that happened while the database was gone, before any later turn of any session."""
        if self._desk.spool.empty:
            return
        try:
            self._desk.spool.drain(self._enter_spooled)
        except SealError as error:  # set aside and listed by the doctor; it must not fail somebody else's turn
            log.critical("a spooled safety stop does not open: %s", error)

    def _enter_spooled(self, record: StopRecord) -> None:
        shown = (record.locale, record.script_version)
        message = ReceivedMessage(record.session_id, record.turn, record.message_id, record.text, shown=shown)
        flags = RiskFlags(**dict.fromkeys(record.flags, True))
        spans = tuple(Span(start=start, end=end, cue=record.rule) for start, end in record.spans)
        verdict = RiskVerdict(
            level="stop", rule=record.rule, flags=flags, spans=spans, cues=record.cues, degraded=record.degraded
        )
        with suppress(NotFoundError), self._locked(record.session_id, wait=True) as lock:  # deleted meanwhile
            self._stopped(message, verdict, lock)

    def _is_duplicate(self, session_id: str, message_id: str, expected_turn: int, state: InterviewState) -> bool:
        if expected_turn == state.cursor.turn:
            return False
        if self.turns.by_message(session_id, message_id) is not None:
            return True
        raise StaleTurn(
            f"this answers turn {expected_turn}, but the conversation is at turn {state.cursor.turn}: "
            "read the newest question and answer that."
        )

    def _recover_locked(self, session_id: str) -> View:
        with self._locked(session_id) as lock:
            return view_of(self._recovered(self.sessions.get(session_id), lock))

    def _recovered(self, session: Session, lock: Connection) -> InterviewState:
        state, waits = self._load(session.id)
        if state is None:
            return self._begin(session, None, lock)
        if not waits:
            state = self._invoke(session.id, None, lock)
        elif session.next_turn != state.cursor.turn:  # killed after the checkpoint, before the row
            self.sessions.record_progress(session.id, _progress(state), lock)
        while (turn := self._pending_turn(session.id, state)) is not None:
            state = self._resume(turn, lock)
        return state

    def _pending_turn(self, session_id: str, state: InterviewState) -> Turn | None:
        """The message that the ledger holds and the conversation has not got to."""
        return self.turns.get(session_id, state.cursor.turn) if state.is_open else None

    def _begin(self, session: Session, seed: int | None, lock: Connection) -> InterviewState:
        return self._invoke(session.id, self._first_state(session, seed), lock)

    def _first_state(self, session: Session, seed: int | None) -> dict[str, Any]:
        meta = SessionMeta(
            session_id=session.id,
            model_version=self._versions.model,
            prompt_version=self._versions.prompt,
            synthetic_persona_id=session.persona,
        )
        setup = Setup(session_id=session.id, mode=session.mode, seed=_seed(session.id, seed))
        return first_state(setup, PatientProfile(session_meta=meta))

    def _resume(self, turn: Turn, lock: Connection) -> InterviewState:
        message = {"text": turn.text, "at": turn.received_at.isoformat(), "id": turn.message_id}
        return self._invoke(turn.session_id, Command(resume=message), lock)

    def _invoke(self, session_id: str, value: Any, lock: Connection) -> InterviewState:
        state = InterviewState(self.graph.invoke(value, _config(session_id), durability="sync"))
        self.sessions.record_progress(session_id, _progress(state), lock)
        return state

    def _load(self, session_id: str) -> tuple[InterviewState | None, bool]:
        """The checkpointed state, and whether the graph waits for a message."""
        snapshot = self.graph.get_state(_config(session_id))
        return (InterviewState(snapshot.values) if snapshot.values else None), bool(snapshot.interrupts)

    @contextmanager
    def _locked(self, session_id: str, *, wait: bool = False) -> Iterator[Connection]:
        """The connection that holds the session's advisory lock, which dies with it: a killed process keeps none.

        A stop waits for the turn before it; it does not wait long for a database that is gone.
        """
        key = lock_key(session_id)
        with borrowed(self._db.locks, _STOP_PATIENCE_SECONDS if wait else None) as connection:
            if wait:
                connection.execute("SELECT pg_advisory_lock(%s)", (key,))
            else:
                row = connection.execute("SELECT pg_try_advisory_lock(%s) AS taken", (key,)).fetchone()
                if row is None or not row["taken"]:
                    raise TurnInProgress("the last message of this session is still being worked on: wait a moment.")
            try:
                yield connection
            finally:
                connection.execute("SELECT pg_advisory_unlock(%s)", (key,))


def _config(session_id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": session_id}, "recursion_limit": _MAX_STEPS_A_TURN}


def _seed(session_id: str, wanted: int | None) -> int:
    return wanted if wanted is not None else int.from_bytes(hashlib.sha256(session_id.encode()).digest()[:4])


def _progress(state: InterviewState) -> Progress:
    profile = state.profile
    return Progress(
        status=profile.session_status.value,
        items_completed=len(profile.question_state.completed_items),
        next_turn=state.cursor.turn,
        flags=tuple(name for name, is_set in profile.risk_flags.to_json_dict().items() if is_set),
    )


def view_of(state: InterviewState) -> View:
    transcript = tuple(line.transcribed() for line in state.lines)
    return View(
        session_id=state.setup.session_id,
        profile=state.profile.model_copy(update={"transcript": transcript}),
        turn=state.cursor.turn,
        item=state.cursor.item,
        lines=tuple(state.lines),
        records=state.records,
        risks=state.risks,
        wordings=state.wordings,
        paused=state.cursor.paused,
    )
