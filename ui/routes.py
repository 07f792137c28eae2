"""Where an address leads: a patient's link, one session's workspace, or a page of the registry."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import NoReturn

import streamlit as st

from errors import NotFoundError
from ui.guard import guarded
from ui.registry import HOME, Page, pages_for

PATIENT, SESSION, TAB = "patient", "session", "tab"


def patient_token() -> str | None:
    """An empty one too is a patient's link, and leads nowhere."""
    return st.query_params.get(PATIENT)


def show_patient(token: str) -> None:
    import_module("ui.patient").show(token)


def show_workbench() -> None:
    """Draw the navigation and whatever the address names in it."""
    pages = pages_for(("therapist", "researcher", "admin"))
    chosen = st.navigation([_drawn(page) for page in pages], position="sidebar")
    chosen.run()


def open_session(session_id: str, tab: str | None = None) -> NoReturn:
    """From any page to a session's workspace."""
    st.switch_page(_drawn(HOME), query_params={SESSION: session_id, **({TAB: tab} if tab else {})})


def open_home() -> NoReturn:
    st.switch_page(_drawn(HOME))


def show_not_found() -> None:
    st.title("Not found")
    st.write("There is nothing at this address, or nothing that you may see.")


def _drawn(page: Page) -> st.Page:
    run = partial(_show, page)
    return st.Page(run, title=page.title, icon=page.icon, url_path=page.name, default=page is HOME)


def _show(page: Page) -> None:
    with guarded():
        if page is HOME and (session_id := st.query_params.get(SESSION)):
            _show_session(session_id)
        else:
            page.show()


def _show_session(session_id: str) -> None:
    try:
        import_module("ui.workspace").show(session_id)
    except NotFoundError:
        show_not_found()
