"""`make bench`: what a turn costs, beside the barest LangGraph turn on the same database in the same run."""

from __future__ import annotations

import statistics
import sys
import time
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

from agents.risk import check_risk
from graph.assembly import build_runtime, prepare_database
from graph.runtime import InterviewRuntime
from settings import Settings
from storage.crypto import load_vault
from storage.database import Database
from storage.embedded import services
from tests.support import temporary_home

TURNS = 230
ROUND = 23
AIM = 1.5


class _Bare(TypedDict):
    messages: list[str]


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


def _milliseconds(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return (time.perf_counter() - began) * 1000


def measure(settings: Settings) -> dict[str, list[float]]:
    """Turns of both kinds in alternation, so that whatever else the machine does touches both alike."""
    with services(settings, redis=False) as found:
        vault = load_vault(settings)
        prepare_database(found.database_url, vault)
        with Database(found.database_url, vault) as database:
            runtime = build_runtime(settings, database)
            turns = {"bare three-node turn": _bare_turns(_bare_graph(database)), "interview turn": _our_turns(runtime)}
            times: dict[str, list[float]] = {name: [] for name in turns}
            for _ in range(TURNS):
                for name, actions in turns.items():
                    times[name].append(_milliseconds(next(actions)))
            runtime.close()
    return {name: values[ROUND:] for name, values in times.items()}


CLAUSES = (
    "I sleep badly most nights and I wake up tired",
    "my boss is killing me with these deadlines",
    "I never wanted to hurt anybody, it is only the noise",
    "my brother said he would kill me for scratching his car",
)


def risk_by_length() -> dict[int, float]:
    """Milliseconds of a risk check by the length of the message, the best of five."""
    times = {}
    for length in (100, 1_000, 10_000, 100_000):
        text = ". ".join(CLAUSES * (length // 150 + 1))[:length]
        times[length] = min(_milliseconds(partial(check_risk, text, 2)) for _ in range(5))
    return times


def show_risk(console: Console) -> None:
    check_risk("warm up", 11)
    table = Table("characters", "ms", "ms per 1,000", title="The risk rules by length", title_justify="left")
    for length, milliseconds in risk_by_length().items():
        table.add_row(f"{length:,}", f"{milliseconds:.2f}", f"{milliseconds / length * 1000:.2f}")
    console.print(table)


def main() -> int:
    with temporary_home() as home:
        times = measure(Settings(_env_file=None, crosscut_home=home))
    show_risk(Console())
    table = Table("graph + Postgres, rules engine", "p50 ms", "p95 ms", title="Cost of a turn", title_justify="left")
    for name, values in times.items():
        table.add_row(name, f"{statistics.median(values):.1f}", f"{statistics.quantiles(values, n=20)[-1]:.1f}")
    bare, ours = (statistics.median(values) for values in times.values())
    console = Console()
    console.print(table)
    console.print(f"ratio of the medians: {ours / bare:.2f} (aim: at most {AIM})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
