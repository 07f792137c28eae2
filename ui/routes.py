"""Where an address leads: a patient's link, one session's workspace, or a page of the registry."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import NoReturn

import streamlit as st

from errors import CrosscutError, NotFoundError
from storage.notices import Notices
from ui.access import may_open
from ui.bench import workbench
from ui.guard import guarded
from ui.identity import current_user, me, offer_sign_in, readable_session, show_who
from ui.registry import HOME, PAGES, Page

PATIENT, SESSION, TAB = "patient", "session", "tab"
MANAGE, LIVE = "manage", "live"
"""On the page of sessions: which one is managed, or watched while a persona answers."""


def patient_token() -> str | None:
    """An empty one too is a patient's link, and leads nowhere."""
    return st.query_params.get(PATIENT)


def show_patient(token: str) -> None:
    import_module("ui.patient").show(token)


def show_workbench() -> None:
    """Draw the navigation and whatever the address names in it."""
    user = current_user()
    if user is None:
        offer_sign_in()
        return
    # All of them: of an address that is not registered, Streamlit says in words of its own that there is no such file.
    chosen = st.navigation([_front(), *map(_drawn, PAGES)], position="hidden")
    _keep_address()
    _show_navigation(chosen, [_drawn(page) for page in PAGES if may_open(user, page)])
    if user.roles:
        chosen.run()
    else:
        st.title("No access yet")
        st.write("You are signed in, but nobody has given you a role here. Ask whoever runs this installation.")


def _keep_address() -> None:
    """A link to the page that one is on leaves the browser's address as it was, and the next click would go by that."""
    if named := st.query_params.to_dict():
        st.query_params.from_dict(named)


def open_session(session_id: str, tab: str | None = None) -> NoReturn:
    """From any page to a session's workspace."""
    st.switch_page(_front(), query_params={SESSION: session_id, **({TAB: tab} if tab else {})})


def link_to_session(session_id: str, label: str, *, icon: str | None = None) -> None:
    """A link, not a button: it may stand where the page is drawn again by itself."""
    st.page_link(_front(), label=label, icon=icon, query_params={SESSION: session_id})


def link_to_management(session_id: str) -> None:
    st.page_link(_drawn(HOME), label="Manage", icon=":material/tune:", query_params={MANAGE: session_id})


def link_to_home() -> None:
    """Not by a switch of pages, which would leave an address between the two for the way back to stop at."""
    st.page_link(_drawn(HOME), label="All sessions", icon=":material/arrow_back:")


def show_not_found() -> None:
    st.title("Not found", anchor=False)
    st.write("There is nothing at this address, or nothing that you may see.")
    link_to_home()


def _show_navigation(chosen: st.Page, pages: list[st.Page]) -> None:
    """Our own, since Streamlit's keeps a session in the address when its page is clicked again."""
    at_home = chosen.url_path == "" and SESSION not in st.query_params
    with st.sidebar:
        _show_stops()
        for page in pages:
            here = chosen if at_home and page.url_path == HOME.name else page
            st.page_link(here, label=page.title, icon=page.icon, width="stretch")
        show_who()


def _show_stops() -> None:
    """Wherever one is: a patient was in danger, and nobody has said that they have seen it."""
    user = me()
    with suppress(CrosscutError):  # a database that is gone is told where the page is drawn
        waiting = Notices(workbench().database).stopped_sessions(None if user.is_local else user.owner)
        if waiting:
            noun = "session" if waiting == 1 else "sessions"
            label = f"**{waiting} {noun} stopped for safety**, not acknowledged"
            st.page_link(_drawn(HOME), label=label, icon=":material/emergency:", width="stretch")


def _front() -> st.Page:
    """The address without a path: a session's workspace, else the home page."""
    return st.Page(_show_front, title=HOME.title, icon=HOME.icon, default=True)


def _drawn(page: Page) -> st.Page:
    return st.Page(partial(_show, page), title=page.title, icon=page.icon, url_path=page.name)


def _show_front() -> None:
    session_id = st.query_params.get(SESSION)
    if session_id is None:
        _show(HOME)
        return
    with guarded():
        try:
            readable_session(session_id)
            import_module("ui.workspace").show(session_id)
        except NotFoundError:
            show_not_found()


def _show(page: Page) -> None:
    with guarded():
        page.show() if may_open(me(), page) else show_not_found()
