"""`crosscut batch` as a user types it: a run from its spec to its files, and one that is taken back and resumed."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from errors import CrosscutError, NotFoundError
from settings import Settings
from storage.embedded import services
from tests.command import crosscut_command
from tests.support import temporary_home

STOPPED_EARLY = ("no-way-out", "old-score")
SPEC = f"name: two stops\npersonas: [{', '.join(STOPPED_EARLY)}]\npatient: rules\n"


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    """With servers that stay up between the commands."""
    with temporary_home(made=True) as made:
        settings = Settings(_env_file=None, crosscut_home=made, database_url=None, redis_url=None)
        with services(settings):
            yield made


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    file = tmp_path / "spec.yaml"
    file.write_text(SPEC)
    return file


@pytest.fixture
def batch(home: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """The commands run here; the workers that `run` and `resume` start are processes of their own."""
    for name in ("DATABASE_URL", "REDIS_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CROSSCUT_HOME", str(home))

    return partial(crosscut_command, "batch")


def listed(batch: Callable[..., Result]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(batch("list", "--json").stdout)
    return found


def rows(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as opened:
        return list(csv.DictReader(opened))


def test_a_run_from_its_spec_to_its_files_and_away(batch: Callable[..., Result], spec: Path, tmp_path: Path) -> None:
    assert "There are no runs yet" in batch("list").stdout
    ran = batch("run", spec, "--jobs", 1)
    (run,) = listed(batch)
    assert f"Run {run['run_id']}: 2 cells." in ran.stderr
    assert "0 / 2 / 0" in ran.stdout, "completed, stopped and failed, in the table at the end"
    status = json.loads(batch("status", run["run_id"], "--json").stdout)
    assert {name: status[name] for name in ("name", "status", "total", "done", "failed", "queued")} == {
        "name": "two stops", "status": "done", "total": 2, "done": 2, "failed": 0, "queued": 0,
    }  # fmt: skip
    assert status["finished_at"]
    for words in (("list",), ("status", run["run_id"])):
        assert "two stops" in batch(*words).stdout

    folder = tmp_path / "report"
    told = batch("report", run["run_id"], "--out", folder).stdout
    written = {file.name for file in folder.iterdir()}
    assert all(name in told for name in written)
    texts = {"report.md", "report.json", "summary.csv", "outcomes.csv", "differences.csv", "classes.csv"}
    assert texts | {"reliability.csv", "cells.csv", "accuracy.svg", "accuracy.png"} <= written
    assert [(row["patient"], row["outcome"], row["stop_right"]) for row in rows(folder / "cells.csv")] == [
        (patient, "stopped", "1.0") for patient in STOPPED_EARLY
    ]
    assert [row["stops_right"] for row in rows(folder / "outcomes.csv")] == ["2"]
    assert json.loads((folder / "report.json").read_text())["ended"] == 2
    printed = batch("report", run["run_id"]).stdout
    assert printed.startswith("# two stops\n")
    assert printed.split("\n---\n")[0].strip() in (folder / "report.md").read_text(), "the same, but for the charts"

    assert f"Run {run['run_id']} is deleted." in batch("delete", run["run_id"]).stderr
    assert listed(batch) == []
    assert "there is no run" in str(batch("status", run["run_id"], fails=NotFoundError).exception)


def test_a_run_that_is_left_to_others_can_be_taken_back_and_resumed(batch: Callable[..., Result], spec: Path) -> None:
    assert "shows how far it is" in batch("run", spec, "--detach").stderr
    (run,) = listed(batch)
    assert (run["status"], run["queued"]) == ("running", 2)
    assert "2 cells were taken back." in batch("cancel", run["run_id"]).stderr
    assert json.loads(batch("status", run["run_id"], "--json").stdout)["cancelled"] == 2
    assert "2 cells are queued again." in batch("resume", run["run_id"], "--jobs", 1).stderr
    watched = batch("status", run["run_id"], "--watch", "--json").stdout
    assert (json.loads(watched)["status"], json.loads(watched)["done"]) == ("done", 2)
    batch("delete", run["run_id"])


def test_a_spec_with_a_slip_is_one_clear_message(batch: Callable[..., Result], spec: Path) -> None:
    spec.write_text(SPEC + "repeat: 3\n")
    assert "repeat" in str(batch("run", spec, fails=CrosscutError).exception)
    assert listed(batch) == []
