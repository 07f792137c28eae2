"""What a page does when something fails: one kind sentence on the screen, the place of the fault in the log."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from errors import CrosscutError, ServiceError
from ui.markdown import plain

_log = logging.getLogger("crosscut.ui")


@contextmanager
def guarded() -> Iterator[None]:
    try:
        yield
    except ServiceError as error:
        log_fault(error)
        st.error("The database is not reachable right now. Nothing is lost: reload the page in a moment.")
    except CrosscutError as error:
        log_fault(error)
        st.error(plain(str(error)))
    except Exception as error:  # the last resort: a page never shows a traceback
        log_fault(error)
        st.error("Something went wrong on this page. Nothing is lost: reload it in a moment.")


def log_fault(error: Exception) -> None:
    """Type and place only: a message may quote what a patient wrote."""
    frames = traceback.extract_tb(error.__traceback__)
    place = " < ".join(f"{frame.name}:{frame.lineno}" for frame in reversed(frames[-4:]))
    _log.error("%s in %s", type(error).__name__, place or "an unknown place")
