"""Scripted patients for tests."""

from __future__ import annotations

from graph.runtime import InterviewRuntime
from graph.view import View

CLEAR = "Several days."


def answer_until(runtime: InterviewRuntime, view: View, turn: int, text: str = CLEAR) -> View:
    """Give the same answer until the conversation waits for `turn`."""
    while view.turn < turn:
        view = runtime.submit(view.session_id, text, expected_turn=view.turn)
    return view


def answer_all(runtime: InterviewRuntime, view: View, text: str = CLEAR) -> View:
    while view.open:
        view = runtime.submit(view.session_id, text, expected_turn=view.turn)
    return view
