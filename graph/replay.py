"""Looks back at a session: its checkpoints, the state at each, what changed between two, and forks from one.

A fork never touches the patient's own thread, where time travel would reopen a finished or stopped conversation. It is
another session with a copy of the checkpoints; from there on everything goes through the runtime, as ever.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from langgraph.checkpoint.base import CheckpointTuple

from errors import InputError, NotFoundError
from graph.checkpoints import SealedSaver
from graph.comparison import Compared, Comparison, Outcome, StateDiff, diff_states, shown
from graph.conversation import asks_again
from graph.runtime import InterviewRuntime
from graph.state import InterviewState
from graph.transcripts import NOTHING_TO_ADD
from graph.view import View, view_of
from instruments.level1 import item_id
from instruments.profile import SessionStatus, Timestamp
from storage.audit import Audit
from storage.checkpoints import copy_thread
from storage.database import Database
from storage.sessions import Session

_NAMING_CHANNELS = ("setup", "profile", "__start__")
"""The channels in which a session's own id stands."""

_Answers = dict[tuple[int, str], deque[str]]


class Checkpoint(Compared):
    """A line of a session's history. `nodes` made it; `score` is the one that was given there, perhaps undetermined."""

    number: int
    checkpoint_id: str
    nodes: tuple[str, ...]
    turn: int
    item: int | None
    score: int | None
    undetermined: bool
    status: SessionStatus
    at: Timestamp

    @property
    def shown_score(self) -> str:
        return "" if self.score is None else shown(self.score, undetermined=self.undetermined)


class Fork(Compared):
    """`replayed` answers are the original's own; `filled_in` ones stand for follow-ups it was never asked.

    `waits_for_item` is where the original's answers end before the interview does.
    """

    session_id: str
    parent_id: str
    checkpoint_id: str
    replayed: int
    filled_in: int
    waits_for_item: int | None
    comparison: Comparison


@dataclass(frozen=True)
class _Moment:
    entry: Checkpoint
    state: InterviewState


@dataclass(frozen=True)
class _Reply:
    text: str
    is_own: bool


class History:
    """A session's checkpoints, read once: for whoever looks at several of them."""

    def __init__(self, moments: list[_Moment]) -> None:
        self._moments = moments

    @property
    def checkpoints(self) -> list[Checkpoint]:
        """Oldest first. A number or an id of them is what the other methods take for a checkpoint."""
        return [moment.entry for moment in self._moments]

    def view(self, checkpoint: str) -> View:
        """What a screen would have shown then; nothing is run."""
        return view_of(_named(self._moments, checkpoint).state)

    def diff(self, before: str, after: str) -> StateDiff:
        return diff_states(_named(self._moments, before).state, _named(self._moments, after).state)


class Replay:
    def __init__(self, database: Database, runtime: InterviewRuntime) -> None:
        self._db = database
        self._runtime = runtime
        self._saver = SealedSaver(database)

    def history(self, session_id: str) -> History:
        return History(self._moments(session_id))

    def checkpoints(self, session_id: str) -> list[Checkpoint]:
        return self.history(session_id).checkpoints

    def view(self, session_id: str, checkpoint: str) -> View:
        return self.history(session_id).view(checkpoint)

    def diff(self, session_id: str, before: str, after: str) -> StateDiff:
        return self.history(session_id).diff(before, after)

    def fork(self, session_id: str, checkpoint: str, answer: str) -> Fork:
        """Take another way from a checkpoint: the next answer is this one, later ones are the original's.

        From a stopped state there is no other way: the fork is stopped as well and shows the same script.
        """
        found = self._moments(session_id)
        chosen, latest = _named(found, checkpoint), found[-1]
        view = self._opened(self._runtime.sessions.get(session_id), chosen)
        later = self._answers_after(session_id, view.turn, latest.state)
        view = self._say(view, answer)
        given: list[bool] = []
        while view.open and (reply := _known_answer(later, view)) is not None:
            given.append(reply.is_own)
            view = self._say(view, reply.text)
        return Fork(
            session_id=view.session_id,
            parent_id=session_id,
            checkpoint_id=chosen.entry.checkpoint_id,
            replayed=given.count(True),
            filled_in=given.count(False),
            waits_for_item=view.item if view.open else None,
            comparison=Comparison.between(Outcome.of(latest.state.profile), Outcome.of(view.profile)),
        )

    def compare(self, session_id: str) -> Comparison:
        """A fork's outcome as it stands now beside that of the session it was forked from."""
        fork = self._runtime.sessions.get(session_id)
        if fork.parent_id is None:
            raise InputError(f"session {session_id!r} is not a fork, so there is nothing to compare it with.")
        original, copy = self._moments(fork.parent_id)[-1], self._moments(session_id)[-1]
        return Comparison.between(Outcome.of(original.state.profile), Outcome.of(copy.state.profile))

    def _opened(self, parent: Session, chosen: _Moment) -> View:
        """The copy, run up to the question that the new answer is for."""
        if chosen.state.is_open and not chosen.state.profile.question_state.pending_items:
            raise _nothing_asked(chosen)
        if chosen.entry.status is SessionStatus.COMPLETED:
            raise _nothing_asked(chosen)
        copy = self._copied(parent, chosen)
        view = self._runtime.recover(copy)
        is_over = view.profile.session_status is SessionStatus.COMPLETED  # the answer before it was the last
        if is_over or (view.open and not self._runtime.waits(copy)):  # or it was cut short by a stop
            self._runtime.delete(copy)
            raise _nothing_asked(chosen)
        return view

    def _copied(self, parent: Session, chosen: _Moment) -> str:
        """All at once, so that a killed process leaves a whole copy or none."""
        checkpoint = chosen.entry.checkpoint_id
        with self._db.transaction() as connection:
            copy = self._runtime.sessions.fork_within(connection, parent, checkpoint)

            def reseal(sealed: tuple[str, bytes]) -> tuple[str, bytes]:
                value = _renamed(self._saver.serde.loads_typed(sealed), parent.id, copy)
                return self._saver.serde.dumps_typed(value)

            copy_thread(connection, parent.id, copy, checkpoint, channels=_NAMING_CHANNELS, reseal=reseal)
            self._runtime.turns.copy_within(connection, parent.id, copy, before=chosen.state.cursor.turn)
            made = {"kind": "fork", "at": datetime.now(UTC).isoformat(timespec="seconds")}
            Audit(self._db).append_within(connection, copy, {**made, "parent": parent.id, "checkpoint": checkpoint})
        return copy

    def _say(self, view: View, text: str) -> View:
        return self._runtime.submit(view.session_id, text, expected_turn=view.turn, item=view.item, paused=view.paused)

    def _answers_after(self, session_id: str, turn: int, latest: InterviewState) -> _Answers:
        """The ledger's later messages by the item and the kind of question that they answered."""
        asked = {line.turn: (line.item, line.kind) for line in latest.lines if line.role == "interviewer" and line.item}
        later: _Answers = {}
        for entry in self._runtime.turns.of_session(session_id):
            if entry.turn > turn and entry.turn in asked:
                later.setdefault(asked[entry.turn], deque()).append(entry.text)
        return later

    def _moments(self, session_id: str) -> list[_Moment]:
        self._runtime.sessions.get(session_id)  # an unknown session is an error, not an empty history
        stored = [*self._saver.list({"configurable": {"thread_id": session_id}})][::-1]
        found = list(_numbered(stored))
        if not found:
            raise NotFoundError(f"session {session_id!r} has not begun: it has no checkpoint yet.")
        return found


def _numbered(stored: list[CheckpointTuple]) -> Iterator[_Moment]:
    number = 0
    seen_before: dict[str, Any] = {}
    for entry in stored:
        values, seen = entry.checkpoint["channel_values"], entry.checkpoint["versions_seen"]
        if "profile" in values:  # the first checkpoint only holds the input of the graph
            number += 1
            yield _read(number, entry, InterviewState(values), _nodes_between(seen_before, seen))
        seen_before = seen


def _read(number: int, stored: CheckpointTuple, state: InterviewState, nodes: tuple[str, ...]) -> _Moment:
    cursor = state.cursor
    response = state.profile.response(item_id(cursor.item)) if "SCORE_ITEM" in nodes else None
    entry = Checkpoint(
        number=number,
        checkpoint_id=stored.checkpoint["id"],
        nodes=nodes,
        turn=cursor.turn,
        item=cursor.item or None,
        score=response.score if response else None,
        undetermined=response is not None and response.undetermined,
        status=state.profile.session_status,
        at=datetime.fromisoformat(stored.checkpoint["ts"]),
    )
    return _Moment(entry, state)


def _nodes_between(before: dict[str, Any], after: dict[str, Any]) -> tuple[str, ...]:
    """The nodes that ran from one checkpoint to the next: those that have seen something new."""
    ran = sorted(name for name in after if after[name] != before.get(name))
    return tuple(name for name in ran if not name.startswith("__")) or ("START",)


def _named(moments: list[_Moment], checkpoint: str) -> _Moment:
    """By its number in the list or by its id."""
    for moment in moments:
        if checkpoint in (str(moment.entry.number), moment.entry.checkpoint_id):
            return moment
    raise NotFoundError(
        f"there is no checkpoint {checkpoint!r}; this session has numbers 1 to {len(moments)}, "
        "and `crosscut history SESSION` lists them."
    )


def _known_answer(later: _Answers, view: View) -> _Reply | None:
    """What the original answered to this, each once. A follow-up that it was never asked gets the answer that adds
    nothing, as with prepared answers; a question that it was never asked gets none."""
    if own := later.get((view.item, view.lines[-1].kind)):
        return _Reply(own.popleft(), is_own=True)
    return _Reply(NOTHING_TO_ADD, is_own=False) if asks_again(view) else None


def _renamed(value: Any, old: str, new: str) -> Any:
    if not isinstance(value, dict):
        return value
    return {
        key: new if key == "session_id" and part == old else _renamed(part, old, new) for key, part in value.items()
    }


def _nothing_asked(chosen: _Moment) -> InputError:
    return InputError(
        f"nothing is asked any more after checkpoint {chosen.entry.number}, so no answer can be changed there: "
        "choose an earlier one."
    )
