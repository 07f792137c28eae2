"""The two-engine contract: every agent is a typed input, a typed output, rules, and perhaps a model.

The model proposes; its answer counts only when it parses, validates and passes the agent's checks. Otherwise it is told
what was wrong and asked again, a few times, within one time budget for all tries together. Then the rules answer. Each
result says which engine made it and what went wrong before.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Generic, Literal, Protocol, TypeVar, cast

from agents import background
from agents.failures import Failure, FailureKind, UnusableAnswer, describe
from agents.models import ChatClient, Completion
from agents.outputs import JsonOutput, Model, Output, TaggedOutput
from agents.prompts import Prompt, Rendered, load_prompt
from errors import GatewayError, ModelError, RejectedOutput
from gateway import CallError, back_off
from settings import Settings

__all__ = [
    "Agent",
    "AgentResult",
    "Budget",
    "CallRecord",
    "Failure",
    "JsonOutput",
    "LLMEngine",
    "TaggedOutput",
    "json_agent",
]

In = TypeVar("In")
Out = TypeVar("Out")
T = TypeVar("T")
Number = TypeVar("Number", int, float)

REMINDER = "\n\nYour previous answer could not be used: {problem}. Answer again and keep to every rule above."
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Budget:
    """At most so many tries, and so many seconds for all of them together."""

    tries: int = 3
    seconds: float = 20.0

    @classmethod
    def of(cls, settings: Settings) -> Budget:
        return cls(settings.model_tries, settings.model_call_seconds)


@dataclass(frozen=True)
class CallRecord:
    """One model call, for accounting. `None` is unknown: a call that broke off may have been billed."""

    model: str
    outcome: Literal["ok"] | FailureKind
    seconds: float
    prompt_tokens: int | None
    completion_tokens: int | None
    cost_usd: float | None


@dataclass(frozen=True)
class AgentResult(Generic[Out]):
    """An output with its provenance. `model` and the prompt are those asked, also when the rules had to answer."""

    output: Out
    engine: Literal["llm", "rules"]
    model: str | None = None
    prompt_version: str | None = None
    prompt_sha256: str | None = None
    failures: tuple[Failure, ...] = ()
    calls: tuple[CallRecord, ...] = ()
    seconds: float = 0.0

    @property
    def tries(self) -> int:
        return len(self.calls)

    @property
    def prompt_tokens(self) -> int | None:
        return _total([call.prompt_tokens for call in self.calls])

    @property
    def completion_tokens(self) -> int | None:
        return _total([call.completion_tokens for call in self.calls])

    @property
    def cost_usd(self) -> float | None:
        return _total([call.cost_usd for call in self.calls])


@dataclass(frozen=True)
class LLMEngine(Generic[In, Out]):
    """`checks` need the input as well as the output: each returns a cleaned output or raises RejectedOutput."""

    client: ChatClient
    prompt: Prompt
    variables: Callable[[In], Mapping[str, str]]
    output: Output[Out]
    checks: Sequence[Callable[[In, Out], Out]] = ()

    async def ask(self, rendered: Rendered, problem: str | None, seconds: float) -> Completion:
        user = rendered.user if problem is None else rendered.user + REMINDER.format(problem=problem)
        form = self.output
        return await self.client.complete(
            rendered.system, user, schema=form.schema, schema_name=form.name, strict=form.strict, seconds=seconds
        )

    def accept(self, inp: In, text: str) -> Out:
        output = self.output.read(text)
        for check in self.checks:
            output = check(inp, output)
        return output


@dataclass(frozen=True)
class Agent(Generic[In, Out]):
    """Rules always answer; a failure of theirs is a bug and propagates. A model, where there is one, is asked first."""

    name: str
    rules: Callable[[In], Out]
    llm: LLMEngine[In, Out] | None = None
    budget: Budget = Budget()

    def with_prompt(self, prompt: Prompt) -> Agent[In, Out]:
        """The same agent, whose model is asked in these words."""
        return self if self.llm is None else replace(self, llm=replace(self.llm, prompt=prompt))

    def run(self, inp: In) -> AgentResult[Out]:
        """For sync callers in any thread: only model calls leave it, so two runs in two threads overlap."""
        return _finished(self._run(inp, _blocking))

    async def arun(self, inp: In) -> AgentResult[Out]:
        return await self._run(inp, background.arun)

    def ask_model(self, inp: In) -> AgentResult[Out | None]:
        """The model alone: the rules do not stand in, and without a usable answer the output is None."""
        return _finished(self._ask_model(inp))

    async def _ask_model(self, inp: In) -> AgentResult[Out | None]:
        if self.llm is None:
            raise ValueError(f"{self.name} has no model to ask")
        tries = _Tries(self.llm, inp, self.budget, _blocking, time.monotonic())
        answer = await tries.answer()
        return tries.result(answer.output if answer else None, "llm")

    async def _run(self, inp: In, perform: Perform) -> AgentResult[Out]:
        started = time.monotonic()
        if self.llm is None:
            return AgentResult(self.rules(inp), "rules", seconds=time.monotonic() - started)
        tries = _Tries(self.llm, inp, self.budget, perform, started)
        if answer := await tries.answer():
            return answer
        log.warning("%s: the model gave nothing usable, after %s", self.name, ", ".join(f.kind for f in tries.failures))
        return tries.result(self.rules(inp), "rules")


def json_agent(
    name: str,
    rules: Callable[[In], Model],
    model_type: type[Model],
    variables: Callable[[In], Mapping[str, str]],
    *,
    client: ChatClient | None,
    budget: Budget,
    checks: Sequence[Callable[[In, Model], Model]] = (),
    prompt: Prompt | None = None,
) -> Agent[In, Model]:
    """An agent that answers with one JSON object, by the prompt of its own name; without a client, by rules alone."""
    engine: LLMEngine[In, Model] | None = None
    if client is not None:
        engine = LLMEngine(client, prompt or load_prompt(name), variables, JsonOutput(model_type), checks)
    return Agent(name, rules, engine, budget)


@dataclass
class _Tries(Generic[In, Out]):
    """The model's tries at one input."""

    engine: LLMEngine[In, Out]
    inp: In
    budget: Budget
    perform: Perform
    started: float
    calls: list[CallRecord] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)

    async def answer(self) -> AgentResult[Out] | None:
        rendered = self.engine.prompt.render(**self.engine.variables(self.inp))
        problem: str | None = None
        while True:
            try:
                return self.result(await self._once(rendered, problem), "llm")
            except ModelError as error:
                self.failures.append(describe(error))
                pause = self._pause(error)
                if pause is None:
                    return None
                if isinstance(error, RejectedOutput):
                    problem = error.reason
                if pause > 0:
                    await self.perform(partial(asyncio.sleep, pause))

    def result(self, output: T, engine: Literal["llm", "rules"]) -> AgentResult[T]:
        return AgentResult(
            output,
            engine,
            model=self.engine.client.model,
            prompt_version=self.engine.prompt.version,
            prompt_sha256=self.engine.prompt.sha256,
            failures=tuple(self.failures),
            calls=tuple(self.calls),
            seconds=time.monotonic() - self.started,
        )

    async def _once(self, rendered: Rendered, problem: str | None) -> Out:
        began = time.monotonic()
        completion: Completion | None = None
        try:
            completion = await self.perform(partial(self.engine.ask, rendered, problem, self._remaining()))
            output = self.engine.accept(self.inp, completion.text)
        except ModelError as error:
            self.calls.append(_record(self.engine.client.model, completion, error, time.monotonic() - began))
            raise
        self.calls.append(_record(self.engine.client.model, completion, None, time.monotonic() - began))
        return output

    def _remaining(self) -> float:
        return self.started + self.budget.seconds - time.monotonic()

    def _pause(self, error: ModelError) -> float | None:
        """Seconds to wait before the next try; None when there is to be none."""
        pause = 0.0
        if isinstance(error, GatewayError):
            if not error.retryable:
                return None
            pause = back_off(len(self.calls)) if error.retry_after is None else error.retry_after
        return pause if len(self.calls) < self.budget.tries and pause < self._remaining() else None


class Perform(Protocol):
    """Runs a coroutine on the shared loop: awaiting it (async callers) or blocking for it (sync ones)."""

    def __call__(self, call: background.Call[T], /) -> Awaitable[T]: ...


async def _blocking(call: background.Call[T]) -> T:
    return background.run(call)


def _finished(coro: Coroutine[Any, Any, T]) -> T:
    """Run to its end a coroutine that blocks instead of suspending: one implementation then serves `run` and `arun`."""
    try:
        coro.send(None)
    except StopIteration as done:
        return cast(T, done.value)
    coro.close()
    raise RuntimeError("a sync run must not suspend")


def _record(model: str, completion: Completion | None, error: ModelError | None, seconds: float) -> CallRecord:
    outcome: Literal["ok"] | FailureKind = describe(error).kind if error else "ok"
    if isinstance(error, UnusableAnswer):
        completion = completion or error.completion
    if completion is not None:
        asked, answered, cost = completion.prompt_tokens, completion.completion_tokens, completion.cost_usd
        return CallRecord(model, outcome, seconds, asked, answered, cost)
    if isinstance(error, CallError) and error.status is not None:  # turned away, hence not billed
        return CallRecord(model, outcome, seconds, 0, 0, 0.0)
    return CallRecord(model, outcome, seconds, None, None, None)


def _total(parts: Sequence[Number | None]) -> Number | None:
    """A sum with an unknown part is unknown."""
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None
