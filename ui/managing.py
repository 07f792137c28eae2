"""What one can do with a session besides reading it: its link, its client, its deletion."""

from __future__ import annotations

import streamlit as st

from errors import NotFoundError
from settings import RULES
from storage.clients import LONGEST_LABEL, ClientLabels
from storage.links import PatientLinks
from storage.ownership import assign
from storage.sessions import Session
from ui import live
from ui.access import User, may_delete, may_read, may_take_over
from ui.bench import live_interviews, settings, workbench
from ui.guard import guarded
from ui.identity import me
from ui.markdown import plain
from ui.routes import MANAGE, PATIENT, link_to_session
from ui.trend import show_trend

_GONE = "There is no such session, or none that you may manage."


def open_panel(session_id: str) -> None:
    st.dialog("Session", width="medium", on_dismiss=_leave)(_show)(session_id)


def _leave() -> None:
    st.query_params.pop(MANAGE, None)


def _show(session_id: str) -> None:
    with guarded():
        user = me()
        try:
            session = workbench().runtime.sessions.get(session_id)
        except NotFoundError:
            st.write(_GONE)
            return
        if may_read(user, session):
            _show_own(user, session)
        elif not may_delete(user, session):
            st.write(_GONE)
            return
        if may_take_over(user, session):
            _offer_ownership(user, session)
        _offer_deletion(session)


def _offer_to_go_on(session_id: str) -> None:
    if st.button("Go on with the demo", type="primary"):
        live.go_on(session_id)
        st.rerun()  # all of the page: a callback in a dialog would draw the dialog alone


def _show_own(user: User, session: Session) -> None:
    st.caption(plain(_described(session)))
    if session.persona is None and session.origin == "patient":
        _show_link(session)
        _offer_label(user, session)
    elif session.status == "active" and not live_interviews().is_running(session.id):
        _offer_to_go_on(session.id)
    link_to_session(session.id, "Open the session", icon=":material/chat:")


def _described(session: Session) -> str:
    begun = session.created_at.astimezone().strftime("%d %b %Y, %H:%M")
    model = {None: "models as configured", RULES: "embedded rules"}.get(session.model, session.model)
    numbers = f", numbers of {session.locale}" if session.locale else ""
    return f"Begun {begun}, {session.mode} mode, {model}{numbers}. Id {session.id}"


# ---- the patient's link ----


def _show_link(session: Session) -> None:
    if session.status == "terminated_for_safety":
        st.error("This session was stopped for safety. Its link shows the safety script and nothing else.")
    links = PatientLinks(workbench().database)
    st.markdown("**The patient’s link**")
    st.code(patient_address(links.token(session.id)), language=None, wrap_lines=True)
    st.caption(
        "Whoever has this link takes part as the patient, and can come back with it until the interview is done. Give "
        "it to this client only."
    )
    if st.button("Withdraw it and make a new one"):
        links.renew(session.id)
        st.rerun(scope="fragment")


def patient_address(token: str) -> str:
    return f"{settings().address.rstrip('/')}/?{PATIENT}={token}"


# ---- the client ----


def _offer_label(user: User, session: Session) -> None:
    labels = ClientLabels(workbench().database)
    known = labels.of([session.id]).get(session.id, "")
    with st.form("label", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        label = st.text_input("Client label", known, max_chars=LONGEST_LABEL)
        if st.form_submit_button("Save"):
            labels.put(session.id, session.owner or user.owner, label)
            st.rerun()
    if known:
        show_trend(labels.same_client(session.id))


# ---- whose it is ----


def _offer_ownership(user: User, session: Session) -> None:
    st.write(
        "This session is nobody’s: it was made at the command line, or before there was a login. Take it over to "
        "read it and to go on with it. `crosscut sessions assign` gives it to somebody else."
    )
    if st.button("Take it over", type="primary"):
        assign(workbench().database, session.id, user.owner)
        st.rerun()


# ---- the end of it ----


def _offer_deletion(session: Session) -> None:
    with st.expander("Delete this session"):
        st.write(
            "Everything that was said, scored and written in it goes, in every table, with its copies made for replay. "
            "What stays is a record without content that it was there and has been deleted."
        )
        sure = st.checkbox("I want it deleted for good.")
        if st.button("Delete", type="primary", disabled=not sure):
            workbench().runtime.delete(session.id)
            st.query_params.clear()
            st.rerun()
