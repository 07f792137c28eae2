"""A stand-in for an S3-compatible store on loopback: one bucket, four verbs, and faults when told."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

BUCKET, KEY, SECRET = "crosscut-books", "key-of-ours", "secret-of-ours"
CANARY = "canary-words-of-the-store"
Fault = Callable[["_Handler"], None]


@dataclass
class S3:
    """`faults` answer the next requests for objects, one each."""

    url: str
    objects: dict[str, bytes] = field(default_factory=dict)
    requests: list[tuple[str, str]] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)

    def verbs(self) -> list[str]:
        return [verb for verb, path in self.requests if "location" not in path]


def status(code: int, name: str, **headers: str) -> Fault:
    """An error as S3 words it, with more in it than anybody should pass on."""
    text = f"<Error><Code>{name}</Code><Message>{CANARY}</Message></Error>"
    return lambda handler: handler.say(code, text.encode(), "application/xml", **headers)


def html_page(handler: _Handler) -> None:
    handler.say(502, f"<html>{CANARY}</html>".encode(), "text/html")


def cut_short(handler: _Handler) -> None:
    """Fewer bytes than were promised."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b"too few")


def hang_up(handler: _Handler) -> None:
    """No answer at all."""


@contextmanager
def s3() -> Iterator[S3]:
    server = _Server()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), name="stand-in-s3")
    thread.start()
    try:
        yield server.store
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        if self.path == f"/{BUCKET}?location=":
            self._take()
            self.say(200, b"<LocationConstraint>eu-somewhere-1</LocationConstraint>", "application/xml")
        elif self._accepted():
            self.say(200, self.server.store.objects[self.path])

    def do_HEAD(self) -> None:
        if self._accepted():
            self.say(200, self.server.store.objects[self.path])

    def do_PUT(self) -> None:
        body = self._take()
        if not self._refused() and self._whole(body):
            self.server.store.objects[self.path] = body
            self.say(200, b"", ETag='"of-no-use"')

    def do_DELETE(self) -> None:
        self._take()
        if not self._refused():
            self.server.store.objects.pop(self.path, None)
            self.say(204, b"")

    def say(self, code: int, body: bytes, kind: str = "application/octet-stream", **headers: str) -> None:
        self.send_response(code)
        about = {"Content-Type": kind, "Content-Length": str(len(body)), **headers}
        about.setdefault("Last-Modified", "Thu, 01 Jan 2026 12:00:30 GMT")
        for name, value in about.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _take(self) -> bytes:
        self.server.store.requests.append((self.command, self.path))
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def _accepted(self) -> bool:
        self._take()
        if self._refused():
            return False
        if self.path not in self.server.store.objects:
            status(404, "NoSuchKey")(self)
            return False
        return True

    def _refused(self) -> bool:
        if self.server.store.faults:
            self.server.store.faults.pop(0)(self)
        elif not self.path.startswith(f"/{BUCKET}/"):
            status(404, "NoSuchBucket")(self)
        elif f"Credential={KEY}/" not in self.headers.get("Authorization", ""):
            status(403, "InvalidAccessKeyId")(self)
        else:
            return False
        return True

    def _whole(self, body: bytes) -> bool:
        if hashlib.sha256(body).hexdigest() == self.headers["x-amz-content-sha256"]:
            return True
        status(400, "XAmzContentSHA256Mismatch")(self)
        return False

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Silence: tests read `requests` instead."""


class _Server(ThreadingHTTPServer):
    daemon_threads = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.store = S3(f"http://127.0.0.1:{self.server_address[1]}")
