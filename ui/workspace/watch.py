"""Keeps an open page true: a fragment that draws nothing asks now and then whether something has changed.

Only then is the page drawn again. What somebody is typing stays: a widget that keeps its key keeps its content.
"""

from __future__ import annotations

import streamlit as st

from errors import CrosscutError, NotFoundError
from storage.pulse import pulse
from ui.bench import workbench

_SECONDS_WHILE_OPEN, _SECONDS_AFTERWARDS = 1.0, 5.0


def beat(session_id: str) -> str:
    return pulse(workbench().database, session_id)


def keep_true(session_id: str, drawn: str, *, is_open: bool) -> None:
    """`drawn` is the beat that the page was drawn at. A finished session changes rarely, but a stop may still come."""
    every = _SECONDS_WHILE_OPEN if is_open else _SECONDS_AFTERWARDS
    st.fragment(_look, run_every=every)(session_id, drawn)


def _look(session_id: str, drawn: str) -> None:
    try:
        has_changed = beat(session_id) != drawn
    except NotFoundError:  # deleted elsewhere: nothing of it stays on the screen
        has_changed = True
    except CrosscutError:  # a database that is gone for a moment; what is on the screen stays
        return
    if has_changed:
        st.rerun(scope="app")
