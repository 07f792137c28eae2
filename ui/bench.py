"""The one workbench that all browser sessions of this process share."""

from __future__ import annotations

from contextlib import ExitStack
from threading import Thread

import streamlit as st

from agents.warming import warm_up
from benchmark.acting import actor_of
from benchmark.live import LiveInterviews
from graph.assembly import Workbench, open_workbench
from settings import Settings, load_settings
from workers.celery_app import ask_for_cards, configure


def workbench() -> Workbench:
    return _opened()[0]


@st.cache_resource(show_spinner=False)
def live_interviews() -> LiveInterviews:
    ours = settings()
    return LiveInterviews(workbench().runtime, seconds_a_turn=ours.crosscut_demo_seconds, actor=actor_of(ours))


@st.cache_resource(show_spinner=False)
def settings() -> Settings:
    return load_settings()


@st.cache_resource(show_spinner="Opening the workbench …")
def _opened() -> tuple[Workbench, ExitStack]:
    """Opened once and kept until the process ends. The stack is kept too: dropping it would close everything."""
    Thread(target=warm_up, name="warm-up", daemon=True).start()
    stack = ExitStack()
    opened = stack.enter_context(open_workbench(settings()))
    found = opened.services
    configure(opened.settings, database_url=found.database_url, redis_url=found.redis_url)
    ask_for_cards(opened.settings, opened.database, opened.runtime)
    return opened, stack
