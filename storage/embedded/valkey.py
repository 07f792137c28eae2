"""The embedded Valkey: Celery's broker on a unix socket, with an append-only file that outlives a crash."""

from __future__ import annotations

import signal
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import psutil
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from storage.embedded.binaries import VALKEY, bundled_binary, reachable_binary, version_of
from storage.embedded.launcher import Server, command_of, names_folder

CELERY_SCHEME = "redis+socket"


class Valkey(Server):
    name = "valkey"
    title = "Valkey"
    stop_signal = signal.SIGTERM

    @property
    def url(self) -> str:
        return f"{CELERY_SCHEME}://{quote(str(self.socket))}"

    @property
    def socket(self) -> Path:
        return self.home.sockets / "valkey.sock"

    def version(self) -> str:
        return version_of(bundled_binary(VALKEY))

    def ready(self) -> bool:
        return answers(self.url, seconds=3)

    def pid(self) -> int | None:
        """Found by its command line: a pid file would be missing when its launcher was killed at the wrong moment."""
        for pid in psutil.pids():
            if names_folder(command_of(pid, VALKEY), "--dir", self.data):
                return int(pid)
        return None

    def prepare(self) -> list[str]:
        with self.home.writing():
            self.home.make_private(self.data)
        program = reachable_binary(self.home, VALKEY)
        options = {
            "port": "0",
            "unixsocket": str(self.socket),
            "unixsocketperm": "700",
            "dir": str(self.data),
            "appendonly": "yes",
            "appendfsync": "everysec",
            "save": "",
            "logfile": "",  # standard output, which goes to our log
            "daemonize": "no",
            "set-proc-title": "no",  # keeps the command line, by which `pid` knows it
        }
        return [str(program), *(x for k, v in options.items() for x in (f"--{k}", v))]


def answers(url: str, seconds: float) -> bool:
    try:
        ping(url, seconds)
    except (RedisError, OSError):
        return False
    return True


def ping(url: str, seconds: float) -> str:
    """Ask once, without redis-py's own retries; the server's version."""
    client = Redis.from_url(
        redis_client_url(url),
        socket_connect_timeout=seconds,
        socket_timeout=seconds,
        retry=Retry(NoBackoff(), 0),
    )
    try:
        client.ping()
        info = client.info("server")
    finally:
        client.close()
    return str(info.get("valkey_version") or info.get("redis_version"))


def redis_client_url(url: str) -> str:
    """Celery's `redis+socket://` form as the `unix://` form of redis-py; other forms as they are."""
    return _translate(url, CELERY_SCHEME, "unix", {"virtual_host": "db"})


def celery_url(url: str) -> str:
    """The `unix://` form of redis-py as Celery's `redis+socket://` form; other forms as they are."""
    return _translate(url, "unix", CELERY_SCHEME, {"db": "virtual_host"})


def _translate(url: str, source: str, target: str, names: dict[str, str]) -> str:
    parts = urlsplit(url)
    if parts.scheme != source:
        return url
    query = urlencode([(names.get(key, key), value) for key, value in parse_qsl(parts.query)])
    return f"{target}://{parts.netloc}{parts.path}{'?' if query else ''}{query}"
