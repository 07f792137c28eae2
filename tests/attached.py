"""A second process's hold on the product that runs: its database, a runtime, and links for patients."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

import psycopg
from psycopg.conninfo import conninfo_to_dict

from graph.assembly import build_runtime
from graph.runtime import InterviewRuntime
from storage.clients import ClientLabels
from storage.crypto import load_vault
from storage.database import Database
from storage.embedded import services
from storage.links import PatientLinks
from tests.product import Product


@dataclass(frozen=True)
class Attached:
    product: Product
    database: Database
    runtime: InterviewRuntime

    def link(self, session_id: str) -> str:
        return f"{self.product.address}/?patient={PatientLinks(self.database).token(session_id)}"

    def label(self, session_id: str, label: str) -> None:
        ClientLabels(self.database).put(session_id, self.runtime.sessions.get(session_id).owner or "local", label)

    def gone(self) -> AbstractContextManager[None]:
        return gone(self.database.url)


@contextmanager
def gone(url: str) -> Iterator[None]:
    """Nobody gets into the database, as if it were away."""
    name = conninfo_to_dict(url)["dbname"]
    with psycopg.connect(url, dbname="template1", autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false".encode())
        try:
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))
            yield
        finally:
            connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true".encode())


@contextmanager
def attached_to(product: Product) -> Iterator[Attached]:
    with services(product.settings) as found, Database(found.database_url, load_vault(product.settings)) as database:
        runtime = build_runtime(product.settings, database)
        yield Attached(product, database, runtime)
        runtime.close()
