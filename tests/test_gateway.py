"""The stand-in gateway, judged by the real openai client."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import openai
import pytest
from pydantic import BaseModel

from tests import gateway as gw

MODEL = "openai/gpt-4.1"


class Verdict(BaseModel):
    score: int
    quotes: list[str]


@pytest.fixture
def gate() -> Iterator[gw.Gateway]:
    with gw.gateway() as server:
        yield server


@pytest.fixture
def client(gate: gw.Gateway) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=gate.base_url, api_key="k", max_retries=0, timeout=20) as made:
        yield made


def ask(client: openai.OpenAI, **options: object) -> openai.types.chat.ChatCompletion:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "How are you?"}]
    return client.chat.completions.create(model=MODEL, messages=messages, **options)  # type: ignore[call-overload, no-any-return]


def stream_text(client: openai.OpenAI) -> list[str]:
    stream = client.chat.completions.create(
        model=MODEL, messages=[{"role": "user", "content": "hi"}], stream=True, stream_options={"include_usage": True}
    )
    with stream:
        return [e.choices[0].delta.content or "" for e in stream if e.choices]


def test_answers_with_text_usage_and_a_record_of_the_bytes(gate: gw.Gateway, client: openai.OpenAI) -> None:
    gate.script(gw.text_reply("I am “fine”."))
    reply = ask(client)
    assert reply.choices[0].message.content == "I am “fine”."
    assert reply.usage is not None
    assert reply.usage.total_tokens == reply.usage.prompt_tokens + reply.usage.completion_tokens > 0
    [request] = gate.requests
    assert request.headers["Authorization"] == "Bearer k"
    assert b"How are you?" in request.raw
    assert request.message("system") == "Be brief."


def test_streams_the_same_text_in_pieces(gate: gw.Gateway, client: openai.OpenAI) -> None:
    gate.script(gw.text_reply("three short words"))
    pieces = stream_text(client)
    assert "".join(pieces) == "three short words"
    assert len([p for p in pieces if p]) == 3


def test_a_streamed_answer_can_report_its_usage(gate: gw.Gateway, client: openai.OpenAI) -> None:
    stream = client.chat.completions.create(
        model=MODEL, messages=[{"role": "user", "content": "hi"}], stream=True, stream_options={"include_usage": True}
    )
    with stream:
        assert [e.usage.total_tokens > 0 for e in stream if e.usage] == [True]


def test_unscripted_answers_fit_the_schema_that_was_asked_for(gate: gw.Gateway, client: openai.OpenAI) -> None:
    reply = client.chat.completions.parse(
        model=MODEL, messages=[{"role": "user", "content": "hi"}], response_format=Verdict
    )
    assert reply.choices[0].message.parsed == Verdict(score=0, quotes=[])


@pytest.mark.parametrize("streamed", [False, True])
def test_tool_calls(gate: gw.Gateway, client: openai.OpenAI, streamed: bool) -> None:
    gate.script(gw.tool_call("look_up", {"term": "sleep"}))
    if streamed:
        with ask(client, stream=True) as events:  # type: ignore[attr-defined]
            calls = [c for e in events for choice in e.choices for c in choice.delta.tool_calls or []]
    else:
        calls = list(ask(client).choices[0].message.tool_calls or [])
    assert [(c.function.name, c.function.arguments) for c in calls] == [("look_up", '{"term": "sleep"}')]


def test_scripts_go_by_model_first_then_in_order_then_the_default(gate: gw.Gateway, client: openai.OpenAI) -> None:
    gate.script(gw.text_reply("any 1"), lambda body: f"for {body['model']}")
    gate.script(gw.text_reply("mine"), model=MODEL)
    gate.default = gw.text_reply("default")
    assert [ask(client).choices[0].message.content for _ in range(4)] == ["mine", "any 1", f"for {MODEL}", "default"]


def test_embeddings_depend_on_the_text_alone(client: openai.OpenAI) -> None:
    model = "openai/text-embedding-3-small"
    first = client.embeddings.create(model=model, input=["sleep", "worry"])
    again = client.embeddings.create(model=model, input="worry", encoding_format="float", dimensions=1536)
    assert len(first.data[0].embedding) == 1536
    assert first.data[1].embedding == pytest.approx(again.data[0].embedding, abs=1e-6)
    assert first.data[0].embedding != pytest.approx(first.data[1].embedding, abs=1e-3)


def test_lists_its_models(gate: gw.Gateway, client: openai.OpenAI) -> None:
    assert {m.id for m in client.models.list()} == set(gate.models)


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (gw.rate_limited(3), openai.RateLimitError),
        (gw.server_error(503), openai.InternalServerError),
        (gw.unauthorised(), openai.AuthenticationError),
        (gw.truncated_body(), openai.APIConnectionError),
        (gw.truncated_stream(), openai.APIConnectionError),
    ],
    ids=repr,
)
def test_transport_faults_reach_the_client_as_its_own_errors(
    gate: gw.Gateway, client: openai.OpenAI, fault: gw.Behaviour, error: type[openai.APIError]
) -> None:
    gate.script(fault)
    with pytest.raises(error) as caught:
        ask(client)
    if isinstance(caught.value, openai.RateLimitError):
        assert caught.value.response.headers["retry-after"] == "3"


@pytest.mark.parametrize("fault", [gw.hang(), gw.drip(gap=5)], ids=repr)
def test_silence_trips_a_read_timeout(gate: gw.Gateway, client: openai.OpenAI, fault: gw.Behaviour) -> None:
    gate.script(fault)
    with pytest.raises(openai.APITimeoutError):
        ask(client, timeout=0.2)


def test_a_drip_outlives_any_read_timeout(gate: gw.Gateway, client: openai.OpenAI) -> None:
    gate.script(gw.drip(seconds=3, gap=0.05))
    with pytest.raises(openai.APIConnectionError) as caught:
        ask(client, timeout=1.5)
    assert not isinstance(caught.value, openai.APITimeoutError)


def test_a_cut_stream_never_says_it_is_done(gate: gw.Gateway, client: openai.OpenAI) -> None:
    gate.script(gw.truncated_stream("one two three four five six"))
    with pytest.raises(openai.APIConnectionError):
        stream_text(client)


def test_answers_that_are_no_answers(gate: gw.Gateway, client: openai.OpenAI) -> None:
    gate.script(gw.refusal("no"), gw.empty(), gw.finish_length(), gw.content_filtered())
    refused, nothing, cut, filtered = (ask(client).choices[0] for _ in range(4))
    assert (refused.message.refusal, refused.message.content) == ("no", None)
    assert nothing.message.content == ""
    assert (cut.finish_reason, filtered.finish_reason) == ("length", "content_filter")


def test_a_delayed_answer_arrives(gate: gw.Gateway, client: openai.OpenAI) -> None:
    gate.script(gw.delay(0.01, gw.text_reply("late")))
    assert ask(client).choices[0].message.content == "late"


def test_requests_meet_at_a_rendezvous(gate: gw.Gateway, client: openai.OpenAI) -> None:
    together = gw.rendezvous(2, gw.text_reply("met"))
    gate.script(together, together)
    with ThreadPoolExecutor(2) as pool:
        replies = list(pool.map(lambda _: ask(client).choices[0].message.content, range(2)))
    assert replies == ["met", "met"]


def test_closing_the_server_releases_what_hangs_and_leaves_no_thread() -> None:
    before = threading.active_count()
    with ThreadPoolExecutor(1) as pool:
        with gw.gateway() as gate:
            gate.script(gw.hang(3600))
            client = openai.OpenAI(base_url=gate.base_url, api_key="k", max_retries=0)
            waiting = pool.submit(ask, client)
            assert gate.wait_for_requests(1)
        with pytest.raises(openai.APIConnectionError):
            waiting.result()
        client.close()
    assert threading.active_count() == before
