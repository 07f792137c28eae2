"""The conversation, and the profile when it has ended."""

from __future__ import annotations

import uuid

import pandas as pd
import streamlit as st

from agents.escalation import escalation
from errors import NotFoundError, StaleTurn, TurnInProgress, UnrecordedStop
from graph.runtime import MAX_MESSAGE_CHARACTERS
from graph.state import Line
from graph.view import View
from instruments.level1 import item_number, level1
from instruments.profile import ItemResponse, SessionStatus
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
    elif view.profile.session_status is SessionStatus.COMPLETED:
        show_profile(view)


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


def _shown_score(response: ItemResponse) -> str:
    return f"not determined (best fit {response.score})" if response.undetermined else str(response.score)


def show_profile(view: View) -> None:
    st.subheader("Profile")
    rows = []
    for response in view.profile.item_responses:
        item = level1().item(item_number(response.item_id))
        rows.append(
            {
                "Item": response.item_id,
                "Domain": level1().domain_of(item.number).name,
                "Score": _shown_score(response),
                "Ambiguity": response.ambiguity,
                "In the patient's words": " · ".join(response.evidence_quotes),
            }
        )
    st.dataframe(pd.DataFrame(rows), hide_index=True, height="content")
    st.download_button(
        "Download the profile (JSON)",
        view.profile.model_dump_json(by_alias=True, exclude_none=True, indent=2),
        file_name=f"profile-{view.session_id}.json",
        mime="application/json",
    )
