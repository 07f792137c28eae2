"""A small OpenID Connect provider on loopback: discovery, a page with one button a person, codes, signed tokens."""

from __future__ import annotations

import base64
import html
import json
import secrets
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT_ID, CLIENT_SECRET = "crosscut-under-test", "a secret that only the two of us know"
_HEADERS = {"alg": "RS256", "kid": "only"}


@dataclass
class Provider:
    port: int
    people: Mapping[str, Mapping[str, Any]]
    key: RSAKey = field(default_factory=lambda: RSAKey.generate_key(2048, {"kid": "only", "use": "sig"}))
    codes: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def issuer(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def settings(self) -> dict[str, str]:
        return {
            "OIDC_DISCOVERY_URL": f"{self.issuer}/.well-known/openid-configuration",
            "OIDC_CLIENT_ID": CLIENT_ID,
            "OIDC_CLIENT_SECRET": CLIENT_SECRET,
        }

    def discovery(self) -> dict[str, Any]:
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/jwks",
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
        }

    def sign_in_page(self, asked: dict[str, str]) -> str:
        ways = "".join(
            f'<p><a href="/grant?{html.escape(urlencode({**asked, "who": who}))}">{html.escape(who)}</a></p>'
            for who in self.people
        )
        return f"<!doctype html><title>Provider</title><link rel=icon href=data:,><h1>Who are you?</h1>{ways}"

    def granted(self, asked: dict[str, str]) -> str:
        code = secrets.token_urlsafe(16)
        self.codes[code] = asked
        return f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}"

    def token(self, form: dict[str, str], credentials: tuple[str, str]) -> dict[str, Any] | None:
        """Only for the client's own secret, the code's own address, and once."""
        asked = self.codes.pop(form.get("code", ""), None)
        if asked is None or credentials != (CLIENT_ID, CLIENT_SECRET):
            return None
        if asked["redirect_uri"] != form.get("redirect_uri"):
            return None
        now = int(time.time())
        claims = {**self.people[asked["who"]], "iss": self.issuer, "aud": CLIENT_ID, "iat": now, "exp": now + 600}
        if "nonce" in asked:
            claims["nonce"] = asked["nonce"]
        signed = jwt.encode(_HEADERS, claims, self.key)
        return {"access_token": secrets.token_urlsafe(8), "token_type": "Bearer", "id_token": signed, "expires_in": 600}


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
        provider = self.server.provider
        match parts.path:
            case "/.well-known/openid-configuration":
                self._json(provider.discovery())
            case "/jwks":
                self._json({"keys": [provider.key.as_dict(private=False)]})
            case "/authorize":
                self._send(200, provider.sign_in_page(asked).encode(), "text/html; charset=utf-8")
            case "/grant":
                self._send(302, b"", "text/plain", Location=provider.granted(asked))
            case _:
                self._send(404, b"", "text/plain")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        form = {name: values[0] for name, values in parse_qs(body).items()}
        made = self.server.provider.token(form, self._credentials(form))
        self._json(made or {"error": "invalid_grant"}, 200 if made else 400)

    def _credentials(self, form: dict[str, str]) -> tuple[str, str]:
        kind, _, given = self.headers.get("Authorization", "").partition(" ")
        if kind == "Basic":
            name, _, secret = base64.b64decode(given).decode().partition(":")
            return name, secret
        return form.get("client_id", ""), form.get("client_secret", "")

    def _json(self, body: object, status: int = 200) -> None:
        self._send(status, json.dumps(body).encode(), "application/json")

    def _send(self, status: int, body: bytes, kind: str, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    provider: Provider


@contextmanager
def provider(people: Mapping[str, Mapping[str, Any]]) -> Iterator[Provider]:
    with _Server(("127.0.0.1", 0), _Handler) as server:
        server.provider = Provider(int(server.server_address[1]), people)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.provider
        finally:
            server.shutdown()
            thread.join()
