"""A persona's whole interview with models behind it, one turn at a time, and what each turn sent to them.

Tokens are counted as the stand-in counts them, four characters each, with and without the transcript alike.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agents.interviewer import concepts_told
from benchmark.personas import persona
from benchmark.replies import simulated
from benchmark.simulator import SimulatedPatient
from graph.runtime import InterviewRuntime
from graph.view import View
from instruments.level1 import level1
from tests.gateway import Gateway, Received
from tests.gateway.wire import tokens

PERSONA = "grey-mornings"
SEED = 1
_AGENTS = {"Draft": "interviewer", "ItemScore": "scorer", "ModelOpinion": "risk"}


@dataclass(frozen=True)
class Call:
    """One prompt in tokens; `frame` is what is left of it without the items' words and the talk about the open one."""

    agent: str
    prompt: int
    frame: int


@dataclass(frozen=True)
class Turn:
    """What one message of the patient made happen; number 0 is the start, which words the first question."""

    number: int
    seconds: float
    calls: tuple[Call, ...]
    transcript: int
    """Tokens of all that had been said when the calls were made."""

    @property
    def prompt(self) -> int:
        return sum(call.prompt for call in self.calls)

    @property
    def prompt_with_transcript(self) -> int:
        return self.prompt + self.transcript * len(self.calls)


def interview(runtime: InterviewRuntime, gate: Gateway) -> Iterator[Turn]:
    """Its length is bounded: `simulated` gives up on an item that stays open."""
    reply = simulated(SimulatedPatient(persona(PERSONA), SEED))
    sent, began = len(gate.requests), time.perf_counter()
    view = runtime.start(seed=SEED)
    yield _turn(0, time.perf_counter() - began, gate.requests[sent:], said=_said(view)[:1], own=[])
    while view.open:
        number, item, message = view.turn, view.item, reply(view)
        own = [*(line.text for line in view.lines if line.item == item), message]
        said = [*_said(view), f"patient: {message}"]
        sent, began = len(gate.requests), time.perf_counter()
        view = runtime.submit(view.session_id, message, expected_turn=number, item=item)
        yield _turn(number, time.perf_counter() - began, gate.requests[sent:], said, own)
    _refuse_fallbacks(view)


def _refuse_fallbacks(view: View) -> None:
    """Rules that had to step in would make a turn look cheap, or retries dear."""
    for record in (*view.records.values(), *view.wordings.values()):
        if record.failures:
            raise RuntimeError(f"the stand-in's answer was not used: {record.failures[0].reason}")


def _said(view: View) -> list[str]:
    return [f"{line.role}: {line.text}" for line in view.lines]


def _turn(number: int, seconds: float, sent: Sequence[Received], said: Sequence[str], own: Sequence[str]) -> Turn:
    calls = tuple(_call(request, own) for request in sent)
    return Turn(number, seconds, calls, tokens("\n".join(said)))


def _call(request: Received, own: Sequence[str]) -> Call:
    system, user = request.message("system"), request.message("user")
    left = user
    for words in (*_item_words(), *own):
        left = left.replace(words, "")
    agent = _AGENTS[request.body["response_format"]["json_schema"]["name"]]
    return Call(agent, tokens(system) + tokens(user), tokens(system) + tokens(left))


def _item_words() -> Iterator[str]:
    for item in level1().items:
        yield item.text
        yield concepts_told(item)
