"""The one workbench that all browser sessions of this process share."""

from __future__ import annotations

from contextlib import ExitStack

import streamlit as st

from graph.assembly import Workbench, open_workbench
from settings import load_settings


@st.cache_resource(show_spinner="Opening the workbench …")
def workbench() -> Workbench:
    """Opened once and kept until the process ends, which lets go of the servers' locks."""
    stack = ExitStack()
    return stack.enter_context(open_workbench(load_settings()))
