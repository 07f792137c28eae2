"""One session as its therapist sees it: a slim head, and tabs of which only the open one is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

import streamlit as st

from errors import UnrecordedStop
from graph.view import View
from ui.bench import workbench
from ui.guard import guarded
from ui.workspace.head import show_head
from ui.workspace.markup import draw_style
from ui.workspace.watch import beat, keep_true

_TAB = "tab"
_TURN = "turn"
_OPEN_TAB = "workspace-tab"


@dataclass(frozen=True)
class Tab:
    """`key` stands in the address. `module` has a function `show(view)` and is loaded when the tab is first opened."""

    key: str
    title: str
    icon: str
    module: str

    @property
    def label(self) -> str:
        return f"{self.icon} {self.title}"

    def show(self, view: View) -> None:
        import_module(self.module).show(view)


TABS: tuple[Tab, ...] = (
    Tab("chat", "Chat", ":material/forum:", "ui.workspace.chat"),
    Tab("report", "Report", ":material/description:", "ui.workspace.report"),
    Tab("benchmark", "Benchmark", ":material/rule:", "ui.workspace.benchmark"),
    Tab("replay", "Replay", ":material/history:", "ui.workspace.replay"),
)


def show(session_id: str) -> None:
    """Whoever calls this has made sure that the user may see the session."""
    drawn = beat(session_id)  # taken before the view: what changes in between is seen at the next look
    try:
        view = workbench().runtime.watch(session_id)
    except UnrecordedStop as stop:
        st.error("This session was stopped for safety. The database is away, so that nothing else can be shown now.")
        st.text(stop.script, width="stretch")
        return
    draw_style()
    show_head(view)
    chosen = _chosen()
    tabs = st.tabs([tab.label for tab in TABS], key=_OPEN_TAB, on_change=_keep_in_address)
    for tab, place in zip(TABS, tabs, strict=True):
        if tab is chosen:
            with place, guarded():  # whatever becomes of one tab, the others must stay within reach
                tab.show(view)
    keep_true(session_id, drawn, is_open=view.open)


def _chosen() -> Tab:
    """The address decides, so that a reload, a copied link and the way back all lead to the same tab."""
    named = st.query_params.get(_TAB)
    chosen = next((tab for tab in TABS if tab.key == named), TABS[0])
    st.session_state[_OPEN_TAB] = chosen.label
    return chosen


def _keep_in_address() -> None:
    label = st.session_state[_OPEN_TAB]
    st.query_params.pop(_TURN, None)
    st.query_params[_TAB] = next(tab.key for tab in TABS if tab.label == label)
