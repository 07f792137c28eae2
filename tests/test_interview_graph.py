"""The graph's structure: what a patient says has one way in, and a stop has no way out."""

from __future__ import annotations

import ast
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import pytest
from langgraph.types import Command

import graph.interview as module
from graph.interview import NODES, InterviewNodes
from graph.nodes import UndeclaredRoute, declared_routes, node
from graph.runtime import InterviewRuntime
from graph.state import InterviewState, Setup, first_state
from instruments.profile import PatientProfile, SessionMeta, SessionStatus

Edges = dict[str, set[str]]


@pytest.fixture
def edges(runtime: InterviewRuntime) -> Edges:
    drawn: Edges = {}
    for edge in runtime.graph.get_graph().edges:
        drawn.setdefault(edge.source, set()).add(edge.target)
    return drawn


def _reachable(edges: Edges, start: str, *, without: str = "") -> set[str]:
    found: set[str] = set()
    frontier = [start]
    while frontier:
        for target in edges.get(frontier.pop(), set()) - {without} - found:
            found.add(target)
            frontier.append(target)
    return found


def test_the_drawn_graph_is_the_declared_one(edges: Edges) -> None:
    for name in NODES:
        declared = declared_routes(getattr(InterviewNodes, name.lower()))
        assert edges.get(name, set()) - {"__end__"} == set(declared) - {"__end__"}, name


def test_scoring_cannot_be_reached_without_the_risk_check(edges: Edges) -> None:
    assert "SCORE_ITEM" in _reachable(edges, "__start__")
    reached = _reachable(edges, "__start__", without="RISK_CHECK")
    assert reached == {"INTRO", "ASK_ITEM", "SAFETY_STOP", "__end__"}


def test_asking_leads_to_the_risk_check_and_nowhere_else(edges: Edges) -> None:
    assert edges["ASK_ITEM"] == edges["FOLLOW_UP"] == edges["PAUSE"] == {"RISK_CHECK"}


def test_a_return_after_a_pause_goes_on_asking_and_scores_nothing(edges: Edges) -> None:
    assert edges["RESUME"] == {"RISK_CHECK", "ASK_ITEM", "FOLLOW_UP"}
    assert {name for name, targets in edges.items() if "RESUME" in targets} == {"RISK_CHECK"}


def test_a_safety_stop_reaches_only_the_end(edges: Edges) -> None:
    assert _reachable(edges, "SAFETY_STOP") <= {"__end__"}


def test_only_the_risk_check_waits_for_a_patient_and_does_so_first() -> None:
    tree = ast.parse(Path(module.__file__).read_text())
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
    waiting = [f for f in functions if any(isinstance(n, ast.Name) and n.id == "interrupt" for n in ast.walk(f))]
    assert [f.name for f in waiting] == ["risk_check"]
    first = waiting[0].body[0]
    assert isinstance(first, ast.Assign)
    assert isinstance(first.value, ast.Call)
    assert isinstance(first.value.func, ast.Name)
    assert first.value.func.id == "interrupt"
    for path in Path(module.__file__).parent.glob("*.py"):
        assert path.name == "interview.py" or "interrupt(" not in path.read_text(), path


class _Wayward:
    def __init__(self, *, is_stopped: bool = False) -> None:
        self.agents = SimpleNamespace(is_stopped=lambda _: is_stopped)

    @node()
    def elsewhere(self, state: InterviewState) -> Command[Literal["ASK_ITEM"]]:
        return Command(goto="REPORT")  # type: ignore[arg-type]

    @node()
    def forgetful(self, state: InterviewState) -> Command[Literal["ASK_ITEM"]]:
        return Command()


def _state(status: SessionStatus) -> Any:
    meta = SessionMeta(session_id="s", model_version="m", prompt_version="p")
    setup = Setup(session_id="s", seed=1)
    return first_state(setup, PatientProfile(session_status=status, session_meta=meta))


def test_a_node_that_goes_elsewhere_or_nowhere_is_caught() -> None:
    with pytest.raises(UndeclaredRoute, match=r"elsewhere went to \['REPORT'\]"):
        _Wayward().elsewhere(_state(SessionStatus.ACTIVE))
    with pytest.raises(UndeclaredRoute, match="forgetful went to"):
        _Wayward().forgetful(_state(SessionStatus.ACTIVE))


@pytest.mark.parametrize("status", [SessionStatus.COMPLETED, SessionStatus.TERMINATED])
def test_nothing_runs_on_a_closed_session(status: SessionStatus) -> None:
    assert _Wayward().elsewhere(_state(status)) == Command()


def test_nothing_runs_on_a_session_whose_stop_is_on_record_only() -> None:
    assert _Wayward(is_stopped=True).elsewhere(_state(SessionStatus.ACTIVE)) == Command()


def test_a_state_of_the_first_version_is_carried_over() -> None:
    """A session that was begun before wordings, replies and pauses were recorded goes on."""
    stored = {name: value for name, value in _state(SessionStatus.ACTIVE).items() if name != "wordings"}
    stored |= {"state_version": 1, "cursor": {"turn": 4, "item": 3, "awaiting": "answer"}}
    state = InterviewState(stored)
    assert state.wordings == {}
    assert (state.cursor.turn, state.cursor.paused, state.cursor.reply.kind) == (4, False, "answer")
