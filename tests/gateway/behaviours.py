"""How the stand-in answers one call: replies and faults, each a named constructor."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.gateway import wire

if TYPE_CHECKING:
    from tests.gateway.server import Exchange


@dataclass(frozen=True)
class Behaviour:
    name: str
    act: Callable[[Exchange], None]

    def __repr__(self) -> str:
        return self.name


def text_reply(text: str) -> Behaviour:
    return _message("text_reply", {"content": text, "refusal": None})


def json_reply(value: object) -> Behaviour:
    """Also the way to inject quotes, scores or keys that nobody said."""
    return _message("json_reply", {"content": json.dumps(value, ensure_ascii=False), "refusal": None})


def tool_call(name: str, arguments: dict[str, Any]) -> Behaviour:
    call = {"id": "call_1", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    return _message("tool_call", {"content": None, "tool_calls": [call]}, "tool_calls")


def empty() -> Behaviour:
    return _message("empty", {"content": "", "refusal": None})


def refusal(text: str = "I cannot help with that.") -> Behaviour:
    return _message("refusal", {"content": None, "refusal": text})


def finish_length(text: str = '{"score": 3, "evid') -> Behaviour:
    return _message("finish_length", {"content": text, "refusal": None}, "length")


def content_filtered() -> Behaviour:
    return _message("content_filtered", {"content": "", "refusal": None}, "content_filter")


def malformed_json() -> Behaviour:
    return _message("malformed_json", {"content": '{"score": 3, "quotes": [', "refusal": None})


def wrong_schema() -> Behaviour:
    return _message("wrong_schema", {"content": '{"verdict": "unwell", "score": "often"}', "refusal": None})


def embeddings(size: int | None = None, drop: int = 0) -> Behaviour:
    """A vector for each text: of another size than was asked for, or fewer of them, when told so."""

    def act(exchange: Exchange) -> None:
        body = exchange.request.body
        reply = wire.embeddings(body | {"dimensions": size or body.get("dimensions")})
        exchange.json(200, reply | {"data": reply["data"][drop:]})

    return Behaviour(f"embeddings_{size}_{drop}", act)


def reply(value: object) -> Behaviour:
    """Any JSON at all, with status 200."""
    return Behaviour(f"reply_{value}"[:40], lambda exchange: exchange.json(200, value))


def status(code: int, kind: str = "error", **headers: str) -> Behaviour:
    """Any HTTP failure. The error's text repeats the prompt, as some gateways do, to show that nobody passes it on."""

    def act(exchange: Exchange) -> None:
        echo = json.dumps(exchange.request.words)
        exchange.json(code, wire.error(f"failed on {echo}", kind), **headers)

    return Behaviour(f"status_{code}", act)


def rate_limited(retry_after: float | str | None = None) -> Behaviour:
    """`retry_after` in seconds, or an HTTP date as text."""
    headers = {} if retry_after is None else {"Retry_After": str(retry_after)}
    return status(429, "rate_limit_exceeded", **headers)


def server_error(code: int = 500) -> Behaviour:
    return status(code, "server_error")


def unauthorised() -> Behaviour:
    return status(401, "invalid_api_key")


def redirected(location: str) -> Behaviour:
    return status(307, "moved", Location=location)


def html_page() -> Behaviour:
    """What a proxy or a captive portal answers: 200, not JSON at all, and with the request's text in it."""

    def act(exchange: Exchange) -> None:
        page = b"<html>" + json.dumps(exchange.request.words).encode() + b"</html>"
        exchange.head(200, "text/html", Content_Length=str(len(page)))
        exchange.write(page)

    return Behaviour("html_page", act)


def hang(seconds: float = 60.0) -> Behaviour:
    """Say nothing, then hang up; closing the server ends it at once."""

    def act(exchange: Exchange) -> None:
        exchange.wait(seconds)
        exchange.cut()

    return Behaviour("hang", act)


def drip(seconds: float = 60.0, gap: float = 0.02) -> Behaviour:
    """A byte now and then, so that a read timeout never fires; never a whole answer."""

    def act(exchange: Exchange) -> None:
        kind = "text/event-stream" if exchange.streamed else "application/json"
        exchange.head(200, kind, Transfer_Encoding="chunked")
        for _ in range(round(seconds / gap)):
            exchange.chunk(b"\n" if exchange.streamed else b" ")
            if exchange.wait(gap):
                break
        exchange.cut()

    return Behaviour("drip", act)


def truncated_stream(text: str = "this sentence will never be finished") -> Behaviour:
    """A chunked answer that stops half way: events when streamed, else half of the JSON."""

    def act(exchange: Exchange) -> None:
        body, message = exchange.request.body, {"content": text}
        if exchange.streamed:
            events = list(wire.chunks(body, message, "stop"))
            exchange.events(events[: len(events) // 2], finish=False)
            return
        data = wire.encode(wire.completion(body, message, "stop"))
        exchange.head(200, Transfer_Encoding="chunked")
        exchange.chunk(data[: len(data) // 2])
        exchange.cut()

    return Behaviour("truncated_stream", act)


def truncated_body(text: str = "this sentence will never be finished") -> Behaviour:
    """Fewer bytes than Content-Length promises."""

    def act(exchange: Exchange) -> None:
        data = wire.encode(wire.completion(exchange.request.body, {"content": text}, "stop"))
        exchange.head(200, Content_Length=str(len(data)))
        exchange.write(data[: len(data) // 2])
        exchange.cut()

    return Behaviour("truncated_body", act)


def delay(seconds: float, inner: Behaviour) -> Behaviour:
    def act(exchange: Exchange) -> None:
        if not exchange.wait(seconds):
            inner.act(exchange)

    return Behaviour(f"delay_{inner}", act)


def rendezvous(parties: int, inner: Behaviour, seconds: float = 20.0) -> Behaviour:
    """Answer only once so many requests are here at the same time; script the one object that often."""
    barrier = threading.Barrier(parties)

    def act(exchange: Exchange) -> None:
        try:
            barrier.wait(seconds)
        except threading.BrokenBarrierError:
            exchange.json(500, wire.error("the others never came", "lonely"))
        else:
            inner.act(exchange)

    return Behaviour(f"rendezvous_{inner}", act)


def _message(name: str, message: wire.Json, finish: str = "stop") -> Behaviour:
    def act(exchange: Exchange) -> None:
        body = exchange.request.body
        if exchange.streamed:
            exchange.events(wire.chunks(body, message, finish))
        else:
            exchange.json(200, wire.completion(body, message, finish))

    return Behaviour(name, act)
