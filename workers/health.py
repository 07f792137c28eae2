"""What `crosscut doctor` and the health page tell: what is found, what runs, and what to do about each problem."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from agents.escalation import escalation, verification_problem
from agents.language.encoder import Encoder
from agents.language.sentences import SentenceEncoder
from benchmark.judge import JUDGE_MODEL
from errors import CrosscutError
from settings import RULES, Settings
from storage import migrate
from storage.crypto import key_path, load_vault
from storage.embedded import server_status, services
from workers.celery_app import celery, configure
from workers.notify import channels_of, notice_settings
from workers.runs import other_workers

State = Literal["ok", "off", "broken"]

_PACKAGES = ("langgraph", "langgraph-checkpoint-postgres", "langchain-openai", "psycopg", "celery", "streamlit")
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


_PLAYS = {"patient": "patient of personas"}
_READERS = {
    "risk": "the risk rules check alone",
    "scoring": "the rules score alone",
    "replies": "cues alone tell what a reply is",
    "impressions": "no report can be written by the rules",
}
"""And what is so while one of them does not answer."""
_QUICK = frozenset({"risk"})
"""Those with a quick reader that reads first."""
_NO_CHANNEL = "set CROSSCUT_WEBHOOK_URL or CROSSCUT_SMTP_URL to be told when you are away"


@dataclass(frozen=True)
class Check:
    """`off` is not running or not configured, and need not be; `broken` must be mended."""

    name: str
    state: State
    detail: str
    fix: str = ""


def all_checks(settings: Settings) -> list[Check]:
    groups: list[Callable[[Settings], Iterator[Check]]] = [
        _python,
        _home,
        _key,
        _servers,
        _schema,
        _worker,
        _app,
        _gateway,
        _readers,
        _safety,
        _browser,
    ]
    return [check for group in groups for check in _guarded(group, settings)]


def _guarded(group: Callable[[Settings], Iterator[Check]], settings: Settings) -> Iterator[Check]:
    """A check that fails is a finding; it must not hide the checks after it."""
    try:
        yield from group(settings)
    except CrosscutError as error:
        yield Check(group.__name__.strip("_"), "broken", str(error))


def _python(_: Settings) -> Iterator[Check]:
    good = sys.version_info >= (3, 11)
    yield Check("python", "ok" if good else "broken", platform.python_version(), "" if good else "install Python 3.11+")
    for name in _PACKAGES:
        try:
            yield Check(name, "ok", version(name))
        except PackageNotFoundError:
            yield Check(name, "broken", "not installed", "make run (or make test) installs it")


def _home(settings: Settings) -> Iterator[Check]:
    home = settings.crosscut_home
    place = next(p for p in (home, *home.parents) if p.exists())
    if os.access(place, os.W_OK | os.X_OK) and place.is_dir():
        yield Check("home", "ok", str(home) if home.exists() else f"{home} (made at first start)")
    else:
        yield Check("home", "broken", f"{place} is not a folder you may write to", "set CROSSCUT_HOME to one that is")


def _key(settings: Settings) -> Iterator[Check]:
    if settings.crosscut_key is None and not key_path(settings).exists():
        yield Check("encryption key", "off", "none yet", "made at first start; back it up afterwards")
        return
    origin = "CROSSCUT_KEY" if settings.crosscut_key else str(key_path(settings))
    yield Check("encryption key", "ok", f"{origin}, fingerprint {load_vault(settings).fingerprint()}")


def _servers(settings: Settings) -> Iterator[Check]:
    for row in server_status(settings):
        kind = "embedded" if row.embedded else "external"
        process = f"process {row.pid}" if row.pid else ""
        detail = ", ".join(filter(None, [f"{kind} {row.version}".strip(), process, row.detail]))
        stopped = row.embedded and row.pid is None and row.version != ""
        state: State = "ok" if row.running else ("off" if stopped else "broken")
        yield Check(row.name, state, detail, row.fix)


def _schema(settings: Settings) -> Iterator[Check]:
    """Only where Postgres runs already: looking must not start anything."""
    if not server_status(settings)[0].running:
        return
    with services(settings, redis=False) as found:
        current = migrate.current(found.database_url)
    if current == migrate.head():
        yield Check("database schema", "ok", f"{current}, the newest")
    else:
        yield Check(
            "database schema", "off", f"{current or 'empty'}, newest is {migrate.head()}", "make run upgrades it"
        )


def _worker(settings: Settings) -> Iterator[Check]:
    if not server_status(settings)[1].running:
        yield Check("worker", "off", "no broker runs, hence no worker", "make run starts both")
        return
    with services(settings) as found:
        configure(settings, database_url=found.database_url, redis_url=found.redis_url)
        names = other_workers()
        celery.close()
    if names:
        yield Check("worker", "ok", ", ".join(names))
    else:
        yield Check("worker", "off", "none answers", "make run starts one; so does crosscut worker")


def _app(settings: Settings) -> Iterator[Check]:
    address = f"http://{settings.crosscut_host}:{settings.crosscut_port}"
    if _answers(f"{address}/_stcore/health"):
        yield Check("app", "ok", address)
    else:
        yield Check("app", "off", f"nothing answers at {address}", "make run starts it")


def _gateway(settings: Settings) -> Iterator[Check]:
    roles = {role: model for role, model in settings.models.items() if model != RULES}
    if not roles and settings.gateway_api_key is None:
        yield Check("models", "ok", "embedded rules for every role; nothing leaves this machine")
        return
    url = str(settings.gateway_base_url).rstrip("/")
    playing = [(_PLAYS.get(role, role), model) for role, model in roles.items()]
    named = ", ".join(f"{role}: {model}" for role, model in [*playing, ("judge of report cards", JUDGE_MODEL)])
    if _answers(f"{url}/models", settings):
        yield Check("models", "ok", f"{named} at {url}")
    else:
        yield Check("models", "broken", f"{url} does not answer", "check GATEWAY_BASE_URL and GATEWAY_API_KEY")


def _readers(_: Settings) -> Iterator[Check]:
    """Each is loaded anew from its file: one that a running process has in memory says nothing of the next start."""
    faults = {name: fault for name in _READERS if (fault := _reader_fault(name))}
    sound = [name for name in _READERS if name not in faults]
    if sound:
        yield Check("embedded readers", "ok", ", ".join(sound))
    for name, fault in faults.items():
        until_then = f"install Crosscut anew; until then {_READERS[name]}"
        yield Check(f"{name} reader", "broken", f"it does not answer ({fault})", until_then)


def _reader_fault(name: str) -> str:
    """The kind of what went wrong, or nothing."""
    package = f"agents.{name}"
    try:
        Encoder(package).read("sleep", "it answers")
        if name in _QUICK:
            SentenceEncoder(package).read(["it answers"], 1)
    except Exception as error:
        return type(error).__name__
    return ""


def _safety(settings: Settings) -> Iterator[Check]:
    words = escalation(settings.crosscut_locale)
    numbers = ", ".join(filter(None, [words.crisis_line, words.emergency])) or "no numbers"
    problem = verification_problem(settings.crosscut_locale, date.today())
    yield Check("safety script", "off" if problem else "ok", f"{words.locale}: {numbers}", problem or "")
    channels = ", ".join(channels_of(notice_settings(settings)))
    yield Check("notices", "ok" if channels else "off", channels or "only on the page", "" if channels else _NO_CHANNEL)
    folder = settings.crosscut_home / "spool" / "damaged"
    damaged = len(list(folder.iterdir())) if folder.is_dir() else 0
    if damaged:
        found = f"{damaged} in {folder} do not open"
        yield Check("spooled stops", "broken", found, "restore the key they were sealed with")


def _browser(_: Settings) -> Iterator[Check]:
    found = find_browser()
    if found:
        yield Check("browser for tests", "ok", str(found))
    else:
        yield Check("browser for tests", "off", "none found", "Debian: apt-get install chromium")


def find_browser() -> Path | None:
    for name in _BROWSERS:
        if path := shutil.which(name):
            return Path(path)
    return None


def _answers(url: str, settings: Settings | None = None) -> bool:
    request = urllib.request.Request(url)  # noqa: S310  # our own settings name it
    if settings and settings.gateway_api_key:
        request.add_header("Authorization", f"Bearer {settings.gateway_api_key.get_secret_value()}")
    try:
        with urllib.request.urlopen(request, timeout=3) as response:  # noqa: S310
            return bool(response.status == 200)
    except (urllib.error.URLError, OSError, ValueError):
        return False
