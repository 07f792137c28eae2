"""The one workbench that all browser sessions of this process share."""

from __future__ import annotations

from contextlib import ExitStack
from threading import Thread

import streamlit as st

from agents.risk import warm_up
from benchmark.live import LiveInterviews
from graph.assembly import Workbench, open_workbench
from settings import Settings, load_settings


def workbench() -> Workbench:
    return _opened()[0]


@st.cache_resource(show_spinner=False)
def live_interviews() -> LiveInterviews:
    return LiveInterviews(workbench().runtime, seconds_a_turn=settings().crosscut_demo_seconds)


@st.cache_resource(show_spinner=False)
def settings() -> Settings:
    return load_settings()


@st.cache_resource(show_spinner="Opening the workbench …")
def _opened() -> tuple[Workbench, ExitStack]:
    """Opened once and kept until the process ends. The stack is kept too: dropping it would close everything."""
    Thread(target=warm_up, name="risk-warm-up", daemon=True).start()
    stack = ExitStack()
    return stack.enter_context(open_workbench(settings())), stack
