"""The `@node` decorator: what a node declares about its successors is what it can do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, TypeVar, cast, get_args, get_origin, get_type_hints

from langgraph.types import Command

from errors import CrosscutError
from graph.state import InterviewState, InterviewUpdate, StoredState, plain
from instruments.profile import SessionStatus

NodeMethod = TypeVar("NodeMethod", bound=Callable[..., Command[Any]])


class UndeclaredRoute(CrosscutError):
    """A node went where its annotation does not say: a programming error that LangGraph lets pass."""


def node(
    *, runs_when: SessionStatus = SessionStatus.ACTIVE, minds_stops: bool = True
) -> Callable[[NodeMethod], NodeMethod]:
    """Give a node typed state and store plain data; check each `goto` against the annotation; let nothing run on a
    session that is closed to this node.

    A node that `minds_stops` does nothing either once a stop is on record, which another message may have caused while
    this turn was being worked on. On a closed session an empty Command is returned: raising there would wedge the
    thread for good.
    """

    def decorate(function: NodeMethod) -> NodeMethod:
        declared = declared_routes(function)

        def run(self: Any, state: StoredState) -> Command[Any]:
            typed = InterviewState(state)
            if typed.profile.session_status is not runs_when:
                return Command()
            if minds_stops and self.agents.is_stopped(typed.setup.session_id):
                return Command()
            command = function(self, typed)
            taken = _routes(command)
            if not taken <= declared or (declared and not taken):
                raise UndeclaredRoute(f"{function.__name__} went to {sorted(taken)}, declared are {sorted(declared)}")
            return replace(command, update=plain(cast(InterviewUpdate, command.update)))

        # LangGraph reads the channels and the routes off these annotations.
        run.__annotations__ = {"state": StoredState, "return": get_type_hints(function)["return"]}
        run.__name__ = function.__name__
        return cast(NodeMethod, run)

    return decorate


def declared_routes(function: Callable[..., Any]) -> frozenset[str]:
    """The names in a node's `Command[Literal[...]]`; `Command[tuple[()]]` is a node without a successor."""
    (routes,) = get_args(get_type_hints(function)["return"])
    return frozenset(get_args(routes)) if get_origin(routes) is Literal else frozenset()


def _routes(command: Command[Any]) -> frozenset[str]:
    goto: Any = command.goto
    return frozenset([goto] if isinstance(goto, str) else [str(step) for step in goto])
