"""One completed interview for the tests of the benchmark: held once a module, copied for each test that changes it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import psycopg

from benchmark.personas import persona
from benchmark.replies import simulated
from benchmark.simulator import SimulatedPatient
from benchmark.snapshot import Snapshot, SnapshotDesk
from graph.assembly import build_runtime
from graph.conversation import converse
from graph.runtime import InterviewRuntime
from instruments.disorders import disorders
from instruments.profile import SessionStatus
from instruments.tools import Passages, RetrieveDsmPassages
from settings import Settings
from storage.crypto import Vault
from storage.database import Database
from storage.embedded import Services
from tests.screenings import passage

PERSONA = "grey-mornings"
CRITERION = "A. Low mood on most days, told in the words of this shelf."
MDD = disorders().disorder("Major Depressive Disorder")


@dataclass(frozen=True)
class Held:
    """A database with one completed session of a persona and the first revision of its report."""

    url: str
    session: str


class Shelf:
    """A library with one passage."""

    def retrieve_dsm_passages(self, call: RetrieveDsmPassages) -> Passages:
        return Passages(passages=(passage(f"{MDD.category} > {MDD.name} > Diagnostic Criteria", CRITERION),))


def hold(url: str, settings: Settings, vault: Vault) -> Held:
    with Database(url, vault) as database, shelved(settings, database) as runtime:
        begun = runtime.start(persona=PERSONA, seed=1)
        view = converse(runtime, begun, simulated(SimulatedPatient(persona(PERSONA), 1)))
        assert view.profile.session_status is SessionStatus.COMPLETED
        runtime.reports.newest(view.session_id)
    return Held(url, view.session_id)


def frozen(held: Held, settings: Settings, vault: Vault) -> Snapshot:
    with Database(held.url, vault) as database, shelved(settings, database) as runtime:
        desk = SnapshotDesk(database, runtime)
        return desk.get(desk.freeze(held.session))


@contextmanager
def copied(held: Held, servers: Services, vault: Vault) -> Iterator[Database]:
    source, copy = held.url.rsplit("/", 1)[1].split("?")[0], f"test_{uuid.uuid4().hex}"
    _execute(servers.database_url, f"CREATE DATABASE {copy} TEMPLATE {source}")
    try:
        with Database(held.url.replace(source, copy), vault) as opened:
            yield opened
    finally:
        _execute(servers.database_url, f"DROP DATABASE {copy} WITH (FORCE)")


@contextmanager
def shelved(settings: Settings, database: Database, **changes: Any) -> Iterator[InterviewRuntime]:
    """The real runtime over a library with one passage, with other agents where they are given."""
    built = build_runtime(settings, database)
    built.close()
    agents = replace(built._agents, **{"retriever": Shelf(), **changes})
    made = InterviewRuntime(database, agents, built._threads.versions, built._desk)
    try:
        yield made
    finally:
        made.close()


def _execute(url: str, statement: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement.encode())
