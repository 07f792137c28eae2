"""A run over real workers and a real broker, both killed in the middle: every cell is in the results exactly once."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import psutil
import pytest

from benchmark.personas import load_personas
from benchmark.runs.desk import RunDesk
from benchmark.runs.figures import CellFigures
from benchmark.runs.spec import parse_spec
from graph.assembly import connected, prepare_database
from instruments.profile import SessionStatus
from settings import Settings
from storage.crypto import load_vault
from storage.database import Database
from storage.embedded import Home, ensure_running, services
from storage.embedded.valkey import Valkey
from tests.gateway import Gateway
from tests.models import CARELESS, GOOD, answering
from tests.support import temporary_home, wait_until
from tests.worker import Worker, worker
from workers.celery_app import celery, configure
from workers.runs import open_desk

PATIENCE = 1800.0
SECONDS = 0.5
"""Between two looks at how far it is."""
ROLES = ["scorer", "diagnostician"]
FEW = ("letters-written", "no-way-out", "old-score", "orders", "steady-nurse", "grey-mornings")
"""Four of them are stopped early, so that many cells are little work."""


@pytest.fixture
def own() -> Iterator[Settings]:
    """Servers that nobody else uses: one of them is about to lose its memory."""
    with temporary_home(made=True) as home:
        yield Settings(_env_file=None, crosscut_home=home, database_url=None, redis_url=None, gateway_api_key="k")


def workers(own: Settings, url: str, gate: Gateway, output: Path, jobs: int) -> AbstractContextManager[Worker]:
    return worker(
        own.crosscut_home, url, output, "batch", "work", "--jobs", str(jobs),
        GATEWAY_BASE_URL=gate.base_url, GATEWAY_API_KEY="k", MODEL_EMBEDDING="rules", MODEL_CALL_SECONDS="300",
        CROSSCUT_LEASE_SECONDS="4",
    )  # fmt: skip


def kill_broker_with_all_its_messages(settings: Settings) -> None:
    server = Valkey(Home.of(settings))
    pid = server.pid()
    assert pid is not None
    psutil.Process(pid).kill()
    wait_until(lambda: server.pid() is None, 60)
    shutil.rmtree(server.data)
    assert ensure_running(settings) == ["Valkey"]


@pytest.mark.timeout(4 * PATIENCE)
@pytest.mark.parametrize(
    ("personas", "repeats", "total"),
    [
        pytest.param(FEW, 2, 24, id="24 cells"),
        pytest.param(tuple(load_personas())[:24], 3, 144, id="144 cells", marks=pytest.mark.long),
    ],
)
def test_a_run_whose_worker_and_broker_are_killed_has_every_cell_exactly_once(
    own: Settings, gate: Gateway, tmp_path: Path, personas: tuple[str, ...], repeats: int, total: int
) -> None:
    gate.default = answering()
    models = [{"model": model, "roles": ROLES} for model in (GOOD, CARELESS)]
    spec = parse_spec({"name": "kills", "personas": personas, "models": models, "repeats": repeats})
    vault = load_vault(own)
    with services(own) as running:
        url = running.database_url
        prepare_database(url, vault)
        configure(own, database_url=url, redis_url=running.redis_url)
        with connected(own, url, vault) as (database, runtime):
            desk = open_desk(own, database, runtime)
            run_id = desk.start(spec)
            assert desk.status(run_id).total == total
            with workers(own, url, gate, tmp_path / "first", jobs=2) as first:
                wait_until(lambda: desk.status(run_id).done >= total // 4, PATIENCE, every=SECONDS)
                first.kill()
            assert desk.status(run_id).running >= 1, "it was killed at work"
            with workers(own, url, gate, tmp_path / "second", jobs=2):
                wait_until(lambda: desk.status(run_id).done >= total // 2, PATIENCE, every=SECONDS)
                kill_broker_with_all_its_messages(own)
                wait_until(lambda: desk.status(run_id).is_over, PATIENCE, every=SECONDS)
            celery.close()
            assert_each_cell_once(desk, run_id, repeats, database)


def assert_each_cell_once(desk: RunDesk, run_id: str, repeats: int, database: Database) -> None:
    total = desk.status(run_id).total
    cells = list(desk.cells(run_id))
    assert desk.status(run_id).done == len(cells) == len({cell.key for cell in cells}) == total
    labels = [entry.label for entry in desk.spec(run_id).models]
    assert Counter(cell.key.model for cell in cells) == dict.fromkeys(labels, total // 2)
    assert set(Counter((cell.key.patient, cell.key.model) for cell in cells).values()) == {repeats}
    made = [CellFigures.model_validate(cell.figures) for cell in cells]
    stops = {name for name, one in load_personas().items() if one.outcome is SessionStatus.TERMINATED}
    assert {one.outcome for cell, one in zip(cells, made, strict=True) if cell.key.patient in stops} == {"stopped"}
    assert all(len(one.items) == 23 for one in made if one.outcome == "completed")
    assert max(cell.tries for cell in cells) >= 2, "what the killed worker held was taken up again"
    found = desk.aggregate(run_id)
    assert [group.outcomes.completed + group.outcomes.stopped for group in found.groups] == [total // 2] * 2
    assert database.one("SELECT aggregate FROM runs WHERE aggregate IS NOT NULL") is not None, "a worker made it"
    good, careless = (group.estimates["item_exact"] for group in found.groups)
    assert good is not None
    assert careless is not None
    assert good.value > careless.value
