"""Start an interview, or take one up again."""

from __future__ import annotations

import streamlit as st

from ui.bench import workbench

_STATUS = {"active": "in progress", "completed": "completed", "terminated_for_safety": "stopped for safety"}


def show() -> None:
    st.title("Crosscut")
    st.write(
        "The DSM-5 Level-1 Cross-Cutting Symptom Measure as a conversation: 23 questions about the past two weeks."
    )
    if st.button("Start an interview", type="primary"):
        _start()
    _list_sessions()


def _start() -> None:
    view = workbench().runtime.start()
    st.query_params["session"] = view.session_id
    st.rerun()


def _list_sessions() -> None:
    sessions = workbench().runtime.sessions.newest(limit=50)
    if not sessions:
        return
    st.subheader("Sessions")
    for session in sessions:
        begun, state, link = st.columns([3, 4, 2], vertical_alignment="center")
        begun.write(session.created_at.astimezone().strftime("%d %b %Y, %H:%M"))
        state.write(f"{_STATUS[session.status]}, {session.items_completed} of 23 items")
        if link.button("Open", key=f"open-{session.id}"):
            st.query_params["session"] = session.id
            st.rerun()
