"""The `@node` decorator: what a node declares about its successors is what it can do."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Literal, get_args, get_origin, get_type_hints

from langgraph.types import Command

from errors import CrosscutError
from graph.state import InterviewState
from instruments.profile import SessionStatus

NodeFunction = Callable[[Any, InterviewState], "Command[Any]"]


class UndeclaredRoute(CrosscutError):
    """A node went where its annotation does not say: a programming error that LangGraph lets pass."""


def node(
    *, runs_when: SessionStatus = SessionStatus.ACTIVE
) -> Callable[[Callable[[Any, InterviewState], Any]], Callable[[Any, InterviewState], Any]]:
    """Check each `goto` against the annotation, and let nothing run on a session that is closed to this node.

    On a closed session an empty Command is returned: raising there would wedge the thread for good.
    """

    def decorate(function: Callable[[Any, InterviewState], Any]) -> Callable[[Any, InterviewState], Any]:
        declared = declared_routes(function)

        @functools.wraps(function)
        def run(self: Any, state: InterviewState) -> Any:
            if state["profile"].session_status is not runs_when:
                return Command()
            command: Command[Any] = function(self, state)
            taken = _routes(command)
            if not taken <= declared or (declared and not taken):
                raise UndeclaredRoute(f"{function.__name__} went to {sorted(taken)}, declared are {sorted(declared)}")
            return command

        return run

    return decorate


def declared_routes(function: Callable[..., Any]) -> frozenset[str]:
    """The names in a node's `Command[Literal[...]]`; `Command[tuple[()]]` is a node without a successor."""
    (routes,) = get_args(get_type_hints(function)["return"])
    return frozenset(get_args(routes)) if get_origin(routes) is Literal else frozenset()


def _routes(command: Command[Any]) -> frozenset[str]:
    goto = command.goto
    return frozenset([goto] if isinstance(goto, str) else [str(step) for step in goto])
