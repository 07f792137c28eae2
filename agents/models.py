"""Chat models behind the gateway: one call in, one completion or one typed error out.

Retries are not made here: the contract makes them, since it alone knows how much time is left.
"""

from __future__ import annotations

import asyncio
import time
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from agents import background
from agents.failures import UnusableAnswer
from errors import SettingsError
from gateway import call_error
from settings import RULES, Settings

if TYPE_CHECKING:
    import openai
    from langchain_core.messages import AIMessage
    from langchain_core.outputs import ChatGeneration
    from langchain_openai import ChatOpenAI

Schema = Mapping[str, Any]
_MOST_TOKENS = 10**9


@dataclass(frozen=True)
class Completion:
    """`None` means unknown: the gateway reported no usage, or the model's price is not on our list."""

    text: str
    model: str
    prompt_tokens: int | None
    completion_tokens: int | None
    cost_usd: float | None
    seconds: float
    finish_reason: str | None


class ChatClient(Protocol):
    @property
    def model(self) -> str: ...

    async def complete(
        self,
        system: str,
        user: str,
        *,
        schema: Schema | None = None,
        schema_name: str = "output",
        strict: bool = False,
        seconds: float,
    ) -> Completion:
        """One call within so many seconds; raises GatewayError or RejectedOutput."""


class ModelFactory:
    """Makes the chat client of each role; all share one connection pool, which `close` ends."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._pool = _Pool()

    def chat(self, role: str) -> ChatClient | None:
        """The role's client, or None when the embedded rules play it."""
        if role not in self._settings.models:
            raise SettingsError(f"{role!r} is not a model role: choose one of {', '.join(self._settings.models)}.")
        return self.named(self._settings.models[role])

    def named(self, model: str) -> ChatClient | None:
        """The client of this very model, whatever its role; None for the embedded rules."""
        return None if model == RULES else self._client(model)

    def close(self) -> None:
        background.run(self._pool.close)

    def _client(self, model: str) -> ChatClient:
        key = self._settings.gateway_api_key
        if key is None:  # left out, langchain would look for another service's key in the environment and send that
            raise SettingsError(f"GATEWAY_API_KEY is not set, and {model!r} needs it.")
        return GatewayClient(model, str(self._settings.gateway_base_url), key.get_secret_value(), self._pool)


class _Pool:
    """The HTTP client of the running loop. Connections die with their loop, so a new loop gets a new client."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._http: openai.DefaultAsyncHttpxClient | None = None

    def http(self) -> openai.DefaultAsyncHttpxClient:
        import openai

        loop = asyncio.get_running_loop()
        if self._http is None or self._loop is not loop:
            # A redirect would carry the patient's words to a host that nobody configured.
            self._loop, self._http = loop, openai.DefaultAsyncHttpxClient(follow_redirects=False)
            background.on_close(self._http.aclose)
        return self._http

    async def close(self) -> None:
        http, self._http = self._http, None
        if http is not None and self._loop is asyncio.get_running_loop():
            await http.aclose()


class GatewayClient:
    """One model at an OpenAI-compatible endpoint."""

    def __init__(self, model: str, base_url: str, api_key: str, pool: _Pool) -> None:
        self._model, self._base_url, self._api_key, self._pool = model, base_url, api_key, pool
        self._built: tuple[object, ChatOpenAI] | None = None
        # Two seconds, spent here and not out of the first call's time; a set-up with rules only never spends them.
        import langchain_openai  # noqa: F401

    def __repr__(self) -> str:
        return f"GatewayClient({self._model!r})"

    @property
    def model(self) -> str:
        return self._model

    async def complete(
        self,
        system: str,
        user: str,
        *,
        schema: Schema | None = None,
        schema_name: str = "output",
        strict: bool = False,
        seconds: float,
    ) -> Completion:
        options: dict[str, Any] = {"timeout": seconds}
        if schema is not None:
            form = {"name": schema_name, "schema": schema, "strict": strict}
            # As extra body: given openly, langchain takes a path that raises on a cut answer and loses its usage.
            options["extra_body"] = {"response_format": {"type": "json_schema", "json_schema": form}}
        return await background.arun(lambda: self._complete(system, user, options, seconds))

    async def _complete(self, system: str, user: str, options: dict[str, Any], seconds: float) -> Completion:
        started = time.monotonic()
        try:
            # The total deadline: a server that drips bytes never trips the client's read timeout.
            async with asyncio.timeout(seconds):
                generation = await self._generate(system, user, options)
        except Exception as error:
            raise call_error(error, self._model, seconds) from None
        return self._read(generation, time.monotonic() - started)

    async def _generate(self, system: str, user: str, options: dict[str, Any]) -> ChatGeneration:
        """Below langchain's callback manager, so that no tracer that the environment turns on, no cache and no token
        stream of the calling graph ever sees the messages."""
        from langchain_core.messages import HumanMessage, SystemMessage

        result = await self._chat()._agenerate([SystemMessage(system), HumanMessage(user)], **options)
        return result.generations[0]

    def _chat(self) -> ChatOpenAI:
        from langchain_openai import ChatOpenAI

        http = self._pool.http()
        if self._built is None or self._built[0] is not http:
            chat = ChatOpenAI(
                model=self._model,
                base_url=self._base_url,
                api_key=self._api_key,
                http_async_client=http,
                openai_proxy="",
                temperature=temperature_of(self._model),
                max_retries=0,
                timeout=None,
                disable_streaming=True,
                use_responses_api=False,
            )
            self._built = http, chat
        return self._built[1]

    def _read(self, generation: ChatGeneration, seconds: float) -> Completion:
        message = cast("AIMessage", generation.message)
        usage = message.usage_metadata
        asked, answered = (_count(usage["input_tokens"]), _count(usage["output_tokens"])) if usage else (None, None)
        completion = Completion(
            text=message.content if isinstance(message.content, str) else "",
            model=self._model,
            prompt_tokens=asked,
            completion_tokens=answered,
            cost_usd=cost_usd(self._model, asked, answered),
            seconds=seconds,
            finish_reason=(generation.generation_info or {}).get("finish_reason"),
        )
        _refuse_unusable(completion, refused=bool(message.additional_kwargs.get("refusal")))
        return completion


def _count(told: object) -> int | None:
    """Tokens as a gateway tells them; what is no such number is not known, and fails no turn."""
    return told if isinstance(told, int) and 0 <= told <= _MOST_TOKENS else None


def temperature_of(model: str) -> float | None:
    """What is sent; None where the model takes none."""
    return 0 if _price(model).get("temperature", True) else None


def cost_usd(model: str, prompt_tokens: int | None, completion_tokens: int | None) -> float | None:
    """None when the model's price or the tokens are unknown: an unknown cost is not a zero cost."""
    price = _price(model)
    if not price or prompt_tokens is None or completion_tokens is None:
        return None
    return float(prompt_tokens * price["input"] + completion_tokens * price["output"]) / 1_000_000


def _refuse_unusable(completion: Completion, *, refused: bool) -> None:
    match completion.finish_reason:
        case "length":
            raise UnusableAnswer("truncated", "the answer was cut off at the length limit; be brief", completion)
        case "content_filter":
            raise UnusableAnswer("refusal", "the gateway's content filter withheld the answer", completion)
    if refused:
        raise UnusableAnswer("refusal", "the model refused to answer", completion)
    if not completion.text.strip():
        raise UnusableAnswer("empty", "the answer was empty", completion)


@cache
def _prices() -> dict[str, dict[str, Any]]:
    return tomllib.loads(Path(__file__).with_name("prices.toml").read_text(encoding="utf-8"))


def _price(model: str) -> dict[str, Any]:
    return _prices().get(model, {})
