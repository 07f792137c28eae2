"""Real servers for the tests: one embedded Postgres and Valkey for the run, one database a test."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import psycopg
import pytest
from playwright.sync_api import Browser, Page

from graph.assembly import build_runtime, prepare_database
from graph.runtime import InterviewRuntime
from settings import Settings
from storage.crypto import Vault, load_vault
from storage.database import Database
from storage.embedded import Services, services
from tests.attached import Attached, attached_to
from tests.browser import chromium
from tests.gateway import Gateway, gateway
from tests.product import Product, started
from tests.support import processes_below, temporary_home
from tests.workspace import therapist

TEMPLATE = "crosscut_template"

# The same examples in every run, so that a change is judged by what it changes; `pytest --hypothesis-profile search`
# looks for new ones.
hypothesis.settings.register_profile("steady", derandomize=True, deadline=None)
hypothesis.settings.register_profile("search", deadline=None, print_blob=True)
hypothesis.settings.load_profile("steady")


@pytest.fixture(scope="session")
def home() -> Iterator[Path]:
    with temporary_home() as path:
        yield path


@pytest.fixture(scope="session")
def settings(home: Path) -> Settings:
    return Settings(_env_file=None, crosscut_home=home)


@pytest.fixture(scope="session")
def servers(settings: Settings) -> Iterator[Services]:
    with services(settings) as running:
        yield running


@pytest.fixture(scope="session")
def vault(settings: Settings, servers: Services) -> Vault:
    return load_vault(settings)


@pytest.fixture(scope="session")
def template(servers: Services, vault: Vault) -> Callable[[], str]:
    """Makes a fresh migrated database and gives its address."""
    _execute(servers.database_url, f"CREATE DATABASE {TEMPLATE}")
    prepare_database(_named(servers.database_url, TEMPLATE), vault)

    def create() -> str:
        name = f"test_{uuid.uuid4().hex}"
        _execute(servers.database_url, f"CREATE DATABASE {name} TEMPLATE {TEMPLATE}")
        return _named(servers.database_url, name)

    return create


@pytest.fixture
def database_url(template: Callable[[], str], servers: Services) -> Iterator[str]:
    url = template()
    yield url
    _execute(servers.database_url, f"DROP DATABASE {url.rsplit('/', 1)[1].split('?')[0]} WITH (FORCE)")


@pytest.fixture
def database(database_url: str, vault: Vault) -> Iterator[Database]:
    with Database(database_url, vault) as opened:
        yield opened


@pytest.fixture
def runtime(settings: Settings, database: Database) -> Iterator[InterviewRuntime]:
    made = build_runtime(settings, database)
    yield made
    made.close()


@pytest.fixture(scope="session")
def product() -> Iterator[Product]:
    """The whole product, started once; when it has been stopped, nothing of it runs any more."""
    with temporary_home("a home") as home:
        with started(home) as running:
            yield running
        assert running.process.returncode == 0, running.said()
        assert processes_below(home) == []


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def attached(product: Product) -> Iterator[Attached]:
    """A runtime beside the page's own, as the patient's browser would have: on the same database."""
    with attached_to(product) as found:
        yield found


@pytest.fixture
def page(browser: Browser, product: Product) -> Iterator[Page]:
    """A therapist's page."""
    with therapist(browser, product) as opened:
        yield opened


@pytest.fixture
def gate() -> Iterator[Gateway]:
    with gateway() as running:
        yield running


def _named(url: str, name: str) -> str:
    return url.replace("/postgres?", f"/{name}?")


def _execute(url: str, statement: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement.encode())
