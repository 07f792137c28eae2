"""Start an interview, or take one up again; what needs attention comes first."""

from __future__ import annotations

import streamlit as st

from storage.notices import Notices
from storage.sessions import Session
from ui.bench import workbench
from ui.routes import open_session

_STATUS = {"active": "in progress", "completed": "completed", "terminated_for_safety": "stopped for safety"}


def show() -> None:
    st.title("Crosscut")
    st.write("The DSM-5 Level-1 Cross-Cutting Symptom Measure as a conversation: 23 questions on the past two weeks.")
    if st.button("Start an interview", type="primary"):
        open_session(workbench().runtime.start().session_id)
    _list_sessions()


def _list_sessions() -> None:
    sessions = workbench().runtime.sessions.newest(limit=50)
    if not sessions:
        return
    by_urgency = Notices(workbench().database).unacknowledged()
    waiting = {notice.session_id: notice.kind for notice in reversed(by_urgency)}  # a stop outranks a flag
    urgency = {"stop": 0, "flag": 1}
    st.subheader("Sessions")
    for session in sorted(sessions, key=lambda s: urgency.get(waiting.get(s.id, ""), 2)):
        _row(session, waiting.get(session.id))


def _row(session: Session, notice: str | None) -> None:
    begun, state, ways = st.columns([3, 5, 4], vertical_alignment="center")
    begun.write(session.created_at.astimezone().strftime("%d %b %Y, %H:%M"))
    mark = {"stop": ":red-badge[stop]", "flag": ":orange-badge[flag]"}.get(notice or "", "")
    state.write(f"{_STATUS[session.status]}, {session.items_completed} of 23 items {mark}")
    with ways:
        if st.button("Open", key=f"open-{session.id}"):
            open_session(session.id)
