"""Looking back at a session: its checkpoints, the state at each, two of them beside each other, and another way taken.

Nothing here touches the session itself. Another way is always taken on a copy.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from textwrap import shorten

import streamlit as st

from errors import CrosscutError
from graph.replay import Checkpoint, Fork, History, Replay
from graph.runtime import MAX_MESSAGE_CHARACTERS
from graph.view import View
from instruments.level1 import item_id, level1
from instruments.profile import SessionStatus
from storage.sessions import Session
from ui.bench import workbench
from ui.clicks import clicked
from ui.guard import guarded, log_fault
from ui.scrolling import scroll_to
from ui.workspace.compared import compared, told
from ui.workspace.findings import flag_names
from ui.workspace.markup import address, badge, draw, linked, text
from ui.workspace.scores import scores
from ui.workspace.transcript import transcript
from ui.workspace.words import steps

_HEIGHT = 460
_EXCERPT = 120  # characters
_STATUS = {"active": "in progress", "completed": "completed", "terminated_for_safety": "stopped for safety"}

_NO_WAY = {
    SessionStatus.COMPLETED: "Nothing is asked any more at this checkpoint. Choose an earlier one to change an answer.",
    SessionStatus.TERMINATED: "The session is stopped at this checkpoint: there is no other way from here. "
    "Choose an earlier one.",
}


def show(view: View) -> None:
    if view.profile.session_status is SessionStatus.TERMINATED:
        st.info(
            "This session was stopped for safety. It can be looked at up to the stop. Another way can be taken from "
            "before it, on a copy that is marked as such and reaches nobody.",
        )
    _panel(view.session_id)


@st.fragment
def _panel(session_id: str) -> None:
    """Only this is drawn again when another checkpoint is chosen."""
    with guarded():
        _show_panel(session_id)


def _show_panel(session_id: str) -> None:
    history = _replay().history(session_id)
    checkpoints = history.checkpoints
    chosen, other = _choose(checkpoints)
    steps, state = st.columns([1, 1], gap="medium")
    with steps:
        st.markdown("**Timeline**")
        with st.container(height=_HEIGHT, border=True, key="timeline"):
            draw(timeline(checkpoints, {chosen.number, other.number}))
        scroll_to(f"checkpoint-{chosen.number}")
    with state:
        st.markdown(f"**State at checkpoint {chosen.number}**")
        with st.container(height=_HEIGHT, border=True, key="state"):
            _show_state(history.view(str(chosen.number)))
    _show_difference(history, other, chosen)
    _offer_fork(session_id, history, chosen)
    _show_forks(session_id, checkpoints)


def _replay() -> Replay:
    return Replay(workbench().database, workbench().runtime)


def _choose(checkpoints: list[Checkpoint]) -> tuple[Checkpoint, Checkpoint]:
    count = len(checkpoints)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.number_input(
            "Checkpoint", 1, count, count, key="checkpoint", width=160, help="A state of the session that was stored."
        )
        other = st.number_input("Compare with", 1, count, max(1, count - 1), key="compared-with", width=160)
    return checkpoints[chosen - 1], checkpoints[other - 1]


def timeline(checkpoints: list[Checkpoint], chosen: set[int]) -> str:
    rows = "".join(_row(one, is_chosen=one.number in chosen) for one in checkpoints)
    head = "".join(f"<th>{name}</th>" for name in ("", "What happened", "Turn", "Item", "Score", "Time"))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _row(one: Checkpoint, *, is_chosen: bool) -> str:
    stop = f" {badge('stopped', 'stop')}" if one.status is SessionStatus.TERMINATED else ""
    cells = (
        str(one.number),
        steps(one.nodes) + stop,
        str(one.turn),
        text(item_id(one.item)) if one.item else "",
        f"<b>{text(one.shown_score)}</b>" if one.shown_score else "",
        text(f"{one.at.astimezone():%H:%M:%S}"),
    )
    kind = ' class="chosen" aria-selected="true"' if is_chosen else ""
    shown = "".join(f"<td>{cell}</td>" for cell in cells)
    return f'<tr id="checkpoint-{one.number}"{kind}>{shown}</tr>'


def _show_state(view: View) -> None:
    waiting = f"waits for turn {view.turn}, {item_id(view.item)}" if view.open and view.item else "waits for nothing"
    flags = ", ".join(flag_names(view.profile.risk_flags)) or "no flag"
    done, total = view.items_completed, len(level1().items)
    draw(
        f"<p>{text(_STATUS[view.profile.session_status])} · {done} of {total} items · {waiting} · {text(flags)}</p>"
        f"<h3>Said last</h3>{transcript(_last_turns(view))}"
        f"<details><summary>Scores by then</summary>{scores(view, {})}</details>"
    )


def _last_turns(view: View, count: int = 2) -> View:
    turns = sorted({line.turn for line in view.lines})[-count:]
    return replace(view, lines=tuple(line for line in view.lines if line.turn in turns))


def _show_difference(history: History, before: Checkpoint, after: Checkpoint) -> None:
    older, newer = sorted((before, after), key=lambda one: one.number)
    st.markdown(f"**What changed from checkpoint {older.number} to {newer.number}**")
    lines = told(history.diff(str(older.number), str(newer.number)))
    draw(
        f"<ul>{lines}</ul>" if lines else '<p class="soft">Nothing that was said, scored or flagged.</p>', "cc-changes"
    )


# ---- another way ----


def _offer_fork(session_id: str, history: History, chosen: Checkpoint) -> None:
    view = history.view(str(chosen.number))
    st.markdown("**Take another way from here**")
    if not view.open:
        draw(f'<p class="soft">{_NO_WAY[view.profile.session_status]}</p>')
        return
    draw(_replaced(view.turn, history.view(str(history.checkpoints[-1].number))))
    with st.form("fork"):
        answer = st.text_area(
            "The patient answers instead",
            key="fork-answer",
            max_chars=MAX_MESSAGE_CHARACTERS,
            height=80,
            help="The next answer after this checkpoint is replaced by this one; later answers are the session's own. "
            "It happens on a copy: the session stays as it is, and nobody is notified.",
        )
        fork = partial(_forked, _replay(), session_id, str(chosen.number), answer)
        label, entered = f"Fork from checkpoint {chosen.number}", (chosen.number, answer)
        with guarded(), st.spinner("Replaying the conversation on a copy …"):
            done = clicked(label, fork, key="fork-now", entered=entered, button=st.form_submit_button)
            if done:
                _say_what_became(done.result)


def _replaced(turn: int, last: View) -> str:
    """Which answer another one would take the place of."""
    said = next((line for line in last.lines if line.turn == turn and line.role == "patient"), None)
    if said is None:
        return f"<p>Turn {turn} has not been answered in this session.</p>"
    about = f", about {text(item_id(said.item))}" if said.item else ""
    words = shorten(said.text, _EXCERPT, placeholder=" …")
    return f"<p>This replaces turn {turn}{about}: “{text(words)}”</p>"


def _forked(replay: Replay, session_id: str, checkpoint: str, answer: str) -> Fork | None:
    return replay.fork(session_id, checkpoint, answer) if answer.strip() else None


def _say_what_became(fork: Fork | None) -> None:
    if fork is None:
        st.warning("Write the answer that the copy is to be given.")
        return
    times = "once" if fork.filled_in == 1 else f"{fork.filled_in} times"
    filled = f", {times} “nothing to add” to a follow-up that was never asked" if fork.filled_in else ""
    replayed = "1 later answer was" if fork.replayed == 1 else f"{fork.replayed or 'no'} later answers were"
    waits = f" It waits for an answer to {item_id(fork.waits_for_item)}." if fork.waits_for_item else ""
    st.success(f"A copy took the other way: {replayed} replayed{filled}.{waits}")


def _show_forks(session_id: str, checkpoints: list[Checkpoint]) -> None:
    sessions = workbench().runtime.sessions
    forks = [fork for fork in map(sessions.get, sessions.forks_of(session_id)) if fork.parent_id == session_id]
    if not forks:
        return
    st.markdown("**Copies, and how their outcome differs**")
    numbers = {one.checkpoint_id: one.number for one in checkpoints}
    stopped = checkpoints[-1].status is SessionStatus.TERMINATED
    for fork in sorted(forks, key=lambda one: one.created_at, reverse=True):
        with st.container(border=True):
            draw(_fork_told(fork, numbers.get(fork.parent_checkpoint or ""), from_before_a_stop=stopped))


def _fork_told(fork: Session, number: int | None, *, from_before_a_stop: bool) -> str:
    try:
        outcome = compared(_replay().compare(fork.id))
    except CrosscutError as error:
        log_fault(error)
        outcome = '<p class="soft">It cannot be compared right now.</p>'
    mark = badge("from before the stop, for looking back only", "flag") if from_before_a_stop else ""
    name = linked(f"Copy {text(fork.id[:8])}", address(fork.id, "chat"))
    return (
        f"<p>{name} from checkpoint {number or '?'}, {fork.created_at.astimezone():%d %b, %H:%M}, "
        f"{text(_STATUS[fork.status])} {mark}</p>{outcome}"
    )
