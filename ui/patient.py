"""The conversation, as the patient sees it."""

from __future__ import annotations

import uuid

import streamlit as st

from agents.escalation import escalation
from errors import NotFoundError, StaleTurn, TurnInProgress, UnrecordedStop
from graph.runtime import MAX_MESSAGE_CHARACTERS
from graph.state import Line
from graph.view import View
from instruments.profile import SessionStatus
from ui.bench import workbench
from ui.guard import log_fault

_AVATARS = {"interviewer": ":material/clinical_notes:", "patient": ":material/person:"}
_ANSWER = "answer"
_STOPPED = "stopped"
_NOT_SAVED = "Your message could not be saved, so it was not taken. Please send it again in a moment."


def show(session_id: str) -> None:
    try:
        view = workbench().runtime.view(session_id)
    except NotFoundError:
        st.error("This link does not lead to a session.")
        return
    except UnrecordedStop as stop:
        _show_script(stop.script)
        return
    if _STOPPED in st.session_state:
        _show_script(st.session_state[_STOPPED])
        return
    if view.profile.session_status is SessionStatus.TERMINATED:
        _show_script(next(line.text for line in view.lines if line.kind == "safety_script"))
        return
    st.title("Interview")
    st.progress(view.items_completed / 23, text=f"{view.items_completed} of 23 questions answered")
    for line in view.lines:
        _bubble(line)
    _show_notice()
    st.caption(escalation(workbench().settings.crosscut_locale).help_line)
    if view.open:
        _ask_for_answer(view)


def _show_script(script: str) -> None:
    """The script and nothing else: no question, no input."""
    with st.chat_message("interviewer", avatar=_AVATARS["interviewer"]):
        _plain(script)


def _bubble(line: Line) -> None:
    with st.chat_message(line.role, avatar=_AVATARS[line.role]):
        _plain(line.text)


def _plain(text: str) -> None:
    """Text as it was written: never Markdown, never HTML."""
    st.text(text, width="stretch")


def _ask_for_answer(view: View) -> None:
    st.chat_input(
        "Your answer",
        key=_ANSWER,
        max_chars=MAX_MESSAGE_CHARACTERS,
        submit_mode="disable",
        on_submit=_submit,
        args=(view.session_id, view.turn, view.item, uuid.uuid4().hex),
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
        st.session_state["notice"] = "Your last message is still being worked on. Please wait a moment."
    except StaleTurn:
        st.session_state["notice"] = "That question was already answered, perhaps in another tab. Here is the newest."
    except Exception as error:  # whatever failed, the patient must know that the message may not have been saved
        log_fault(error)
        st.session_state["notice"] = f"{_NOT_SAVED} {escalation(workbench().settings.crosscut_locale).help_line}"


def _show_notice() -> None:
    notice = st.session_state.pop("notice", None)
    if notice:
        st.warning(notice)
