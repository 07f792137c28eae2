"""What one can do with a session besides reading it: its link, its client, its deletion."""

from __future__ import annotations

from functools import partial
from urllib.parse import urlsplit

import streamlit as st

from errors import NotFoundError
from settings import RULES, is_loopback
from storage.clients import LONGEST_LABEL, ClientLabels
from storage.links import PatientLinks
from storage.ownership import assign
from storage.sessions import Session
from ui import live
from ui.access import User, may_delete, may_read, may_take_over
from ui.bench import live_interviews, settings, workbench
from ui.clicks import clicked
from ui.guard import guarded
from ui.identity import me
from ui.markdown import plain
from ui.routes import MANAGE, PATIENT, link_to_session
from ui.trend import show_trend
from ui.workspace.copying import offer_copy

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
    go_on = partial(live_interviews().resume, session_id)
    if clicked("Go on with the demo", go_on, key=f"go-on-{session_id}", type="primary"):
        live.watch(session_id)
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
    shown = st.container()  # filled last, so that a link made anew is the one that shows
    with st.container(horizontal=True):
        copying = st.container()
        clicked("Withdraw it and make a new one", partial(links.renew, session.id), key=f"renew-{session.id}")
    address = patient_address(links.token(session.id))
    shown.code(address, language=None, wrap_lines=True)
    with copying:
        offer_copy(address, key=f"copy-{session.id}", help="The link, to the clipboard")
    st.caption(
        "Whoever has this link takes part as the patient, and can come back with it until the interview is done. Give "
        "it to this client only."
    )
    if is_loopback(urlsplit(address).hostname or ""):
        st.caption(
            ":material/info: It opens on this computer alone. For clients elsewhere, Crosscut must be served under a "
            "name that they can reach, with sign-in for yourself: CROSSCUT_ADDRESS in docs/app.md."
        )


def patient_address(token: str) -> str:
    return f"{settings().address.rstrip('/')}/?{PATIENT}={token}"


# ---- the client ----


def _offer_label(user: User, session: Session) -> None:
    """The list behind the panel takes up a new label by itself: to draw all anew would open another panel."""
    labels = ClientLabels(workbench().database)
    known = labels.of([session.id]).get(session.id, "")
    with st.form("label", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        label = st.text_input("Client label", known, max_chars=LONGEST_LABEL, key=f"label-{session.id}")
        put = partial(labels.put, session.id, session.owner or user.owner, label)
        saved = clicked("Save", put, key=f"save-{session.id}", entered=(label,), button=st.form_submit_button)
    with st.container():  # there from the first: what is below it is not closed by a label that comes
        if saved:
            st.caption("Saved.")
        if (label if saved else known).strip():
            show_trend(labels.same_client(session.id))


# ---- whose it is ----


def _offer_ownership(user: User, session: Session) -> None:
    st.write(
        "This session is nobody’s: it was made at the command line, or before there was a login. Take it over to "
        "read it and to go on with it. `crosscut sessions assign` gives it to somebody else."
    )
    take = partial(assign, workbench().database, session.id, user.owner)
    if clicked("Take it over", take, key=f"take-{session.id}", type="primary"):
        st.rerun()


# ---- the end of it ----


def _offer_deletion(session: Session) -> None:
    with st.expander("Delete this session"):
        st.write(
            "Everything that was said, scored and written in it goes, in every table, with its copies made for replay. "
            "What stays is a record without content that it was there and has been deleted."
        )
        sure = st.checkbox("I want it deleted for good.")
        delete = partial(workbench().runtime.delete, session.id)
        if clicked("Delete", delete, key=f"delete-{session.id}", type="primary", disabled=not sure):
            st.query_params.clear()
            st.rerun()
