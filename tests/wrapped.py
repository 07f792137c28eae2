"""The real runtime with every engine in it watched, whatever agents there are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from threading import Event
from typing import Any

from agents.contract import Agent
from graph.assembly import build_runtime
from graph.runtime import InterviewRuntime
from settings import Settings
from storage.database import Database

Wrap = Callable[[str, Callable[..., Any]], Callable[..., Any]]


@contextmanager
def wrapped_runtime(settings: Settings, database: Database, wrap: Wrap) -> Iterator[InterviewRuntime]:
    """Each agent's rules pass through `wrap` under the agent's name, and the record of each check under `audit`."""
    built = build_runtime(settings, database)
    built.close()
    agents = built._agents
    found = {one.name: getattr(agents, one.name) for one in fields(agents)}
    changes: dict[str, Any] = {
        name: replace(agent, rules=wrap(name, agent.rules)) for name, agent in found.items() if isinstance(agent, Agent)
    }
    assert {"interviewer", "scorer"} <= changes.keys()
    changes["record_check"] = wrap("audit", agents.record_check)
    runtime = InterviewRuntime(database, replace(agents, **changes), built._threads.versions, built._desk)
    try:
        yield runtime
    finally:
        runtime.close()


@contextmanager
def spied_runtime(settings: Settings, database: Database, calls: list[str]) -> Iterator[InterviewRuntime]:
    """Enters the name of each agent that is asked; a check on the audit is no such call."""

    def spy(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            calls.append(name)
            return function(*arguments)

        return function if name == "audit" else run

    with wrapped_runtime(settings, database, spy) as runtime:
        yield runtime


@dataclass
class HeldScorer:
    """A scorer that hangs while it is held."""

    _go: Event = field(default_factory=Event)
    _asked: Event = field(default_factory=Event)

    def hold(self) -> None:
        self._go.clear()
        self._asked.clear()

    def let_go(self) -> None:
        self._go.set()

    def wait_until_asked(self) -> None:
        assert self._asked.wait(60)

    def asked(self) -> None:
        self._asked.set()
        assert self._go.wait(60)


@contextmanager
def held_scorer(settings: Settings, database: Database) -> Iterator[tuple[InterviewRuntime, HeldScorer]]:
    held = HeldScorer()
    held.let_go()

    def wrap(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            held.asked()
            return function(*arguments)

        return run if name == "scorer" else function

    with wrapped_runtime(settings, database, wrap) as runtime:
        yield runtime, held
        held.let_go()
