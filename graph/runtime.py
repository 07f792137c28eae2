"""Runs interviews: a patient's message is taken exactly once, and whatever was killed is taken up again.

A turn: lock the session, recover it, enter the message in the ledger, resume the graph (graph/threads.py).
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any, Literal, NoReturn

from langgraph.graph.state import CompiledStateGraph

from agents.escalation import Escalation
from agents.risk import RiskVerdict
from agents.risk.checker import MessageToCheck
from errors import (
    InputError,
    NotFoundError,
    SealError,
    ServiceError,
    StaleTurn,
    StopNotEntered,
    TurnError,
    TurnInProgress,
    UnrecordedStop,
)
from graph.basis import BasisDesk
from graph.interview import InterviewAgents, ReceivedMessage, item_answered, stop_update
from graph.reporting import ReportDesk
from graph.safety import SafetyDesk, decided
from graph.state import InterviewState, InterviewUpdate
from graph.threads import InterviewThreads, Versions
from graph.view import View, view_of
from instruments.profile import SessionStatus
from instruments.text import whole
from storage.corrections import Corrections
from storage.database import Connection, Database, is_gone
from storage.deletion import delete_session
from storage.reports import Reports
from storage.sessions import Choice, DiagnosticMode, Session, Sessions
from storage.turns import Turns

MAX_MESSAGE_CHARACTERS = 100_000
_REPORTS_AT_ONCE = 2
_STOPS_AT_ONCE = 2
_GLANCES_AT_ONCE = 4
_STOP_SECONDS = 8.0  # after which a stop that hangs is spooled, so that its script is shown
_ANSWER_SECONDS = 8.0  # after which a database that says nothing counts as gone
_NO_TURN = 0
_CLOSED_OR_KNOWN = "closed or known"

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
        self._threads = InterviewThreads(database, replace(agents, is_stopped=self.sessions.is_stopped), versions)
        self.reports = ReportDesk(
            Reports(database),
            agents.retriever,
            lambda session_id: agents.of(session_id).diagnostician,
            self.stored,
            agents.record_calls,
            Corrections(database),
            BasisDesk(database, versions.provenance).of,
        )
        self.when_reported: Callable[[str], object] | None = None
        """Told of each patient's session whose interview has just ended here, once its report is there."""
        # A page's script is ended by a rerun or a closed tab; a turn is not, since it runs in threads of its own.
        self._executor = ThreadPoolExecutor(workers, thread_name_prefix="turn")
        # A stop never queues behind turns that wait for models.
        self._stopping = ThreadPoolExecutor(_STOPS_AT_ONCE, thread_name_prefix="stop")
        # Nor does a look at the database.
        self._glances = ThreadPoolExecutor(_GLANCES_AT_ONCE, thread_name_prefix="glance")
        # Reports wait for models longer than turns do, and no turn may wait for them.
        self._reporting = ThreadPoolExecutor(_REPORTS_AT_ONCE, thread_name_prefix="report")

    @property
    def graph(self) -> CompiledStateGraph[Any, Any, Any, Any]:
        return self._threads.graph

    def close(self) -> None:
        self._executor.shutdown()
        self._stopping.shutdown()
        self._glances.shutdown()
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
        self,
        session_id: str,
        text: str,
        *,
        expected_turn: int,
        message_id: str | None = None,
        item: int = 0,
        paused: bool = False,
        invited: Callable[[], bool] = lambda: True,
    ) -> View:
        """Take the patient's message as turn `expected_turn`, answering `item`, as shown on the sender's screen.

        The rules read it before anything else is done. What shows danger is acted upon whatever the state of the
        session, the lock or the database; what is refused for another reason has still been read and audited.
        Whoever is not `invited` any more answers no turn; as that may ask the database, danger does not wait for it.
        """
        message = ReceivedMessage(session_id, expected_turn, message_id or uuid.uuid4().hex, whole(text))
        verdict = self._read(message, item_answered(message.text, item, paused=paused))
        if verdict.level == "stop":
            return self._stop(message, verdict)
        self._refuse_without_database(session_id)
        if not invited():
            message = replace(message, turn=_NO_TURN)
        with self._shown_the_script(session_id):
            return self._executor.submit(self._take, message, verdict).result()

    def _refuse_without_database(self, session_id: str) -> None:
        """Whoever writes is told soon that nothing can be kept, also where a server hangs; who was stopped meanwhile
        sees the script."""
        glance = self._glances.submit(self._db.is_there)
        try:
            answers = glance.result(timeout=_ANSWER_SECONDS)
        except TimeoutError:
            answers = False
        if answers:
            return
        if self._is_spooled(session_id):
            raise UnrecordedStop(self._script(session_id))
        raise ServiceError("the database does not answer. `crosscut doctor` says why.")

    def stop(self, session_id: str) -> View:
        """The therapist stops the session by hand, from whatever state it is in."""
        message = ReceivedMessage(session_id, self._turn_to_stop(session_id), f"clinician-{uuid.uuid4().hex}", "")
        return self._stop(message, RiskVerdict(level="stop", rule="clinician"))

    def _turn_to_stop(self, session_id: str) -> int:
        try:
            return self.sessions.get(session_id).next_turn
        except NotFoundError:
            raise
        except Exception as error:  # whatever else is broken, it is spooled like any other stop
            log.critical("a session that is to be stopped cannot be read: %s", type(error).__name__)
            return 0

    def view(self, session_id: str) -> View:
        """The session as it stands; work that a killed process left is finished first."""
        with self._shown_the_script(session_id):
            self._drain()
            if self._is_spooled(session_id):
                raise UnrecordedStop(self._script(session_id))
            return self._view(self.sessions.get(session_id))

    @contextmanager
    def _shown_the_script(self, session_id: str) -> Iterator[None]:
        """Who was stopped sees the script, whatever else cannot be read or fails."""
        try:
            yield
        except (TurnError, InputError, UnrecordedStop):
            raise
        except Exception as error:
            if not self._is_known_stopped(session_id):
                raise
            log.critical("a stopped session cannot be shown: %s", type(error).__name__)
            raise UnrecordedStop(self._script(session_id)) from None

    def _is_known_stopped(self, session_id: str) -> bool:
        with suppress(Exception):  # what is asked for after another fault may fail like that
            if self._is_spooled(session_id):
                return True
        with suppress(Exception):
            return self.sessions.is_stopped(session_id)
        return False

    def _is_spooled(self, session_id: str) -> bool:
        return self._desk.is_unentered(session_id)

    def _script(self, session_id: str) -> str:
        """The session's own, or the installation's where even that cannot be found out."""
        try:
            return self._agents.of(session_id).script
        except Exception as error:
            log.critical("a session's own script cannot be had: %s", type(error).__name__)
            return self._agents.script

    def watch(self, session_id: str) -> View:
        """As `view`, for somebody who looks on: while a turn is being worked on, what was there before it."""
        try:
            return self.view(session_id)
        except TurnInProgress:
            return self.stored(session_id)

    def waits(self, session_id: str) -> bool:
        """Whether the conversation waits for a message."""
        return self._threads.load(session_id)[1]

    def words(self, session_id: str) -> Escalation:
        """The safety script and the help line that this session's patient gets."""
        return self._desk.words(session_id)

    def stored(self, session_id: str) -> View:
        """The session as its last checkpoint has it, perhaps within a turn: for whoever only watches.

        A stop is in it from the moment it is on record.
        """
        session = self.sessions.get(session_id)
        state = self._threads.unbroken(session)
        is_behind = _is_stopped(session) and not _has_stop(state)
        return view_of(state.updated(self._stop_update(state)) if is_behind else state)

    def _view(self, session: Session) -> View:
        state, waits = self._threads.load(session.id)
        if _is_stopped(session) and not (state and _has_stop(state)):  # on record, but not yet in the conversation
            return self._stopping.submit(self._recover_locked, session.id).result()
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
                done.append(session_id)
            except (TurnInProgress, NotFoundError):
                continue
            except ServiceError:
                raise
            except Exception as error:  # one that cannot be taken up must not keep the others waiting
                log.error("a session could not be taken up: %s", type(error).__name__)
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
            return view_of(self._finished(self._threads.begin(session, seed, lock), lock))

    def _take(self, message: ReceivedMessage, verdict: RiskVerdict) -> View:
        self._drain()
        if self._is_spooled(message.session_id):  # stopped, although the stop cannot be entered yet
            self._audit_refused(message, verdict, _CLOSED_OR_KNOWN)
            raise UnrecordedStop(self._script(message.session_id))
        try:
            return self._taken(message, verdict)
        except (TurnError, InputError) as error:
            self._audit_refused(message, verdict, type(error).__name__)
            raise

    @contextmanager
    def _turn_of(self, session_id: str) -> Iterator[Connection]:
        """The session's lock. A stop that a model decides on meanwhile is spooled if anything fails before it is in the
        conversation.
        """
        try:
            with self._threads.locked(session_id) as lock:
                self._desk.undecided(session_id)
                yield lock
        except (TurnError, InputError):
            raise
        except Exception as error:
            found = self._desk.undecided(session_id)
            if found is not None:
                self._spooled(*found, error)
            raise

    def _taken(self, message: ReceivedMessage, verdict: RiskVerdict) -> View:
        if len(message.text) > MAX_MESSAGE_CHARACTERS:
            raise InputError(f"a message may have {MAX_MESSAGE_CHARACTERS:,} characters, not {len(message.text):,}.")
        session_id, expected = message.session_id, message.turn
        with self._turn_of(session_id) as lock:
            if not self.sessions.waits_for(session_id, expected, lock):
                state = self._finished(self._threads.recovered(self.sessions.get(session_id), lock), lock)
                if not state.is_open or self._is_duplicate(session_id, message.message_id, expected, state):
                    self._audit_refused(message, verdict, _CLOSED_OR_KNOWN)
                    return view_of(state)
            turn = self.turns.add(session_id, expected, message.message_id, message.text)
            if turn.turn != expected:  # this message was taken before, as another turn
                self._audit_refused(message, verdict, _CLOSED_OR_KNOWN)
                return view_of(self._finished(self._threads.recovered(self.sessions.get(session_id), lock), lock))
            return self._shown(self._finished(self._threads.resume(turn, lock), lock))

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
            return
        try:
            if self.when_reported is not None:
                self.when_reported(session_id)
        except Exception as error:  # what comes after a chat is its owner's to ask for again, and disturbs none
            logging.getLogger("crosscut.report").error("nothing followed a report: %s", type(error).__name__)

    def _read(self, message: ReceivedMessage, item: int) -> RiskVerdict:
        return self._agents.risk.read(MessageToCheck(text=message.text, item=item, message_id=message.message_id))

    def _audit_refused(self, message: ReceivedMessage, verdict: RiskVerdict, reason: str) -> None:
        with suppress(NotFoundError):  # no session, hence no key and nothing to audit
            self._desk.record(replace(message, refused=reason), verdict)

    def _stop(self, message: ReceivedMessage, verdict: RiskVerdict) -> View:
        """Close the session for safety. Where the database is gone or hangs, or anything else fails, the stop goes to
        the spool and the script is raised; where the session is gone, there is only the script.
        """
        try:
            return self._stopping.submit(self._closed_at_once, message, verdict).result(timeout=_STOP_SECONDS)
        except NotFoundError:
            if not message.text:  # a therapist's own
                raise
            raise UnrecordedStop(self._script(message.session_id)) from None
        except Exception as error:  # no fault of any kind may keep the script from the patient
            self._spooled(message, verdict, error)

    def _spooled(self, message: ReceivedMessage, verdict: RiskVerdict, error: Exception) -> NoReturn:
        log.critical("a safety stop could not be entered: %s", type(error).__name__)
        try:
            self._desk.spool_stop(message, verdict)
        except Exception as second:
            log.critical("nor could it be spooled: %s", type(second).__name__)
        raise UnrecordedStop(self._script(message.session_id)) from None

    def _closed_at_once(self, message: ReceivedMessage, verdict: RiskVerdict) -> View:
        """The script waits for this, so a database that is gone is not waited for."""
        if not self._db.is_there():
            raise ServiceError("the database is gone.")
        return self._closed(message, verdict)

    def _closed(self, message: ReceivedMessage, verdict: RiskVerdict) -> View:
        """On record at once, even while another message is being worked on: whoever does that enters it afterwards."""
        try:
            with self._threads.locked(message.session_id, urgent=True) as lock:
                self._record_stop(message, verdict)
                return view_of(self._entered(message.session_id, lock))
        except TurnInProgress:
            self._record_stop(message, verdict)
            return self.stored(message.session_id)

    def _record_stop(self, message: ReceivedMessage, verdict: RiskVerdict) -> None:
        if not _is_stopped(self.sessions.get(message.session_id)):
            self._desk.record(message, verdict)
        elif not self._desk.has(message):  # another one, after the stop
            self._audit_refused(message, verdict, _CLOSED_OR_KNOWN)

    def _finished(self, state: InterviewState, lock: Connection) -> InterviewState:
        """With the stop in it that came while this turn was being worked on."""
        session_id = state.setup.session_id
        if _has_stop(state):
            self._desk.entered(session_id, _said(state))
            return state
        return self._entered(session_id, lock) if self.sessions.is_stopped(session_id) else state

    def _entered(self, session_id: str, lock: Connection) -> InterviewState:
        """Bring a stop that is on record into the conversation. No engine is asked any more on the way there."""
        session = self.sessions.get(session_id)
        try:
            state = self._heard_out(session, lock)
        except NotFoundError:
            raise
        except Exception as error:  # whatever broke the conversation, it must not keep the stop from being entered
            if is_gone(error):  # nothing is broken: it is entered as soon as the database is back, and with its words
                raise
            log.critical("a session is stopped although it cannot be taken up: %s", type(error).__name__)
            state = self._threads.unbroken(session)
        if not _has_stop(state):
            state = self._threads.written(session_id, self._stop_update(state), "SAFETY_STOP", lock)
        self._desk.entered(session_id, _said(state))
        return state

    def _heard_out(self, session: Session, lock: Connection) -> InterviewState:
        """What the ledger holds is in the conversation, and so is the stop's message if it answers the open turn."""
        state = self._threads.recovered(session, lock)
        message, _ = self._desk.waiting(session.id)
        _, waits = self._threads.load(session.id)
        known = self.turns.by_message(session.id, message.message_id)
        if message.text and waits and known is None and state.is_open and state.cursor.turn == message.turn:
            turn = self.turns.add(session.id, message.turn, message.message_id, message.text, message.at)
            state = self._threads.resume(turn, lock)
        return state

    def _stop_update(self, state: InterviewState) -> InterviewUpdate:
        session_id = state.setup.session_id
        message, verdict = self._desk.waiting(session_id)
        known = self.turns.by_message(session_id, message.message_id)
        heard_at = known.turn if known and known.turn < state.cursor.turn else None
        return stop_update(state, message, verdict, self._agents.of(session_id).script, heard_at=heard_at)

    def _drain(self) -> None:
        """Enter the stops that happened while the database was gone, before any later turn of any session."""
        self._enter_held()
        if self._desk.spool.empty:
            return
        try:
            self._desk.spool.drain(lambda raised: self._enter_late(*decided(raised)))
        except SealError as error:  # set aside and listed by the doctor; it must not fail somebody else's turn
            log.critical("a spooled safety stop does not open: %s", error)
        except StopNotEntered as error:  # it stays there: its own session shows the script, the others go on
            log.critical("a spooled safety stop cannot be entered: %s", error)

    def _enter_held(self) -> None:
        for message, verdict in self._desk.held:
            try:
                self._enter_late(message, verdict)
            except ServiceError:
                raise
            except Exception as error:
                log.critical("a safety stop that is written nowhere cannot be entered: %s", type(error).__name__)
            else:
                self._desk.release(message.session_id)

    def _enter_late(self, message: ReceivedMessage, verdict: RiskVerdict) -> None:
        try:
            self._closed(message, verdict)
        except NotFoundError:
            return  # deleted meanwhile
        except ServiceError:
            raise
        except Exception as error:
            if not self.sessions.is_stopped(message.session_id):
                raise
            log.critical("a stop is on record, but its conversation cannot be read: %s", type(error).__name__)

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
        with self._turn_of(session_id) as lock:
            session = self.sessions.get(session_id)
            if _is_stopped(session):
                return view_of(self._entered(session_id, lock))
            return self._shown(self._finished(self._threads.recovered(session, lock), lock))


def _is_stopped(session: Session) -> bool:
    return session.status == SessionStatus.TERMINATED.value


def _said(state: InterviewState) -> set[str]:
    return {line.text for line in state.lines if line.role == "patient"}


def _has_stop(state: InterviewState) -> bool:
    """With its script, which the node after the one that closes the session says."""
    is_closed = state.profile.session_status is SessionStatus.TERMINATED
    return is_closed and any(line.kind == "safety_script" for line in state.lines)
