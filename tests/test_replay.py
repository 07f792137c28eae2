"""Looking back at a session, and taking another way on a copy; the patient's own thread is never touched."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from langgraph.types import Command

from agents.escalation import escalation
from errors import InputError, NotFoundError
from graph.replay import Fork, Replay
from graph.runtime import InterviewRuntime
from graph.transcripts import NOTHING_TO_ADD
from graph.view import View
from instruments.profile import SessionStatus
from settings import Settings
from storage.audit import Audit
from storage.database import Database
from storage.jobs import Jobs
from storage.notices import Notices
from tests.answers import answer_all, answer_until
from tests.tables import rows_naming, rows_of
from tests.wrapped import spied_runtime
from ui.workspace.compared import compared as in_words
from ui.workspace.replay import timeline

VAGUE = "My brother visited from Leeds."
DANGER = "I am going to kill myself tonight."
WORRY = "I sometimes wish I was dead, then it passes. Several days."
ITEMS = [f"L1-{n:02d}" for n in range(1, 24)]


@pytest.fixture
def replay(database: Database, runtime: InterviewRuntime) -> Replay:
    return Replay(database, runtime)


def _waiting_at(replay: Replay, session: str, item: int, kind: str = "ASK_ITEM") -> str:
    """The checkpoint at which an item's question (or its follow-up) had just been asked."""
    found = [c for c in replay.checkpoints(session) if c.item == item and c.nodes == (kind,)]
    return found[0].checkpoint_id


# ---- looking back ----


def test_the_history_lists_every_step_with_its_node_item_score_and_time(
    runtime: InterviewRuntime, replay: Replay
) -> None:
    view = runtime.submit(runtime.start().session_id, VAGUE, expected_turn=1)
    runtime.submit(view.session_id, "9 days", expected_turn=2)
    found = replay.checkpoints(view.session_id)
    assert [(c.number, c.nodes, c.item, c.score) for c in found] == [
        (1, ("START",), None, None),
        (2, ("INTRO",), None, None),
        (3, ("ASK_ITEM",), 1, None),
        (4, ("RISK_CHECK",), 1, None),
        (5, ("SCORE_ITEM",), 1, found[4].score),
        (6, ("FOLLOW_UP",), 1, None),
        (7, ("RISK_CHECK",), 1, None),
        (8, ("SCORE_ITEM",), 1, 3),
        (9, ("ASK_ITEM",), 2, None),
    ]
    assert found[4].score is not None
    assert [c.at for c in found] == sorted(c.at for c in found)
    assert {c.status for c in found} == {SessionStatus.ACTIVE}


def test_an_item_that_was_skipped_is_not_determined_wherever_one_looks_back(
    runtime: InterviewRuntime, replay: Replay
) -> None:
    view = answer_until(runtime, runtime.start(), 3)
    for turn in (3, 4):
        view = runtime.submit(view.session_id, "skip", expected_turn=turn)
    scored = [c for c in replay.checkpoints(view.session_id) if c.score is not None]
    assert [c.shown_score for c in scored] == ["2", "2", *["not determined (best fit 0)"] * 2]
    assert timeline(scored, set()).count("<b>not determined (best fit 0)</b>") == 2
    assert [one["undetermined"] for one in (c.to_json_dict() for c in scored)] == [False, False, True, True]
    made = replay.fork(view.session_id, _waiting_at(replay, view.session_id, 3), "Not at all.")
    (change,) = made.comparison.domains.values()
    assert (str(change.before), str(change.after)) == ("not determined (best fit 0)", "0")
    assert "<td>not determined (best fit 0)</td>" in in_words(made.comparison)


def test_the_state_at_a_checkpoint_is_what_was_shown_then(runtime: InterviewRuntime, replay: Replay) -> None:
    shown = [runtime.start()]
    for turn in range(1, 5):
        shown.append(runtime.submit(shown[-1].session_id, "Several days.", expected_turn=turn))
    session = shown[0].session_id
    asked = [c for c in replay.checkpoints(session) if c.nodes == ("ASK_ITEM",)]
    assert [replay.view(session, c.checkpoint_id) for c in asked] == shown
    assert [replay.view(session, str(c.number)) for c in asked] == shown


def test_a_diff_is_typed_and_readable(runtime: InterviewRuntime, replay: Replay) -> None:
    view = answer_until(runtime, runtime.start(), 3)
    runtime.submit(view.session_id, WORRY, expected_turn=3)
    session, last = view.session_id, str(len(replay.checkpoints(view.session_id)))
    first = _waiting_at(replay, session, 3)
    changes = replay.diff(session, first, last)
    assert list(changes.scores) == ["L1-03"]
    assert changes.scores["L1-03"].before is None
    assert changes.scores["L1-03"].after is not None
    assert changes.scores["L1-03"].after.score == 2
    assert changes.cursor is not None
    assert (changes.cursor.before.turn, changes.cursor.after.turn) == (3, 4)
    assert changes.flags_set == ("suicidalityMentioned",)
    assert [(line.turn, line.role) for line in changes.lines_added] == [(3, "patient"), (4, "interviewer")]
    assert changes.status is None
    assert (changes.lines_removed, changes.flags_cleared) == ((), ())
    told = changes.readable()
    assert told[0].startswith("L1-03: none → 2")
    assert "flag set: suicidalityMentioned" in told
    assert f"+ turn 3, patient (answer): {WORRY}" in told
    back = replay.diff(session, last, first)
    assert (back.lines_removed, back.flags_cleared) == (changes.lines_added, changes.flags_set)
    assert replay.diff(session, first, first).readable() == []


def test_a_stop_is_a_change_of_status(runtime: InterviewRuntime, replay: Replay) -> None:
    view = runtime.start()
    runtime.submit(view.session_id, DANGER, expected_turn=1)
    changes = replay.diff(view.session_id, "3", "5")
    assert "status: active → terminated_for_safety" in changes.readable()


def test_an_unknown_session_or_checkpoint_is_one_clear_message(runtime: InterviewRuntime, replay: Replay) -> None:
    with pytest.raises(NotFoundError, match="there is no session 'nope'"):
        replay.checkpoints("nope")
    with pytest.raises(NotFoundError, match="has not begun"):
        replay.checkpoints(runtime.sessions.create().id)
    session = runtime.start().session_id
    with pytest.raises(NotFoundError, match="no checkpoint '99'; this session has numbers 1 to 3"):
        replay.view(session, "99")
    with pytest.raises(NotFoundError):
        replay.fork(session, "0", "Never")
    with pytest.raises(InputError, match="is not a fork"):
        replay.compare(session)


# ---- forks ----


def test_a_fork_differs_by_the_changed_answer_and_leaves_its_parent_alone(
    runtime: InterviewRuntime, database: Database, replay: Replay
) -> None:
    original = answer_all(runtime, runtime.start())
    runtime.reports.newest(original.session_id)  # it is being written meanwhile
    before = rows_of(database, original.session_id)
    made = replay.fork(original.session_id, _waiting_at(replay, original.session_id, 14), "12 days, every night")
    assert rows_of(database, original.session_id) == before
    assert (made.replayed, made.filled_in, made.waits_for_item) == (9, 0, None)
    fork = runtime.view(made.session_id)
    said = {line.turn: line.text for line in fork.lines if line.role == "patient"}
    assert said == {turn: "12 days, every night" if turn == 14 else "Several days." for turn in range(1, 24)}
    assert [(line.turn, line.text) for line in fork.lines if line.role == "interviewer"] == [
        (line.turn, line.text) for line in original.lines if line.role == "interviewer"
    ]
    assert [t.text for t in runtime.turns.of_session(made.session_id)] == list(said.values())
    compared = made.comparison
    assert list(compared.scores) == ["L1-14"]
    change = compared.scores["L1-14"]
    assert (change.before and change.before.score, change.after and change.after.score) == (2, 4)
    domains = {name: (str(c.before), str(c.after)) for name, c in compared.domains.items()}
    assert domains == {"Sleep Problems": ("2", "4")}
    assert (compared.status, compared.flags_gained, compared.flags_lost) == (None, (), ())
    assert replay.compare(made.session_id) == compared


def test_a_fork_is_marked_and_everything_in_it_bears_its_own_name(
    runtime: InterviewRuntime, database: Database, replay: Replay
) -> None:
    view = answer_until(runtime, runtime.start(mode="screening", persona="slow-winter"), 5)
    checkpoint = _waiting_at(replay, view.session_id, 3)
    made = replay.fork(view.session_id, checkpoint, "9 days")
    row = runtime.sessions.get(made.session_id)
    assert (row.origin, row.parent_id, row.parent_checkpoint) == ("fork", view.session_id, checkpoint)
    assert (row.mode, row.persona, row.next_turn) == ("screening", "slow-winter", 5)
    fork = runtime.view(made.session_id)
    assert fork.session_id == fork.profile.session_meta.session_id == made.session_id
    history = replay.checkpoints(made.session_id)
    assert {c.item for c in history} == {None, 1, 2, 3, 4, 5}
    named = {replay.view(made.session_id, c.checkpoint_id).profile.session_meta.session_id for c in history}
    assert named == {made.session_id}
    assert made.session_id not in [session.id for session in runtime.sessions.newest()]


def test_the_audit_of_a_fork_is_its_own(runtime: InterviewRuntime, database: Database, replay: Replay) -> None:
    view = answer_until(runtime, runtime.start(), 5)
    before = Audit(database).entries(view.session_id)
    made = replay.fork(view.session_id, _waiting_at(replay, view.session_id, 3), "9 days")
    assert Audit(database).entries(view.session_id) == before
    entries = Audit(database).entries(made.session_id)
    assert (entries[0]["kind"], entries[0]["parent"]) == ("fork", view.session_id)
    assert [(entry["kind"], entry["turn"]) for entry in entries[1:]] == [("check", 3), ("check", 4)]
    assert Audit(database).verify()[1] == []


def test_a_follow_up_that_the_original_was_not_asked_gets_the_neutral_answer(
    runtime: InterviewRuntime, replay: Replay
) -> None:
    view = answer_until(runtime, runtime.start(), 6)
    made = replay.fork(view.session_id, _waiting_at(replay, view.session_id, 2), VAGUE)
    assert (made.replayed, made.filled_in, made.waits_for_item) == (3, 1, 6)
    fork = runtime.view(made.session_id)
    assert [line.text for line in fork.lines if line.role == "patient" and line.item == 2] == [VAGUE, NOTHING_TO_ADD]
    assert fork.profile.question_state.follow_ups_needed == ("L1-02",)


def test_answers_are_found_again_by_what_they_answered_not_by_their_number(
    runtime: InterviewRuntime, replay: Replay
) -> None:
    """The original needed a follow-up that the fork does not: from there on its turns have other numbers."""
    view = runtime.submit(runtime.start().session_id, VAGUE, expected_turn=1)
    for turn, text in enumerate(("9 days", "Not at all.", "13 days"), start=2):
        view = runtime.submit(view.session_id, text, expected_turn=turn)
    made = replay.fork(view.session_id, _waiting_at(replay, view.session_id, 1), "1 day")
    fork = runtime.view(made.session_id)
    assert [r.score for r in fork.profile.item_responses] == [1, 0, 4]
    assert (made.replayed, made.waits_for_item, fork.turn) == (2, 4, 4)
    same = replay.fork(view.session_id, _waiting_at(replay, view.session_id, 1), VAGUE)
    assert not same.comparison.scores, "the follow-up's answer was given again"
    follow_up = replay.fork(view.session_id, _waiting_at(replay, view.session_id, 1, "FOLLOW_UP"), "4 days")
    assert [r.score for r in runtime.view(follow_up.session_id).profile.item_responses] == [2, 0, 4]


def test_every_checkpoint_can_be_forked_and_a_fork_of_a_fork_too(runtime: InterviewRuntime, replay: Replay) -> None:
    view = answer_until(runtime, runtime.start(), 4)
    for checkpoint in replay.checkpoints(view.session_id):
        made = replay.fork(view.session_id, str(checkpoint.number), "Not at all.")
        assert made.waits_for_item == (5 if checkpoint.number > 9 else 4), checkpoint
    again = replay.fork(made.session_id, _waiting_at(replay, made.session_id, 2), "13 days")
    scores = [r.score for r in runtime.view(again.session_id).profile.item_responses]
    assert scores == [2, 4, 2, 0]
    assert runtime.sessions.get(again.session_id).parent_id == made.session_id


def test_where_nothing_is_asked_any_more_nothing_is_forked(runtime: InterviewRuntime, replay: Replay) -> None:
    done = answer_all(runtime, runtime.start())
    last = replay.checkpoints(done.session_id)
    assert [c.nodes for c in last[-3:]] == [("RISK_CHECK",), ("SCORE_ITEM",), ("REPORT",)]
    for checkpoint in last[-3:]:
        with pytest.raises(InputError, match=f"nothing is asked any more after checkpoint {checkpoint.number}"):
            replay.fork(done.session_id, checkpoint.checkpoint_id, "Never")
    assert runtime.sessions.forks_of(done.session_id) == []


def test_no_words_of_a_fork_are_plain_in_the_database(
    runtime: InterviewRuntime, database: Database, replay: Replay
) -> None:
    view = answer_until(runtime, runtime.start(), 4, "Several days, says the violet heron.")
    replay.fork(view.session_id, _waiting_at(replay, view.session_id, 2), "9 days, says the amber finch.")
    assert rows_naming(database, "heron") == rows_naming(database, "finch") == {}


# ---- danger ----


def test_a_dangerous_answer_stops_the_fork_and_not_the_parent(
    runtime: InterviewRuntime, database: Database, replay: Replay
) -> None:
    view = answer_until(runtime, runtime.start(), 5)
    job = Jobs(database).enqueue("benchmark", "x", session_id=view.session_id)
    made = replay.fork(view.session_id, _waiting_at(replay, view.session_id, 3), DANGER)
    assert made.comparison.fork.status is SessionStatus.TERMINATED
    assert made.replayed == 0
    assert _is_stopped(runtime.view(made.session_id))
    assert runtime.sessions.get(made.session_id).status == "terminated_for_safety"
    assert runtime.view(view.session_id) == view
    assert Jobs(database).get(job.id).status == "queued"
    assert Audit(database).entries(made.session_id)[-1]["level"] == "stop"


def test_forks_notify_nobody(runtime: InterviewRuntime, database: Database, replay: Replay) -> None:
    view = answer_until(runtime, runtime.start(), 3)
    for text in (WORRY, DANGER):
        replay.fork(view.session_id, _waiting_at(replay, view.session_id, 2), text)
    assert Notices(database).unacknowledged() == []
    assert not Notices(database).add(runtime.sessions.forks_of(view.session_id)[0], "flag")
    runtime.submit(view.session_id, WORRY, expected_turn=3)
    assert [notice.session_id for notice in Notices(database).unacknowledged()] == [view.session_id]


def test_a_session_can_be_forked_from_before_its_stop_and_stays_stopped(
    runtime: InterviewRuntime, database: Database, replay: Replay
) -> None:
    view = answer_until(runtime, runtime.start(), 4)
    stopped = runtime.submit(view.session_id, DANGER, expected_turn=4)
    before = rows_of(database, view.session_id)
    at_the_stop = replay.fork(view.session_id, _waiting_at(replay, view.session_id, 4), "Not at all.")
    assert at_the_stop.comparison.fork.status is SessionStatus.ACTIVE
    assert at_the_stop.waits_for_item == 5
    earlier = replay.fork(view.session_id, _waiting_at(replay, view.session_id, 2), "Not at all.")
    assert earlier.comparison.fork.status is SessionStatus.TERMINATED, "the dangerous message was given again"
    assert runtime.view(view.session_id) == stopped
    assert rows_of(database, view.session_id) == before


@pytest.fixture
def calls() -> list[str]:
    return []


@pytest.fixture
def spied(settings: Settings, database: Database, calls: list[str]) -> Iterator[InterviewRuntime]:
    with spied_runtime(settings, database, calls) as made:
        yield made


def _script() -> str:
    return escalation("en-US").script


def _is_stopped(view: View) -> bool:
    return view.profile.session_status is SessionStatus.TERMINATED and view.lines[-1].text == _script()


def _stopped_in_the_middle(runtime: InterviewRuntime) -> View:
    view = answer_until(runtime, runtime.start(), 4)
    return runtime.submit(view.session_id, DANGER, expected_turn=4)


def _stopped_after_the_end(runtime: InterviewRuntime) -> View:
    view = answer_all(runtime, runtime.start())
    runtime.reports.newest(view.session_id)
    return runtime.submit(view.session_id, DANGER, expected_turn=view.turn)


def _stopped_by_the_therapist(runtime: InterviewRuntime) -> View:
    return runtime.stop(answer_until(runtime, runtime.start(), 4).session_id)


@pytest.mark.parametrize("stop", [_stopped_in_the_middle, _stopped_after_the_end, _stopped_by_the_therapist])
@pytest.mark.parametrize("answer", ["Not at all.", VAGUE, WORRY, DANGER])
def test_a_fork_from_the_stop_or_after_it_is_the_same_script_and_asks_no_engine(
    spied: InterviewRuntime, database: Database, calls: list[str], stop: Any, answer: str
) -> None:
    stopped, replay = stop(spied), Replay(database, spied)
    assert calls, "the spies see what is asked"
    calls.clear()
    closed = [c for c in replay.checkpoints(stopped.session_id) if c.status is SessionStatus.TERMINATED]
    assert closed
    for checkpoint in closed:
        made = replay.fork(stopped.session_id, checkpoint.checkpoint_id, answer)
        fork = spied.view(made.session_id)
        assert _is_stopped(fork)
        assert fork.profile.item_responses == stopped.profile.item_responses
        assert (made.replayed, made.filled_in) == (0, 0)
        assert [line.text for line in fork.lines] == [line.text for line in stopped.lines]
    assert spied.view(stopped.session_id) == stopped
    assert calls == []


@pytest.mark.parametrize("stop", [_stopped_in_the_middle, _stopped_after_the_end, _stopped_by_the_therapist])
def test_replaying_or_resuming_a_stop_is_the_same_script_and_asks_no_engine(
    spied: InterviewRuntime, database: Database, calls: list[str], stop: Any
) -> None:
    stopped, replay = stop(spied), Replay(database, spied)
    calls.clear()
    for checkpoint in replay.checkpoints(stopped.session_id):
        if checkpoint.status is SessionStatus.TERMINATED:
            place = {"thread_id": stopped.session_id, "checkpoint_id": checkpoint.checkpoint_id}
            config: Any = {"configurable": place}
            answer = {"text": "I am fine", "at": "2026-01-01T00:00:00Z", "id": "x"}
            commands: list[Command[Any] | None] = [None, Command(resume=answer)]
            for command in commands:
                spied.graph.invoke(command, config, durability="sync")
                assert _texts(spied.view(stopped.session_id)) == _texts(stopped)
    assert spied.recover(stopped.session_id).lines[-1].text == _script()
    assert _texts(spied.submit(stopped.session_id, "I am fine", expected_turn=stopped.turn)) == _texts(stopped)
    assert calls == []


def _texts(view: View) -> list[str]:
    assert _is_stopped(view)
    return [line.text for line in view.lines]


def test_a_fork_says_what_it_is_as_json(runtime: InterviewRuntime, replay: Replay) -> None:
    view = answer_until(runtime, runtime.start(), 3)
    made = replay.fork(view.session_id, "3", "13 days")
    told = made.to_json_dict()
    assert told["parentId"] == view.session_id
    assert told["comparison"]["scores"]["L1-01"]["after"]["score"] == 4
    assert Fork.model_validate(told) == made
