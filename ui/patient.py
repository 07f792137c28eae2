"""The patient's side of a session, behind its link: the conversation and nothing of what is made of it."""

from __future__ import annotations

import uuid
from time import sleep

import streamlit as st

from errors import NotFoundError, ServiceError, StaleTurn, TurnInProgress, UnrecordedStop
from graph.runtime import MAX_MESSAGE_CHARACTERS
from graph.state import Line
from graph.view import View
from instruments.profile import SessionStatus
from storage.links import PatientLinks
from ui.bench import workbench
from ui.guard import log_fault

_AVATARS = {"interviewer": ":material/clinical_notes:", "patient": ":material/person:"}
_ANSWER, _KNOWN, _NOTICE, _SEEN, _STOPPED, _UNSENT = "answer", "known", "notice", "seen", "stopped", "unsent"
_DRAWN = "drawn while busy"
_LOOK_EVERY_SECONDS, _TRY_EVERY_SECONDS = 5.0, 1.0
_BETWEEN_WORDS_SECONDS = 0.03
_NOT_SAVED = "Your message could not be saved, so it was not taken. Please send it again in a moment."
_OUT_OF_REACH = "This page cannot be shown right now. Everything that was saved before is safe."


def show(token: str) -> None:
    try:
        session_id = _session_of(token)
        view = workbench().runtime.view(session_id)
    except NotFoundError:
        _show_not_found()
    except UnrecordedStop as stop:
        _show_script(stop.script)
    except TurnInProgress:
        _show_session(session_id, workbench().runtime.stored(session_id), busy=True)
    except ServiceError as error:
        log_fault(error)
        _show_out_of_reach(token)
    else:
        _show_session(session_id, view)


def _session_of(token: str) -> str:
    """Kept for this browser: the help line is known even when the database has gone."""
    known: dict[str, str] = st.session_state.setdefault(_KNOWN, {})
    if token not in known:
        known[token] = PatientLinks(workbench().database).session_id(token)
    return known[token]


def _show_session(session_id: str, view: View, *, busy: bool = False) -> None:
    """`busy`: within a turn, as after a reload while the last message is being worked on."""
    words = workbench().runtime.words(session_id)
    if _STOPPED in st.session_state:
        _show_script(st.session_state[_STOPPED])
        return
    if view.profile.session_status is SessionStatus.TERMINATED:
        _show_script(next((line.text for line in view.lines if line.kind == "safety_script"), words.script))
        return
    st.title("Your interview", anchor=False)
    st.progress(view.items_completed / 23, text=f"{view.items_completed} of 23 questions answered")
    if view.open and not busy:
        _ask_for_answer(session_id, view)
    _show_lines(view.lines)
    st.caption(words.help_line)
    _show_notice()
    if busy:
        st.caption("One moment, your last message is being worked on …")
    if view.open:
        st.fragment(_watch, run_every=_TRY_EVERY_SECONDS if busy else _LOOK_EVERY_SECONDS)(session_id, busy=busy)


def _show_not_found() -> None:
    """The same for a link that was mistyped, guessed, withdrawn, or whose session was deleted."""
    st.title("Not found", anchor=False)
    st.write("This link does not lead anywhere. Please check it, or ask your therapist for a new one.")


def _show_out_of_reach(token: str) -> None:
    st.title("Your interview", anchor=False)
    if not _show_notice():
        st.warning(_OUT_OF_REACH)
        known = st.session_state.get(_KNOWN, {})
        st.caption(workbench().runtime.words(known.get(token, "")).help_line)
    st.button("Try again", type="primary")


def _show_script(script: str) -> None:
    """The script and nothing else: no question, no input."""
    with st.chat_message("interviewer", avatar=_AVATARS["interviewer"]):
        _plain(script)


# ---- what was said ----


def _show_lines(lines: tuple[Line, ...]) -> None:
    """What is new since the last look is revealed word by word, if it is the newest; after a reload nothing is new."""
    seen = st.session_state.get(_SEEN, len(lines))
    st.session_state[_SEEN] = len(lines)
    for number, line in enumerate(lines):
        is_newest = number == len(lines) - 1 and number >= seen and line.role == "interviewer"
        with st.chat_message(line.role, avatar=_AVATARS[line.role]):
            _reveal(line.text) if is_newest else _plain(line.text)


def _plain(text: str) -> None:
    """Text as it was written: never Markdown, never HTML."""
    st.text(text, width="stretch")


def _reveal(text: str) -> None:
    """All of it has been committed before; only the page takes its time."""
    place = st.empty()
    for end in (index for index, sign in enumerate(text) if sign == " "):
        place.text(text[:end], width="stretch")
        sleep(_BETWEEN_WORDS_SECONDS)
    place.text(text, width="stretch")


def _watch(session_id: str, *, busy: bool) -> None:
    """A therapist may stop the session while its patient is thinking."""
    if busy and st.session_state.pop(_DRAWN, False):
        st.rerun(scope="app")
    st.session_state[_DRAWN] = busy
    try:
        stopped = workbench().runtime.sessions.get(session_id).status == SessionStatus.TERMINATED.value
    except Exception as error:  # a look that failed tells nothing; the next message will
        log_fault(error)
        return
    if stopped:
        st.rerun(scope="app")


# ---- answering ----


def _ask_for_answer(session_id: str, view: View) -> None:
    st.chat_input(
        "Your answer",
        key=_ANSWER,
        max_chars=MAX_MESSAGE_CHARACTERS,
        submit_mode="disable",
        on_submit=_submit,
        args=(session_id, view.turn, view.item, uuid.uuid4().hex),
    )


def _submit(session_id: str, turn: int, item: int, message_id: str) -> None:
    """Runs before the page is drawn again, so the patient's bubble appears only once the message is in the ledger."""
    text = st.session_state.get(_ANSWER)
    if not text:
        return
    try:
        workbench().runtime.submit(session_id, text, expected_turn=turn, message_id=message_id, item=item)
    except UnrecordedStop as stop:
        st.session_state[_STOPPED] = stop.script
    except TurnInProgress:
        st.session_state[_NOTICE] = "Your last message is still being worked on. Please wait a moment."
    except StaleTurn:
        st.session_state[_NOTICE] = "That question was already answered, perhaps in another tab. Here is the newest."
    except Exception as error:  # whatever failed, the patient must know that the message may not have been saved
        log_fault(error)
        st.session_state[_NOTICE] = f"{_NOT_SAVED} {workbench().runtime.words(session_id).help_line}"
        st.session_state[_UNSENT] = text


def _show_notice() -> bool:
    notice, unsent = st.session_state.pop(_NOTICE, None), st.session_state.pop(_UNSENT, None)
    if notice:
        st.warning(notice)
    if unsent:
        st.caption("What you wrote:")
        _plain(unsent)
    return notice is not None
