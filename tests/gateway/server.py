"""The server: receives, records, and lets a scripted behaviour answer."""

from __future__ import annotations

import json
import socket
import sys
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.gateway import wire
from tests.gateway.behaviours import Behaviour, embeddings, json_reply, text_reply
from tests.gateway.wire import Json

Scripted = Behaviour | Callable[[Json], "Behaviour | str | Json"]


@dataclass(frozen=True)
class Received:
    """One request as it came over the wire."""

    method: str
    path: str
    headers: Message
    raw: bytes

    @property
    def body(self) -> Json:
        return dict(json.loads(self.raw)) if self.raw else {}

    @property
    def words(self) -> object:
        """What was sent to be answered or embedded."""
        return self.body.get("messages") or self.body.get("input")

    def message(self, role: str) -> str:
        """The text of the last message of that role."""
        return str([m["content"] for m in self.body["messages"] if m["role"] == role][-1])


@dataclass(frozen=True)
class Exchange:
    """What a behaviour may do with one request."""

    request: Received
    closing: threading.Event
    _handler: BaseHTTPRequestHandler

    @property
    def streamed(self) -> bool:
        return bool(self.request.body.get("stream"))

    def head(self, status: int, content_type: str = "application/json", **headers: str) -> None:
        self._handler.send_response(status)
        self._handler.send_header("Content-Type", content_type)
        for name, value in headers.items():
            self._handler.send_header(name.replace("_", "-"), value)
        self._handler.end_headers()
        self._handler.wfile.flush()

    def write(self, data: bytes) -> None:
        self._handler.wfile.write(data)
        self._handler.wfile.flush()

    def json(self, status: int, value: object, **headers: str) -> None:
        data = wire.encode(value)
        self.head(status, Content_Length=str(len(data)), **headers)
        self.write(data)

    def events(self, events: Iterable[Json], *, finish: bool = True) -> None:
        """Server-sent events in chunked transfer; unfinished ones end without [DONE] and without the last chunk."""
        self.head(200, "text/event-stream", Transfer_Encoding="chunked")
        for event in events:
            self.chunk(b"data: " + wire.encode(event) + b"\n\n")
        if finish:
            self.chunk(b"data: [DONE]\n\n")
            self.write(b"0\r\n\r\n")
        else:
            self.cut()

    def chunk(self, data: bytes) -> None:
        self.write(b"%x\r\n%s\r\n" % (len(data), data))

    def cut(self) -> None:
        """Hang up after this answer, complete or not."""
        self._handler.close_connection = True

    def wait(self, seconds: float) -> bool:
        """Do nothing for a while; True when the server is being closed meanwhile."""
        return self.closing.wait(seconds)


@dataclass
class Gateway:
    """The handle that tests hold."""

    base_url: str
    models: tuple[str, ...] = ("openai/gpt-4.1", "openai/gpt-4.1-mini", "openai/text-embedding-3-small")
    default: Scripted | None = None
    requests: list[Received] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)
    _queues: defaultdict[str | None, deque[Scripted]] = field(default_factory=lambda: defaultdict(deque))
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def script(self, *behaviours: Scripted, model: str | None = None) -> None:
        """Queue what the next calls get: chat completions of one model or of any; embeddings only by their model."""
        with self._changed:
            self._queues[model].extend(behaviours)

    def wait_for_requests(self, count: int, seconds: float = 30.0) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: len(self.requests) >= count, seconds)

    def receive(self, request: Received) -> None:
        with self._changed:
            self.requests.append(request)
            self._changed.notify_all()

    def next_embedding(self, body: Json) -> Behaviour:
        with self._changed:
            queue = self._queues[body.get("model")]
            scripted = queue.popleft() if queue else embeddings()
        assert isinstance(scripted, Behaviour), "embeddings are scripted by behaviours"
        return scripted

    def next_behaviour(self, body: Json) -> Behaviour:
        with self._changed:
            queue = self._queues[body.get("model")] or self._queues[None]
            scripted = queue.popleft() if queue else self.default or _minimal
        if isinstance(scripted, Behaviour):
            return scripted
        reply = scripted(body)
        if isinstance(reply, Behaviour):
            return reply
        return text_reply(reply) if isinstance(reply, str) else json_reply(reply)


def _minimal(body: Json) -> str | Json:
    """Unscripted: the smallest answer that the asked schema allows, else a word."""
    form = body.get("response_format") or {}
    schema: Mapping[str, Any] | None = (form.get("json_schema") or {}).get("schema")
    return dict(wire.example(dict(schema))) if schema else "ok"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def do_GET(self) -> None:
        exchange = self._exchange()
        if self.path == "/v1/models":
            exchange.json(200, wire.models(self.server.gateway.models))
        else:
            exchange.json(404, wire.error(f"no such path {self.path}", "not_found"))

    def do_POST(self) -> None:
        exchange = self._exchange()
        script = {
            "/v1/embeddings": self.server.gateway.next_embedding,
            "/v1/chat/completions": self.server.gateway.next_behaviour,
        }.get(self.path)
        if script is None:
            exchange.json(404, wire.error(f"no such path {self.path}", "not_found"))
            return
        # A client that gave up is this server's daily bread, not a failure of it.
        with suppress(ConnectionError):
            script(exchange.request.body).act(exchange)

    def _exchange(self) -> Exchange:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        request = Received(self.command, self.path, self.headers, raw)
        self.server.gateway.receive(request)
        return Exchange(request, self.server.gateway.closing, self)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Silence: tests read `requests` instead."""


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # so that closing waits for every handler: a test leaves no thread behind

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.gateway = Gateway(f"http://127.0.0.1:{self.server_address[1]}/v1")
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection cut by `stop` or by the client ends its handler quietly; anything else is a bug to show."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def stop(self) -> None:
        self.gateway.closing.set()
        self.shutdown()
        with self._lock:
            for sock in self._open:
                with suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)
        self.server_close()


@contextmanager
def gateway() -> Iterator[Gateway]:
    server = _Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, name="stand-in-gateway")
    thread.start()
    try:
        yield server.gateway
    finally:
        server.stop()
        thread.join()
