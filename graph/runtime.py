"""Runs interviews: a patient's message is taken exactly once, and whatever was killed is taken up again.

A turn: lock the session, recover it, enter the message in the ledger, resume the graph. Recovery never asks LangGraph
whether a run is finished (`next` is also empty between a node's writes and the next checkpoint); it asks whether the
graph waits for a message that the ledger already has.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command

from errors import InputError, StaleTurn, TurnInProgress
from graph.checkpoints import SealedSaver
from graph.interview import InterviewAgents, build_interview
from graph.state import InterviewState, Line, ScoreRecord, Setup, first_state
from instruments.profile import PatientProfile, SessionMeta, SessionStatus
from storage.database import Connection, Database, borrowed
from storage.sessions import DiagnosticMode, Progress, Session, Sessions
from storage.turns import Turn, Turns

MAX_MESSAGE_CHARACTERS = 100_000
_MAX_STEPS_A_TURN = 25


@dataclass(frozen=True)
class View:
    """What a screen shows of a session, read from its checkpoint."""

    session_id: str
    profile: PatientProfile
    turn: int
    item: int
    lines: tuple[Line, ...]
    records: dict[int, ScoreRecord]

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
    def __init__(self, database: Database, agents: InterviewAgents, versions: Versions, *, workers: int = 8) -> None:
        self._db = database
        self._versions = versions
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
        self, *, mode: DiagnosticMode = "diagnostic", persona: str | None = None, seed: int | None = None
    ) -> View:
        session = self.sessions.create(mode=mode, persona=persona)
        return self._executor.submit(self._start, session, seed).result()

    def submit(self, session_id: str, text: str, *, expected_turn: int, message_id: str | None = None) -> View:
        """Take the patient's message as turn `expected_turn`, the one shown on the sender's screen."""
        if len(text) > MAX_MESSAGE_CHARACTERS:
            raise InputError(f"a message may have {MAX_MESSAGE_CHARACTERS:,} characters, this one has {len(text):,}.")
        message = message_id or uuid.uuid4().hex
        return self._executor.submit(self._take, session_id, text, expected_turn, message).result()

    def view(self, session_id: str) -> View:
        """The session as it stands; work that a killed process left is finished first."""
        self.sessions.get(session_id)
        state, waits = self._load(session_id)
        if state is None or (state.is_open and (not waits or self._pending_turn(session_id, state))):
            return self.recover(session_id)
        return _view(state)

    def recover(self, session_id: str) -> View:
        return self._executor.submit(self._recover_locked, session_id).result()

    def recover_all(self) -> list[str]:
        """Finish every session that was left in the middle of a turn; sessions being worked on are left alone."""
        done = []
        for session_id in self.sessions.unfinished():
            try:
                self.recover(session_id)
            except TurnInProgress:
                continue
            done.append(session_id)
        return done

    def _start(self, session: Session, seed: int | None) -> View:
        with self._locked(session.id) as lock:
            return _view(self._begin(session, seed, lock))

    def _take(self, session_id: str, text: str, expected_turn: int, message_id: str) -> View:
        with self._locked(session_id) as lock:
            if not self.sessions.waits_for(session_id, expected_turn, lock):
                state = self._recovered(self.sessions.get(session_id), lock)
                if not state.is_open or self._is_duplicate(session_id, message_id, expected_turn, state):
                    return _view(state)
            turn = self.turns.add(session_id, expected_turn, message_id, text)
            if turn.turn != expected_turn:  # this message was taken before, as another turn
                return _view(self._recovered(self.sessions.get(session_id), lock))
            return _view(self._resume(turn, lock))

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
            return _view(self._recovered(self.sessions.get(session_id), lock))

    def _recovered(self, session: Session, lock: Connection) -> InterviewState:
        state, waits = self._load(session.id)
        if state is None:
            return self._begin(session, None, lock)
        if not waits:
            state = self._invoke(session.id, None, lock)
        while (turn := self._pending_turn(session.id, state)) is not None:
            state = self._resume(turn, lock)
        return state

    def _pending_turn(self, session_id: str, state: InterviewState) -> Turn | None:
        """The message that the ledger holds and the conversation has not got to."""
        return self.turns.get(session_id, state.cursor.turn) if state.is_open else None

    def _begin(self, session: Session, seed: int | None, lock: Connection) -> InterviewState:
        meta = SessionMeta(
            session_id=session.id,
            model_version=self._versions.model,
            prompt_version=self._versions.prompt,
            synthetic_persona_id=session.persona,
        )
        setup = Setup(session_id=session.id, mode=session.mode, seed=_seed(session.id, seed))
        return self._invoke(session.id, first_state(setup, PatientProfile(session_meta=meta)), lock)

    def _resume(self, turn: Turn, lock: Connection) -> InterviewState:
        message = {"text": turn.text, "at": turn.received_at.isoformat()}
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
    def _locked(self, session_id: str) -> Iterator[Connection]:
        """The connection that holds the session's advisory lock, which dies with it: a killed process keeps none."""
        key = int.from_bytes(hashlib.sha256(session_id.encode()).digest()[:8], signed=True)
        with borrowed(self._db.locks) as connection:
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


def _view(state: InterviewState) -> View:
    transcript = tuple(line.transcribed() for line in state.lines)
    return View(
        session_id=state.setup.session_id,
        profile=state.profile.model_copy(update={"transcript": transcript}),
        turn=state.cursor.turn,
        item=state.cursor.item,
        lines=tuple(state.lines),
        records=state.records,
    )
