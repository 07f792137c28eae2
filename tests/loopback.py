"""Loopback HTTP and SMTP servers that misbehave as told."""

from __future__ import annotations

import base64
import json
import re
import socketserver
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

CANARY = "canary-words-of-a-patient"


@dataclass
class Loopback:
    """A server that keeps every byte it got; `closing` ends handlers that hang on purpose."""

    port: int = 0
    received: list[bytes] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)

    def serve(self, handler: socketserver.StreamRequestHandler) -> None:
        raise NotImplementedError

    @property
    def everything(self) -> bytes:
        return b"".join(self.received)

    @contextmanager
    def running(self) -> Iterator[None]:
        outer = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                with suppress(OSError):  # the client may hang up whenever it likes
                    outer.serve(self)

        with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
            self.port = server.server_address[1]
            threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
            try:
                yield
            finally:
                self.closing.set()
                server.shutdown()


@dataclass
class Hook(Loopback):
    """Answers each request with the next status, then with 200; None hangs, 0 hangs up."""

    statuses: list[int | None] = field(default_factory=list)

    def serve(self, handler: socketserver.StreamRequestHandler) -> None:
        head = b""
        while not head.endswith(b"\r\n\r\n") and (line := handler.rfile.readline()):
            head += line
        length = re.search(rb"(?i)content-length: (\d+)", head)
        self.received.append(head + handler.rfile.read(int(length[1]) if length else 0))
        status = self.statuses.pop(0) if self.statuses else 200
        if status is None:
            self.closing.wait(60)
        elif status:
            there = f"Location: http://127.0.0.1:{self.port}/elsewhere\r\n" if status // 100 == 3 else ""
            echo = CANARY.encode()  # servers say anything; none of it may be kept
            handler.wfile.write(
                f"HTTP/1.1 {status} {CANARY}\r\n{there}Content-Length: {len(echo)}\r\n\r\n".encode() + echo
            )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    @property
    def bodies(self) -> list[dict[str, object]]:
        return [json.loads(raw.partition(b"\r\n\r\n")[2]) for raw in self.received]


@dataclass
class Mailbox(Loopback):
    """A small SMTP server. `replies` overrides what it says to a command; `HANG` as a reply says nothing at all."""

    login: tuple[str, str] | None = None
    tls: ssl.SSLContext | None = None
    tls_from_the_start: bool = False
    replies: dict[str, str] = field(default_factory=dict)
    messages: list[bytes] = field(default_factory=list)
    logged_in: list[str] = field(default_factory=list)
    encrypted: bool = False

    HANG = "hang"

    def serve(self, handler: socketserver.StreamRequestHandler) -> None:
        last = "" if self.tls_from_the_start else self._greet_and_talk(handler.rfile, handler.wfile)
        if self.tls and (self.tls_from_the_start or last == "STARTTLS"):
            with self._secured(handler, self.tls) as (reader, writer):
                talk = self._greet_and_talk if self.tls_from_the_start else self._talk
                talk(reader, writer)

    @contextmanager
    def _secured(
        self, handler: socketserver.StreamRequestHandler, context: ssl.SSLContext
    ) -> Iterator[tuple[Any, Any]]:
        with context.wrap_socket(handler.connection, server_side=True) as secured:
            self.encrypted = True
            with secured.makefile("rb") as reader, secured.makefile("wb", 0) as writer:
                yield reader, writer

    def _greet_and_talk(self, reader: Any, writer: Any) -> str:
        return self._talk(reader, writer) if self._say(writer, "CONNECT", "220 loopback") else ""

    def _talk(self, reader: Any, writer: Any) -> str:
        """Until the client leaves or wants to go on encrypted; gives the last command."""
        verb = ""
        while verb not in ("QUIT", "STARTTLS") and (line := reader.readline()):
            self.received.append(line)
            verb = line.split()[0].decode().upper()
            if not self._say(writer, verb, self._reply(verb, line)):
                break
            if verb == "DATA" and "DATA" not in self.replies:
                self._take_message(reader)
                self._say(writer, "MESSAGE", "250 kept")
        return verb

    def _reply(self, verb: str, line: bytes) -> str:
        if verb == "EHLO":
            offers = [
                *(["STARTTLS"] if self.tls and not self.encrypted else []),
                *(["AUTH PLAIN"] if self.login else []),
            ]
            return "\r\n".join([f"250-{offer}" for offer in ["loopback", *offers]] + ["250 8BITMIME"])
        if verb == "AUTH":
            _, user, password = base64.b64decode(line.split()[2]).decode().split("\0")
            self.logged_in.append(user)
            return "235 welcome" if (user, password) == self.login else f"535 {CANARY}"
        return {"DATA": "354 go on", "QUIT": "221 bye", "STARTTLS": "220 go on"}.get(verb, "250 fine")

    def _say(self, writer: Any, verb: str, reply: str) -> bool:
        reply = self.replies.get(verb, reply)
        if reply == self.HANG:
            self.closing.wait(60)
            return False
        writer.write(f"{reply}\r\n".encode())
        return True

    def _take_message(self, reader: Any) -> None:
        lines = []
        while (line := reader.readline()) not in (b".\r\n", b""):
            lines.append(line)
        self.received += lines
        self.messages.append(b"".join(lines))
