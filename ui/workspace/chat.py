"""The conversation while it goes on and afterwards, beside what has come of it so far."""

from __future__ import annotations

import streamlit as st

from graph.view import View
from ui.scrolling import scroll_to
from ui.workspace.findings import PAUSED
from ui.workspace.markup import draw
from ui.workspace.reviewing import Overlay, offer_correction, offer_label, overlay, show_said
from ui.workspace.risk import show_banner, show_risks
from ui.workspace.scores import open_list, scores
from ui.workspace.transcript import Marks, fresh_line, transcript

_HEIGHT = 620


def show(view: View) -> None:
    show_banner(view)
    show_risks(view)
    show_said(view.session_id)
    seen_by_therapist, chosen = overlay(view), _chosen_turn(view)
    with st.container(horizontal=True, key="acts"):
        offer_correction(seen_by_therapist.view)
        offer_label(view, chosen)
    said, found = st.columns([3, 2], gap="medium")
    with said:
        _show_transcript(view, chosen, seen_by_therapist.turns)
    with found:
        _show_findings(seen_by_therapist)


def _show_transcript(view: View, chosen: int | None, notes: dict[int, str]) -> None:
    with st.container(height=_HEIGHT, key="transcript", autoscroll=chosen is None, border=True):
        draw(transcript(view, Marks(chosen, fresh_line(view, _seen(view)), notes)))
    if chosen is not None:
        scroll_to(f"turn-{chosen}")


def _chosen_turn(view: View) -> int | None:
    """The turn that the address names, if there is such a one."""
    named = st.query_params.get("turn", "")
    return next((line.turn for line in view.lines if str(line.turn) == named), None)


def _seen(view: View) -> int:
    """The turn that was the newest when the page was opened: what comes later is new to whoever looks on."""
    seen: int = st.session_state.setdefault(f"seen-{view.session_id}", view.turn)
    return seen


def _show_findings(shown: Overlay) -> None:
    with st.container(height=_HEIGHT, key="findings", border=True):
        if shown.view.paused and shown.view.open:
            st.info(PAUSED)
        if points := open_list(shown.view, shown.settled):
            draw(f"<h3>Clarify in person</h3><ul>{points}</ul>")
        draw(f"<h3>Scores</h3>{scores(shown.view, shown.scores)}")
