"""Where an address leads: a patient's link, one session's workspace, or a page of the registry."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import NoReturn

import streamlit as st

from errors import NotFoundError
from ui.guard import guarded
from ui.registry import HOME, ROLES, Page, pages_for

PATIENT, SESSION, TAB = "patient", "session", "tab"


def patient_token() -> str | None:
    """An empty one too is a patient's link, and leads nowhere."""
    return st.query_params.get(PATIENT)


def show_patient(token: str) -> None:
    import_module("ui.patient").show(token)


def show_workbench() -> None:
    """Draw the navigation and whatever the address names in it."""
    front, pages = _front(), [_drawn(page) for page in pages_for(ROLES)]
    chosen = st.navigation([front, *pages], position="hidden")
    _show_navigation(chosen, pages)
    chosen.run()


def open_session(session_id: str, tab: str | None = None) -> NoReturn:
    """From any page to a session's workspace."""
    st.switch_page(_front(), query_params={SESSION: session_id, **({TAB: tab} if tab else {})})


def open_home() -> NoReturn:
    st.switch_page(_drawn(HOME))


def show_not_found() -> None:
    st.title("Not found")
    st.write("There is nothing at this address, or nothing that you may see.")


def _show_navigation(chosen: st.Page, pages: list[st.Page]) -> None:
    """Our own, since Streamlit's keeps a session in the address when its page is clicked again."""
    at_home = chosen.url_path == "" and SESSION not in st.query_params
    with st.sidebar:
        for page in pages:
            here = chosen if at_home and page.url_path == HOME.name else page
            st.page_link(here, label=page.title, icon=page.icon, width="stretch")


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
            import_module("ui.workspace").show(session_id)
        except NotFoundError:
            show_not_found()


def _show(page: Page) -> None:
    with guarded():
        page.show()
