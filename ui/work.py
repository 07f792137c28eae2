"""Work that takes its time is done in threads of its own: a closed tab or another click does not undo it."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import streamlit as st

_AT_ONCE = 4


@st.cache_resource
def workers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="workspace")


def awaited(work: Future[Any], told: str) -> Any:
    """Wait with a spinner; what went wrong is raised here."""
    with st.spinner(told):
        return work.result()
