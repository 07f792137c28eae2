"""A session's thread of the graph: begun, resumed with a message of the ledger, recovered where a process was killed.

Recovery never asks LangGraph whether a run is finished (`next` is also empty between a node's writes and the next
checkpoint); it asks whether the graph waits for a message that the ledger already has.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command

from errors import StorageError, TurnInProgress
from graph.checkpoints import SealedSaver
from graph.interview import InterviewAgents, build_interview
from graph.provenance import Provenance
from graph.state import InterviewState, InterviewUpdate, Setup, first_state, plain
from instruments.profile import PatientProfile, SessionMeta
from settings import RULES
from storage.database import Connection, Database, borrowed
from storage.sessions import Progress, Session, Sessions, lock_key
from storage.turns import Turn, Turns

_MAX_STEPS_A_TURN = 25
_STOP_PATIENCE_SECONDS = 2.0


@dataclass(frozen=True)
class Versions:
    """What made this session's words and scores; the first two go into `sessionMeta`."""

    model: str
    prompt: str
    provenance: Provenance
    driven_by: Callable[[str], str] = str
    """The same as `model` for a session with a model of its own."""
    patient: str = RULES
    """Who plays personas."""

    def of(self, session: Session) -> str:
        played = session.persona is not None and self.patient != RULES
        return (self.driven_by(session.model) if session.model else self.model) + f" patient={self.patient}" * played


class InterviewThreads:
    """Whoever changes a thread holds the session's lock, and gives the connection that holds it."""

    def __init__(self, database: Database, agents: InterviewAgents, versions: Versions) -> None:
        self._db = database
        self.versions = versions
        self._sessions = Sessions(database)
        self._turns = Turns(database)
        self.graph: CompiledStateGraph[Any, Any, Any, Any] = build_interview(agents).compile(
            checkpointer=SealedSaver(database)
        )

    def load(self, session_id: str) -> tuple[InterviewState | None, bool]:
        """The checkpointed state, and whether the graph waits for a message."""
        snapshot = self.graph.get_state(_config(session_id))
        return (InterviewState(snapshot.values) if snapshot.values else None), bool(snapshot.interrupts)

    def begin(self, session: Session, seed: int | None, lock: Connection) -> InterviewState:
        return self._invoke(session.id, self._first_state(session, seed), lock)

    def resume(self, turn: Turn, lock: Connection) -> InterviewState:
        message = {"text": turn.text, "at": turn.received_at.isoformat(), "id": turn.message_id}
        return self._invoke(turn.session_id, Command(resume=message), lock)

    def recovered(self, session: Session, lock: Connection) -> InterviewState:
        state, waits = self.load(session.id)
        if state is None:
            return self.begin(session, None, lock)
        if not waits:
            state = self._invoke(session.id, None, lock)
        elif session.next_turn != state.cursor.turn:  # killed after the checkpoint, before the row
            self.record_progress(state, lock)
        while (turn := self.pending_turn(state)) is not None:
            state = self.resume(turn, lock)
            if state.is_open and state.cursor.turn <= turn.turn:
                raise StorageError("a session's conversation waits for nothing and cannot go on")
        return state

    def pending_turn(self, state: InterviewState) -> Turn | None:
        """The message that the ledger holds and the conversation has not got to."""
        return self._turns.get(state.setup.session_id, state.cursor.turn) if state.is_open else None

    def unbroken(self, session: Session) -> InterviewState:
        """The state as it was stored last, or that of a session which never began."""
        found, _ = self.load(session.id)
        return found or InterviewState(self._first_state(session, None))

    def written(self, session_id: str, update: InterviewUpdate, node: str, lock: Connection) -> InterviewState:
        """Write to the thread from outside of its flow, as if `node` had."""
        self.graph.update_state(_config(session_id), plain(update), as_node=node)
        state, _ = self.load(session_id)
        if state is None:
            raise StorageError("what was written to a session cannot be read back")
        self.record_progress(state, lock)
        return state

    def record_progress(self, state: InterviewState, lock: Connection | None = None) -> None:
        self._sessions.record_progress(state.setup.session_id, _progress(state), lock)

    @contextmanager
    def locked(self, session_id: str, *, urgent: bool = False) -> Iterator[Connection]:
        """The connection that holds the session's advisory lock, which dies with it: a killed process keeps none.

        Nobody waits for a turn that is being worked on; what is urgent does not wait long for a database that is gone.
        """
        key = lock_key(session_id)
        with borrowed(self._db.locks, _STOP_PATIENCE_SECONDS if urgent else None) as connection:
            row = connection.execute("SELECT pg_try_advisory_lock(%s) AS taken", (key,)).fetchone()
            if row is None or not row["taken"]:
                raise TurnInProgress("the last message of this session is still being worked on: wait a moment.")
            try:
                yield connection
            finally:
                connection.execute("SELECT pg_advisory_unlock(%s)", (key,))

    def _invoke(self, session_id: str, value: Any, lock: Connection) -> InterviewState:
        state = InterviewState(self.graph.invoke(value, _config(session_id), durability="sync"))
        self.record_progress(state, lock)
        return state

    def _first_state(self, session: Session, seed: int | None) -> dict[str, Any]:
        meta = SessionMeta(
            session_id=session.id,
            model_version=self.versions.of(session),
            prompt_version=self.versions.prompt,
            synthetic_persona_id=session.persona,
        )
        setup = Setup(session_id=session.id, mode=session.mode, seed=_seed(session.id, seed))
        return first_state(setup, PatientProfile(session_meta=meta))


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
