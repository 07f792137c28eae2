"""Servers of the user's own: asked once whether they answer, and never named together with a password."""

from __future__ import annotations

from urllib.parse import urlsplit

import psycopg
from psycopg.conninfo import conninfo_to_dict
from redis.exceptions import RedisError

from errors import ServiceError
from storage.embedded.valkey import ping

PROBE_SECONDS = 5


def probe_postgres(url: str) -> str:
    """The server's version; a ServiceError when it cannot be reached."""
    where = postgres_place(url)
    try:
        with psycopg.connect(url, connect_timeout=PROBE_SECONDS) as connection:
            version = connection.info.server_version
    except psycopg.Error as error:
        raise ServiceError(
            f"Postgres {where} cannot be used: {_last_line(error, _password(url))}. "
            "Check DATABASE_URL and that server, or unset DATABASE_URL to use the embedded one."
        ) from None
    return f"{version // 10000}.{version % 10000}"


def probe_redis(url: str) -> str:
    """The server's version; a ServiceError when it cannot be reached."""
    where = redis_place(url)
    try:
        return ping(url, PROBE_SECONDS)
    except (RedisError, OSError, ValueError) as error:
        raise ServiceError(
            f"Redis {where} cannot be used: {_last_line(error, urlsplit(url).password)}. "
            "Check REDIS_URL and that server, or unset REDIS_URL to use the embedded one."
        ) from None


def postgres_place(url: str) -> str:
    try:
        parts = conninfo_to_dict(url)
    except psycopg.ProgrammingError:  # its text may quote the password
        raise ServiceError("DATABASE_URL is malformed: it takes postgresql://user:password@host:port/name.") from None
    host, port = parts.get("host") or "localhost", parts.get("port") or 5432
    return f"at {host}:{port}, database {parts.get('dbname') or parts.get('user') or 'postgres'!r},"


def redis_place(url: str) -> str:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or 6379
    except ValueError:
        raise ServiceError("REDIS_URL is malformed: it takes redis://:password@host:port/0.") from None
    if parts.scheme in ("redis", "rediss"):
        return f"at {host or 'localhost'}:{port}, database {parts.path.strip('/') or '0'!r},"
    return f"at the socket {parts.path!r}"


def _password(url: str) -> str | None:
    found = conninfo_to_dict(url).get("password")
    return str(found) if found else None


def _last_line(error: Exception, password: str | None) -> str:
    lines = str(error).strip().splitlines()
    line = lines[-1].strip().rstrip(".?") if lines else type(error).__name__
    return line.replace(password, "…") if password else line
