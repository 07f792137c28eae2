"""A persona's interview while it goes on: the turns appear, and in the end the report opens."""

from __future__ import annotations

import streamlit as st

from errors import NotFoundError
from graph.view import View
from instruments.level1 import level1
from instruments.profile import SessionStatus
from ui.bench import live_interviews, workbench
from ui.guard import guarded
from ui.identity import NO_SESSION, readable_session
from ui.routes import LIVE, open_session

_TICK_SECONDS = 1.0
_WATCHED, _ENDED = "watched", "ended just now"


def watch(session_id: str) -> None:
    """Lead to it from wherever one is, and from there to what comes of it, however soon that is."""
    st.session_state[_WATCHED] = session_id
    st.query_params.from_dict({LIVE: session_id})


def show(session_id: str) -> None:
    session = readable_session(session_id)
    if session.persona is None:  # a person answers there, whom nobody watches live
        raise NotFoundError(NO_SESSION)
    if st.session_state.pop(_ENDED, None) == session_id:
        open_session(session_id, "report" if session.status == "completed" else "chat")
    st.title("Demo interview", anchor=False)
    st.caption(f"The persona “{session.persona}” answers by itself. You may close this page: the interview goes on.")
    controls = st.container()
    going = session.status == "active" and live_interviews().is_running(session_id)
    st.fragment(_follow, run_every=_TICK_SECONDS if going else None)(session_id)
    with controls:
        if session.status != "active":
            _offer_result(session_id)
        elif not going:
            st.button("Go on", type="primary", on_click=go_on, args=(session_id,))


def go_on(session_id: str) -> None:
    with guarded():
        live_interviews().resume(session_id)
        watch(session_id)


def _offer_result(session_id: str) -> None:
    if st.button("Open the session", type="primary"):
        open_session(session_id)


def _follow(session_id: str) -> None:
    with guarded():
        view = workbench().runtime.stored(session_id)
        _show_turns(view)
        if st.session_state.get(_WATCHED) == session_id and not view.open:
            del st.session_state[_WATCHED]
            st.session_state[_ENDED] = session_id
            st.rerun(scope="app")


def _show_turns(view: View) -> None:
    """The newest first, where the eye is."""
    total = len(level1().items)
    st.progress(view.items_completed / total, text=f"{view.items_completed} of {total} items scored")
    if view.profile.session_status is SessionStatus.TERMINATED:
        st.error("This interview was stopped for safety.")
    for line in reversed(view.lines):
        with st.chat_message(line.role, avatar=":material/person:" if line.role == "patient" else ":material/forum:"):
            st.text(line.text, width="stretch")
