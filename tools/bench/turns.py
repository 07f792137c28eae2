"""What a turn costs with the rules engine, beside the barest LangGraph turn on the same database."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt
from rich.console import Console
from rich.table import Table
from typing_extensions import TypedDict

from graph.assembly import build_runtime
from graph.runtime import InterviewRuntime
from settings import Settings
from storage.database import Database
from tools.bench.timing import p50, p95, seconds

TURNS = 230
ROUND = 23
AIM = 1.5


class _Bare(TypedDict):
    messages: list[str]


def measure(settings: Settings, database: Database) -> dict[str, list[float]]:
    """Milliseconds of turns of both kinds in alternation: whatever else the machine does touches both alike."""
    runtime = build_runtime(settings, database)
    turns = {"bare three-node turn": _bare_turns(_bare_graph(database)), "interview turn": _our_turns(runtime)}
    times: dict[str, list[float]] = {name: [] for name in turns}
    for _ in range(TURNS):
        for name, actions in turns.items():
            times[name].append(1000 * seconds(next(actions)))
    runtime.close()
    return {name: values[ROUND:] for name, values in times.items()}


def show(console: Console, times: dict[str, list[float]]) -> None:
    table = Table("graph + Postgres, rules engine", "p50 ms", "p95 ms", title="Cost of a turn", title_justify="left")
    for name, values in times.items():
        table.add_row(name, f"{p50(values):.1f}", f"{p95(values):.1f}")
    bare, ours = map(p50, times.values())
    console.print(table)
    console.print(f"ratio of the medians: {ours / bare:.2f} (aim: at most {AIM})")


def _bare_graph(database: Database) -> Any:
    """Three nodes with nothing in them: ask, wait, score."""

    def ask(state: _Bare) -> _Bare:
        return {"messages": [*state["messages"], "Have you slept well?"]}

    def wait(state: _Bare) -> _Bare:
        return {"messages": [*state["messages"], interrupt("answer")]}

    def score(state: _Bare) -> _Bare:
        return {"messages": [*state["messages"], "2"]}

    graph = StateGraph(_Bare)
    graph.add_node("ask", ask)
    graph.add_node("wait", wait)
    graph.add_node("score", score)
    graph.add_edge(START, "ask")
    graph.add_edge("ask", "wait")
    graph.add_edge("wait", "score")
    graph.add_edge("score", "ask")
    return graph.compile(checkpointer=PostgresSaver(database.pool))


def _bare_turns(graph: Any) -> Iterator[Callable[[], object]]:
    while True:
        config: RunnableConfig = {"configurable": {"thread_id": uuid.uuid4().hex}}
        graph.invoke({"messages": []}, config, durability="sync")
        for _ in range(ROUND):
            yield partial(graph.invoke, Command(resume="Several days."), config, durability="sync")


def _our_turns(runtime: InterviewRuntime) -> Iterator[Callable[[], object]]:
    while True:
        view = runtime.start()
        for turn in range(1, ROUND + 1):
            yield partial(runtime.submit, view.session_id, "Several days.", expected_turn=turn, item=turn)
