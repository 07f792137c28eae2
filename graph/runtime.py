"""Runs interviews: a patient's message is taken exactly once, and whatever was killed is taken up again.

A turn: lock the session, recover it, enter the message in the ledger, resume the graph (graph/threads.py).
"""

from __future__ import annotations

import logging
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any, Literal

from langgraph.graph.state import CompiledStateGraph

from agents.escalation import Escalation
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
from graph.basis import BasisDesk
from graph.interview import InterviewAgents, ReceivedMessage, stop_update
from graph.reporting import ReportDesk
from graph.safety import SafetyDesk
from graph.state import InterviewState
from graph.threads import InterviewThreads, Versions
from graph.view import View, view_of
from instruments.profile import RiskFlags, SessionStatus
from storage.corrections import Corrections
from storage.database import Connection, Database
from storage.deletion import delete_session
from storage.reports import Reports
from storage.sessions import Choice, DiagnosticMode, Session, Sessions
from storage.spool import StopRecord
from storage.turns import Turns

MAX_MESSAGE_CHARACTERS = 100_000
_REPORTS_AT_ONCE = 2

log = logging.getLogger("crosscut.safety")


class InterviewRuntime:
    def __init__(
        self, database: Database, agents: InterviewAgents, versions: Versions, desk: SafetyDesk, *, workers: int = 8
    ) -> None:
        self._db = database
        self._agents = agents
        self._desk = desk
        self.sessions = Sessions(database)
        self.turns = Turns(database)
        self._threads = InterviewThreads(database, agents, versions)
        self.reports = ReportDesk(
            Reports(database),
            agents.retriever,
            lambda session_id: agents.of(session_id).diagnostician,
            self.stored,
            agents.record_calls,
            Corrections(database),
            BasisDesk(database, versions.provenance).of,
        )
        # A page's script is ended by a rerun or a closed tab; a turn is not, since it runs in threads of its own.
        self._executor = ThreadPoolExecutor(workers, thread_name_prefix="turn")
        # Reports wait for models longer than turns do, and no turn may wait for them.
        self._reporting = ThreadPoolExecutor(_REPORTS_AT_ONCE, thread_name_prefix="report")

    @property
    def graph(self) -> CompiledStateGraph[Any, Any, Any, Any]:
        return self._threads.graph

    def close(self) -> None:
        self._executor.shutdown()
        self._reporting.shutdown()

    def start(
        self,
        *,
        mode: DiagnosticMode = "diagnostic",
        persona: str | None = None,
        seed: int | None = None,
        origin: Literal["patient", "batch"] = "patient",
        lifetime: timedelta | None = None,
        owner: str | None = None,
        choice: Choice = Choice(),  # noqa: B008  # frozen
    ) -> View:
        self._drain()
        session = self.sessions.create(
            mode=mode, persona=persona, origin=origin, lifetime=lifetime, owner=owner, choice=choice
        )
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
                raise UnrecordedStop(self._agents.of(session_id).script) from None
            raise

    def watch(self, session_id: str) -> View:
        """As `view`, for somebody who looks on: while a turn is being worked on, what was there before it."""
        try:
            return self.view(session_id)
        except TurnInProgress:
            return self.stored(session_id)

    def words(self, session_id: str) -> Escalation:
        """The safety script and the help line that this session's patient gets."""
        return self._desk.words(session_id)

    def stored(self, session_id: str) -> View:
        """The session as its last checkpoint has it, perhaps within a turn: for whoever only watches."""
        return view_of(self._threads.unbroken(self.sessions.get(session_id)))

    def _view(self, session: Session) -> View:
        state, waits = self._threads.load(session.id)
        if state is None or (state.is_open and (not waits or self._threads.pending_turn(state))):
            return self.recover(session.id)
        if state.profile.session_status != session.status:  # killed after the checkpoint, before the row
            self._threads.record_progress(state)
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
        self.reports.write_missing()
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
        with self._threads.locked(session.id) as lock:
            return view_of(self._threads.begin(session, seed, lock))

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
        with self._threads.locked(session_id) as lock:
            if not self.sessions.waits_for(session_id, expected, lock):
                state = self._threads.recovered(self.sessions.get(session_id), lock)
                if not state.is_open or self._is_duplicate(session_id, message.message_id, expected, state):
                    self._audit_refused(message, self._read(message, state.cursor.item), "closed or known")
                    return view_of(state)
            turn = self.turns.add(session_id, expected, message.message_id, message.text)
            if turn.turn != expected:  # this message was taken before, as another turn
                return view_of(self._threads.recovered(self.sessions.get(session_id), lock))
            return self._shown(self._threads.resume(turn, lock))

    def _shown(self, state: InterviewState) -> View:
        """What the screen gets. The report of an interview that has just ended is not waited for."""
        if state.profile.session_status is SessionStatus.COMPLETED:
            self._reporting.submit(self._write_report, state.setup.session_id)
        return view_of(state)

    def _write_report(self, session_id: str) -> None:
        if self.sessions.get(session_id).origin != "patient":
            return
        try:
            self.reports.newest(session_id)
        except Exception as error:  # the sweep, or whoever opens the session, will try again
            logging.getLogger("crosscut.report").error("a report was not written: %s", type(error).__name__)

    def _read(self, message: ReceivedMessage, item: int) -> RiskVerdict:
        return self._agents.risk.read(MessageToCheck(text=message.text, item=item, message_id=message.message_id))

    def _audit_refused(self, message: ReceivedMessage, verdict: RiskVerdict, reason: str) -> None:
        with suppress(NotFoundError):  # no session, hence no key and nothing to audit
            self._desk.record(replace(message, refused=reason), verdict)

    def _stop(self, message: ReceivedMessage, verdict: RiskVerdict) -> View:
        """Close the session for safety. With the database gone, the stop goes to the spool and the script is raised."""
        try:
            self._drain()
            with self._threads.locked(message.session_id, wait=True) as lock:
                return view_of(self._stopped(message, verdict, lock))
        except StorageError as error:
            log.critical("a safety stop could not be entered: %s", type(error).__name__)
            try:
                self._desk.keep(message, verdict)
            except StorageError as second:
                log.critical("nor could it be spooled: %s", type(second).__name__)
            raise UnrecordedStop(self._agents.of(message.session_id).script) from None

    def _stopped(self, message: ReceivedMessage, verdict: RiskVerdict, lock: Connection) -> InterviewState:
        """Through the graph where the message answers the turn that is waited for, else directly."""
        session = self.sessions.get(message.session_id)
        try:
            state = self._resumed(session, message, lock)
        except CrosscutError:
            raise
        except Exception as error:  # whatever broke the conversation, it must not keep the stop from being entered
            log.critical("a session is stopped although it cannot be taken up: %s", type(error).__name__)
            state = self._threads.unbroken(session)
        if state.profile.session_status is SessionStatus.TERMINATED:
            return state
        return self._forced_stop(state, message, verdict, lock)

    def _resumed(self, session: Session, message: ReceivedMessage, lock: Connection) -> InterviewState:
        state = self._threads.recovered(session, lock)
        known = self.turns.by_message(session.id, message.message_id)
        if message.text and known is None and state.is_open and state.cursor.turn == message.turn:
            turn = self.turns.add(session.id, message.turn, message.message_id, message.text)
            state = self._threads.resume(turn, lock)
        return state

    def _forced_stop(
        self, state: InterviewState, message: ReceivedMessage, verdict: RiskVerdict, lock: Connection
    ) -> InterviewState:
        self._desk.record(message, verdict)
        update = stop_update(state, message, verdict, self._agents.of(message.session_id).script)
        return self._threads.written(message.session_id, update, "SAFETY_STOP", lock)

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
        with suppress(NotFoundError), self._threads.locked(record.session_id, wait=True) as lock:  # deleted meanwhile
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
        with self._threads.locked(session_id) as lock:
            return self._shown(self._threads.recovered(self.sessions.get(session_id), lock))
