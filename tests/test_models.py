"""The model factory against a real HTTP gateway: what is sent, what comes back, and what never leaves."""

from __future__ import annotations

import asyncio
import contextvars
import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from agents import background, models
from agents.failures import UnusableAnswer
from agents.models import ChatClient, Completion, ModelFactory, cost_usd
from errors import SettingsError
from gateway import CallError, retry_after_seconds
from settings import Settings
from tests import gateway as gw

MODEL = "openai/gpt-4.1"
SECRET = "my patient said this"
CALL = """
import asyncio, os, sys
from agents.models import ModelFactory
from settings import Settings
url = sys.argv[1]
settings = Settings(_env_file=None, gateway_base_url=url, gateway_api_key="k", model_scorer="openai/gpt-4.1")
client = ModelFactory(settings).chat("scorer")
print(asyncio.run(client.complete("system", "user", seconds=20)).text, flush=True)
"""
NOTE_THE_CLOSE = """
from agents import background
async def closer():
    print("closed", flush=True)
background.on_close(closer)
"""
FORK_AND_CALL = """
pid = os.fork()
print(asyncio.run(client.complete("system", "user", seconds=20)).text, flush=True)
sys.exit(os.waitpid(pid, 0)[1] if pid else 0)
"""
SCHEMA = {"type": "object", "properties": {"score": {"type": "integer"}}, "required": ["score"]}


@pytest.fixture
def gate() -> Iterator[gw.Gateway]:
    with gw.gateway() as server:
        yield server


@pytest.fixture
def factory(gate: gw.Gateway) -> Iterator[ModelFactory]:
    made = ModelFactory(settings_for(gate))
    yield made
    made.close()


@pytest.fixture
def client(factory: ModelFactory) -> ChatClient:
    made = factory.chat("scorer")
    assert made is not None
    return made


def settings_for(gate: gw.Gateway, **overrides: Any) -> Settings:
    values = {"gateway_base_url": gate.base_url, "gateway_api_key": "sk-secret", "model_scorer": MODEL} | overrides
    return Settings(_env_file=None, **values)


def ask(client: ChatClient, seconds: float = 20.0, **options: Any) -> Completion:
    return asyncio.run(client.complete("Be brief.", SECRET, seconds=seconds, **options))


def test_a_role_played_by_rules_has_no_client(factory: ModelFactory) -> None:
    assert factory.chat("interviewer") is None


def test_an_unknown_role_is_refused_by_name(factory: ModelFactory) -> None:
    with pytest.raises(SettingsError, match=r"'barber'.*interviewer, scorer"):
        factory.chat("barber")


def test_a_model_without_our_key_never_borrows_another(gate: gw.Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "somebody-elses")
    with pytest.raises(SettingsError, match="GATEWAY_API_KEY"):
        ModelFactory(settings_for(gate, gateway_api_key=None)).chat("scorer")


def test_a_completion_has_text_tokens_cost_and_time(gate: gw.Gateway, client: ChatClient) -> None:
    gate.script(gw.text_reply("fine"))
    done = ask(client)
    assert (done.text, done.model, done.finish_reason) == ("fine", MODEL, "stop")
    assert done.prompt_tokens
    assert done.completion_tokens
    assert done.cost_usd == pytest.approx((done.prompt_tokens * 2 + done.completion_tokens * 8) / 1e6)
    assert done.seconds > 0


def test_what_is_sent(gate: gw.Gateway, client: ChatClient) -> None:
    gate.script(gw.json_reply({"score": 1}))
    ask(client, schema=SCHEMA, schema_name="Score", strict=True)
    [request] = gate.requests
    assert request.headers["Authorization"] == "Bearer sk-secret"
    body = request.body
    assert body["model"] == MODEL
    assert body["temperature"] == 0
    assert body["messages"] == [{"role": "system", "content": "Be brief."}, {"role": "user", "content": SECRET}]
    form = {"name": "Score", "schema": SCHEMA, "strict": True}
    assert body["response_format"] == {"type": "json_schema", "json_schema": form}
    assert not body.get("stream")


def test_no_temperature_for_a_model_that_refuses_one(gate: gw.Gateway) -> None:
    factory = ModelFactory(settings_for(gate, model_scorer="openai/gpt-5"))
    client = factory.chat("scorer")
    assert client is not None
    ask(client)
    factory.close()
    assert "temperature" not in gate.requests[0].body


@pytest.mark.parametrize(
    ("fault", "kind", "status", "retryable"),
    [
        (gw.rate_limited(), "rate_limited", 429, True),
        (gw.server_error(500), "gateway", 500, True),
        (gw.server_error(503), "gateway", 503, True),
        (gw.status(408), "gateway", 408, True),
        (gw.status(409), "gateway", 409, True),
        (gw.status(400), "gateway", 400, False),
        (gw.unauthorised(), "gateway", 401, False),
        (gw.status(403), "gateway", 403, False),
        (gw.status(404), "gateway", 404, False),
        (gw.truncated_body(), "gateway", None, True),
        (gw.truncated_stream(), "gateway", None, True),
        (gw.html_page(), "gateway", None, True),
    ],
    ids=repr,
)
def test_a_failed_call_is_a_typed_error_without_anybodys_words(
    gate: gw.Gateway, client: ChatClient, fault: gw.Behaviour, kind: str, status: int | None, retryable: bool
) -> None:
    gate.script(fault)
    with pytest.raises(CallError) as caught:
        ask(client)
    error = caught.value
    assert (error.kind, error.status, error.retryable) == (kind, status, retryable)
    assert MODEL in str(error)
    assert str(status or "") in str(error)
    assert SECRET not in str(error)
    assert "never be finished" not in str(error)
    assert len(gate.requests) == 1  # retries are the contract's business


def test_a_gateway_that_is_not_there_is_a_retryable_failure() -> None:
    with gw.gateway() as gate:
        settings = settings_for(gate)
    factory = ModelFactory(settings)
    client = factory.chat("scorer")
    assert client is not None
    with pytest.raises(CallError, match="connection") as caught:
        ask(client)
    factory.close()
    assert caught.value.retryable


@pytest.mark.parametrize("fault", [gw.hang(4), gw.drip(4)], ids=repr)
def test_the_deadline_is_on_the_whole_call(gate: gw.Gateway, client: ChatClient, fault: gw.Behaviour) -> None:
    """Left alone, these hang up after four seconds: a later deadline would see a broken connection instead."""
    gate.script(fault)
    with pytest.raises(CallError, match=r"within 0\.3 s") as caught:
        ask(client, seconds=0.3)
    assert (caught.value.kind, caught.value.retryable) == ("timeout", True)


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (gw.refusal(), "refusal"),
        (gw.content_filtered(), "refusal"),
        (gw.empty(), "empty"),
        (gw.text_reply(" \n"), "empty"),
        (gw.finish_length(), "truncated"),
        (gw.tool_call("look_up", {}), "empty"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("schema", [None, SCHEMA], ids=["text", "json"])
def test_an_answer_with_nothing_in_it_is_rejected_and_still_accounted_for(
    gate: gw.Gateway, client: ChatClient, reply: gw.Behaviour, kind: str, schema: dict[str, Any] | None
) -> None:
    gate.script(reply)
    with pytest.raises(UnusableAnswer) as caught:
        ask(client, schema=schema)
    assert caught.value.kind == kind
    assert caught.value.completion is not None
    assert caught.value.completion.cost_usd


def test_a_redirect_is_not_followed(gate: gw.Gateway, client: ChatClient) -> None:
    with gw.gateway() as stranger:
        gate.script(gw.redirected(f"{stranger.base_url}/chat/completions"))
        with pytest.raises(CallError, match="307"):
            ask(client)
        assert stranger.requests == []


def test_one_client_serves_several_event_loops(gate: gw.Gateway, client: ChatClient) -> None:
    gate.default = gw.text_reply("fine")
    assert [ask(client).text for _ in range(3)] == ["fine"] * 3


def test_nothing_is_traced_even_when_the_environment_asks_for_it(
    gate: gw.Gateway, client: ChatClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    with gw.gateway() as tracer:
        for prefix in ("LANGSMITH", "LANGCHAIN"):
            monkeypatch.setenv(f"{prefix}_TRACING", "true")
            monkeypatch.setenv(f"{prefix}_TRACING_V2", "true")
            monkeypatch.setenv(f"{prefix}_ENDPOINT", tracer.base_url)
            monkeypatch.setenv(f"{prefix}_API_KEY", "trace-me")
        _forget_langsmith_environment()
        ask(client)
        _flush_tracers()
        _forget_langsmith_environment()
        assert len(gate.requests) == 1
        assert tracer.requests == []


def test_callbacks_of_the_calling_graph_see_nothing(gate: gw.Gateway, client: ChatClient) -> None:
    from langchain_core.callbacks import BaseCallbackHandler
    from langchain_core.runnables.config import var_child_runnable_config

    seen: list[str] = []

    class Spy(BaseCallbackHandler):
        def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None:
            seen.append(f"{args}{kwargs}")

    def inside_a_graph() -> None:
        var_child_runnable_config.set({"callbacks": [Spy()]})
        ask(client)

    contextvars.copy_context().run(inside_a_graph)
    assert seen == []


@pytest.mark.parametrize("reply", [gw.text_reply("fine"), gw.server_error(), gw.html_page()], ids=repr)
def test_no_log_holds_the_words_or_the_key(
    gate: gw.Gateway, client: ChatClient, reply: gw.Behaviour, caplog: pytest.LogCaptureFixture
) -> None:
    gate.script(reply)
    with caplog.at_level(logging.DEBUG):
        try:
            ask(client)
        except CallError:
            logging.getLogger("test").exception("the call failed")
    assert any(r.name.startswith(("openai", "httpcore", "httpx")) for r in caplog.records)
    assert SECRET not in caplog.text
    assert "sk-secret" not in caplog.text
    assert "sk-secret" not in repr(client)


def test_prices_know_what_they_do_not_know() -> None:
    assert cost_usd("openai/gpt-4.1-mini", 1_000_000, 1_000_000) == pytest.approx(2.0)
    assert cost_usd("nobody/unheard-of", 10, 10) is None
    assert cost_usd(MODEL, None, 10) is None


def test_every_price_is_a_price() -> None:
    for model, price in models._prices().items():
        assert "/" in model
        assert 0 < price["input"] <= price["output"]


def test_retry_after_is_seconds_or_a_date() -> None:
    now = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)
    assert retry_after_seconds("2.5") == 2.5
    assert retry_after_seconds("Thu, 01 Jan 2026 12:00:30 GMT", now) == 30
    assert retry_after_seconds("Thu, 01 Jan 2026 11:00:00 GMT", now) == 0
    assert [retry_after_seconds(h) for h in (None, "", "soon", "nan", "inf")] == [None] * 5


def test_a_process_that_called_a_model_ends_cleanly(gate: gw.Gateway) -> None:
    """Warnings on, connection kept alive, nobody closes anything: the exit hook must."""
    done = _python("-W", "always::ResourceWarning", "-c", CALL + NOTE_THE_CLOSE, gate.base_url)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok\nclosed\n", "")


def test_a_forked_worker_makes_its_own_loop(gate: gw.Gateway) -> None:
    """As Celery's prefork pool does: the parent called a model before, its thread is not in the child."""
    done = _python("-W", "ignore::DeprecationWarning", "-c", CALL + FORK_AND_CALL, gate.base_url)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n" * 3, "")


def test_importing_the_contract_does_not_import_langchain() -> None:
    """Rules only is the default: it should not wait two seconds for clients that it never uses."""
    done = _python(
        "-c", "import sys, agents.contract; print(sorted({'langchain_openai', 'openai'} & set(sys.modules)))"
    )
    assert done.stdout == "[]\n"


def test_shutting_down_cancels_what_runs_and_the_next_call_starts_anew(gate: gw.Gateway, client: ChatClient) -> None:
    async def interrupted() -> None:
        call = asyncio.create_task(client.complete("s", "u", seconds=20))
        await asyncio.to_thread(gate.wait_for_requests, 1)
        await asyncio.to_thread(background.shut_down)
        with pytest.raises(asyncio.CancelledError):
            await call

    gate.script(gw.hang())
    asyncio.run(interrupted())
    assert ask(client).text == "ok"


def _python(*arguments: str) -> subprocess.CompletedProcess[str]:
    root = Path(models.__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=120, check=False)


def _forget_langsmith_environment() -> None:
    from langsmith import utils

    utils.get_env_var.cache_clear()  # type: ignore[attr-defined]


def _flush_tracers() -> None:
    from langchain_core.tracers.langchain import wait_for_all_tracers

    wait_for_all_tracers()


def test_the_tracing_test_can_fail(gate: gw.Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same environment does trace a plain call: the stand-in tracer is reached."""
    import langchain_openai

    with gw.gateway() as tracer:
        monkeypatch.setenv("LANGSMITH_TRACING", "true")
        monkeypatch.setenv("LANGSMITH_ENDPOINT", tracer.base_url)
        monkeypatch.setenv("LANGSMITH_API_KEY", "trace-me")
        _forget_langsmith_environment()
        chat = langchain_openai.ChatOpenAI(model=MODEL, base_url=gate.base_url, api_key="k")
        assert json.loads(chat.invoke("hi").model_dump_json())["content"] == "ok"
        _flush_tracers()
        _forget_langsmith_environment()
        assert tracer.requests


@pytest.mark.parametrize(
    ("told", "known"), [(12, 12), ({"a": 1}, None), ("12", None), (-1, None), (10**12, None), (None, None)]
)
def test_tokens_that_are_no_number_are_not_known_and_fail_nothing(told: object, known: int | None) -> None:
    assert models._count(told) == known
