"""A persona's interview while it goes on: the turns appear, and in the end the report opens."""

from __future__ import annotations

import streamlit as st

from graph.view import View
from instruments.level1 import level1
from instruments.profile import SessionStatus
from ui.bench import live_interviews, workbench
from ui.guard import guarded
from ui.identity import readable_session
from ui.routes import open_session

_TICK_SECONDS = 1.0
_ENDED = "ended just now"


def show(session_id: str) -> None:
    session = readable_session(session_id)
    if st.session_state.pop(_ENDED, None) == session_id:
        open_session(session_id, "report")
    st.title("Demo interview", anchor=False)
    st.caption(f"The persona “{session.persona}” answers by itself. You may close this page: the interview goes on.")
    controls = st.container()
    going = session.status == "active" and live_interviews().is_running(session_id)
    st.fragment(_follow, run_every=_TICK_SECONDS if going else None)(session_id)
    with controls:
        if session.status != "active":
            _offer_result(session_id)
        elif not going and st.button("Go on", type="primary"):
            live_interviews().resume(session_id)
            st.rerun()


def _offer_result(session_id: str) -> None:
    if st.button("Open the session", type="primary"):
        open_session(session_id)


def _follow(session_id: str) -> None:
    with guarded():
        view = workbench().runtime.stored(session_id)
        _show_turns(view)
        if st.session_state.get("watched") == session_id and not view.open:
            del st.session_state["watched"]
            st.session_state[_ENDED] = session_id
            st.rerun(scope="app")
        if view.open and live_interviews().is_running(session_id):
            st.session_state["watched"] = session_id


def _show_turns(view: View) -> None:
    """The newest first, where the eye is."""
    total = len(level1().items)
    st.progress(view.items_completed / total, text=f"{view.items_completed} of {total} items scored")
    if view.profile.session_status is SessionStatus.TERMINATED:
        st.error("This interview was stopped for safety.")
    for line in reversed(view.lines):
        with st.chat_message(line.role, avatar=":material/person:" if line.role == "patient" else ":material/forum:"):
            st.text(line.text, width="stretch")
