"""What a therapist must see at once: the session's flags with the patient's own words, and the way to act on them."""

from __future__ import annotations

import streamlit as st

from errors import NotFoundError
from graph.runtime import View
from instruments.profile import RiskFlags, SessionStatus
from storage.notices import Notices
from ui.bench import workbench
from ui.interview import show_profile

_FLAG_NAMES = {
    "suicidality_mentioned": "suicidality mentioned",
    "self_harm_ideation": "self-harm ideation",
    "violence_risk": "risk of violence",
    "substance_abuse_signal": "substance signal",
}


def show(session_id: str) -> None:
    view = workbench().runtime.view(session_id)
    st.title("Session review")
    if view.profile.session_status is SessionStatus.TERMINATED:
        st.error("This session was stopped for safety. The patient saw the safety script and nothing after it.")
    _show_flags(view)
    _show_acknowledgement(session_id)
    with st.expander("Transcript"):
        for line in view.lines:
            with st.chat_message(line.role):
                st.text(line.text, width="stretch")
    show_profile(view)
    if view.profile.session_status is not SessionStatus.TERMINATED:
        _offer_stop(session_id)


def _show_flags(view: View) -> None:
    st.subheader("Risk")
    st.write(", ".join(flag_names(view.profile.risk_flags)) or "No flag is set.")
    texts = {line.turn: line.text for line in view.lines if line.role == "patient"}
    for turn, record in sorted(view.risks.items()):
        words = " … ".join(texts.get(turn, "")[span.start : span.end] for span in record.spans)
        with st.container(border=True):
            degraded = ", model unavailable" if record.degraded else ""
            st.caption(f"Turn {turn}: {record.level}, rule {record.rule}{degraded}")
            st.text(f"“{words or texts.get(turn, '')}”", width="stretch")


def flag_names(flags: RiskFlags) -> list[str]:
    return [label for name, label in _FLAG_NAMES.items() if getattr(flags, name)]


def _show_acknowledgement(session_id: str) -> None:
    notices = Notices(workbench().database)
    if not any(notice.session_id == session_id for notice in notices.unacknowledged()):
        return
    with st.form("acknowledge"):
        note = st.text_area("Note", help="Encrypted; kept with the acknowledgement.")
        if st.form_submit_button("Acknowledge", type="primary"):
            try:
                notices.acknowledge(session_id, by="therapist", note=note)
            except NotFoundError:
                st.info("Somebody else has acknowledged this meanwhile.")
                return
            st.rerun()


def _offer_stop(session_id: str) -> None:
    st.subheader("Stop this session for safety")
    sure = st.checkbox("The patient shall see the safety script at once. This cannot be undone.")
    if st.button("Stop now", type="primary", disabled=not sure):
        workbench().runtime.stop(session_id)
        st.rerun()
