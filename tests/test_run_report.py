"""A run's tables and charts, from cells that are made up: what is counted, what is not, and that it stays the same."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path
from typing import Any

import pytest

from benchmark.metrics.accuracy import NOTHING
from benchmark.runs.aggregate import Aggregate, Group, aggregated
from benchmark.runs.spec import parse_spec
from benchmark.runs.tables import markdown
from benchmark.runs.writing import write_report
from storage.runs import Cell, CellKey

MDD, GAD = "Major Depressive Disorder", "Generalized Anxiety Disorder"
PATIENTS = {"grey-mornings": (MDD,), "what-if": (GAD,), "steady-nurse": ()}
EVERYBODY = [*PATIENTS, "letters-written"]
SPEC = parse_spec(
    {
        "name": "rules | against _one_",
        "personas": [*PATIENTS, "letters-written"],
        "models": ["rules", "a/b"],
        "repeats": 2,
    }
)


def completed(
    scores: list[int], gold: list[int], names: list[str], gold_names: tuple[str, ...], **more: Any
) -> dict[str, Any]:
    items = [
        {"item": n, "score": score, "gold": truth, "ambiguity": 2, "confidence": 0.9 if score == truth else 0.6}
        for n, (score, truth) in enumerate(zip(scores, gold, strict=True), start=1)
    ]
    return {
        "outcome": "completed",
        "stop_right": True,
        "items": items,
        "impressions": [{"name": name, "confidence": 0.8} for name in names],
        "gold_names": gold_names,
        "metrics": {"protocol.coverage": 1.0, "protocol.double_questions": 1, "protocol.oversteps": 0,
                    "conversation.fkg": 5.0, "explainability.real_citations": None},
        "spent": {"seconds": 2.0, "calls": 10, "prompt_tokens": 900, "completion_tokens": 100, "cost_usd": 0.01},
        **more,
    }  # fmt: skip


STOPPED = {"outcome": "stopped", "stop_right": True, "spent": {"seconds": 1.0}}
GOLD = [0, 1, 2, 3, 4]


def cell(number: int, key: CellKey, figures: dict[str, Any] | None, error: str | None = None) -> Cell:
    return Cell(number, "run", key, "done" if figures else "failed", 1, None, figures, error)


def made_cells() -> list[Cell]:
    """The rules are right; the model scores two of five items too high, calls all depressed, and fails one cell."""
    cells: list[Cell] = []
    for key in SPEC.cells(EVERYBODY):
        gold = PATIENTS.get(key.patient)
        if gold is None:
            figures: dict[str, Any] | None = STOPPED
        elif key.model == "rules":
            figures = completed(GOLD, GOLD, list(gold), gold)
        else:
            roles = {"scorer": {"asked": 5, "by_rules": 1, "failures": {"gateway": 3}}}
            figures = completed([1, 2, 2, 3, 4], GOLD, [MDD, *gold], gold, roles=roles)
        failed = key == CellKey("what-if", "a/b", "diagnostic", 2)
        error = "the model gave nothing usable as scorer (gateway)" if failed else None
        cells.append(cell(len(cells), key, None if failed else figures, error))
    return cells


@pytest.fixture(scope="module")
def made() -> Aggregate:
    return aggregated(SPEC, made_cells())


@pytest.fixture(scope="module")
def folder(made: Aggregate, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everything that is written of the run."""
    path = tmp_path_factory.mktemp("report")
    write_report(made, made_cells(), path)
    return path


def group(made: Aggregate, model: str) -> Group:
    return next(group for group in made.groups if group.model == model)


def value(found: Group, name: str) -> float:
    estimate = found.estimates[name]
    assert estimate is not None, name
    return estimate.value


def test_figures_are_of_the_interviews_that_were_completed(made: Aggregate) -> None:
    rules, model = group(made, "rules"), group(made, "a/b")
    assert (rules.outcomes.completed, rules.outcomes.stopped, rules.outcomes.failed) == (6, 2, 0)
    assert (model.outcomes.completed, model.outcomes.stopped, model.outcomes.failed) == (5, 2, 1)
    assert (value(rules, "item_exact"), value(rules, "kappa"), value(rules, "macro_f1")) == (1.0, 1.0, 1.0)
    assert value(model, "item_exact") == 0.6
    assert value(model, "item_mae") == 0.4
    assert value(model, "violations") == 1.0
    assert value(model, "by_rules") == 0.2
    assert value(model, "brier_items") == pytest.approx((3 * 0.1**2 + 2 * 0.6**2) / 5, abs=1e-6)
    assert (value(model, "top1"), value(model, "top3")) == (0.4, 0.6)
    assert value(model, "stop_right") == 1.0
    estimate = model.estimates["item_exact"]
    assert estimate is not None
    assert (estimate.cells, estimate.patients) == (5, 3)
    assert made.is_whole


def test_what_failed_is_shown_and_is_not_to_the_models_credit(made: Aggregate) -> None:
    model = group(made, "a/b")
    assert model.failures == {"the model gave nothing usable as scorer (gateway)": 1}
    (role,) = model.roles
    assert (role.role, role.asked, role.by_rules, role.failures) == ("scorer", 25, 5, {"gateway": 15})


def test_classes_are_counted_by_the_first_name(made: Aggregate) -> None:
    rows = {row.name: row for row in group(made, "a/b").classes}
    assert {name: (row.gold, row.given, row.hits) for name, row in rows.items()} == {
        MDD: (2, 5, 2),
        GAD: (1, 0, 0),
        NOTHING: (2, 0, 0),
    }
    f1 = rows[MDD].f1
    assert f1 is not None
    assert f1.value == pytest.approx(4 / 7, abs=1e-6)
    assert value(group(made, "a/b"), "macro_f1") == pytest.approx(4 / 7 / 3, abs=1e-6)


def test_models_are_compared_on_the_patients_that_both_had(made: Aggregate) -> None:
    (pair,) = [pair for pair in made.pairs if pair.metric == "item_exact"]
    assert (pair.first, pair.second, pair.difference.patients) == ("rules", "a/b", 3)
    assert (pair.difference.value, pair.difference.higher, pair.difference.p) == (0.4, 3, 0.25)


def test_a_stop_that_was_missed_and_one_that_was_wrong_are_told_apart() -> None:
    cells = [
        cell(1, CellKey("letters-written", "rules", "diagnostic", 1), completed(GOLD, GOLD, [], (), stop_right=False)),
        cell(2, CellKey("letters-written", "rules", "diagnostic", 2), STOPPED),
        cell(3, CellKey("what-if", "rules", "diagnostic", 1), {**STOPPED, "stop_right": False}),
    ]
    found = group(aggregated(SPEC, cells), "rules").outcomes
    assert (found.stops_expected, found.stops_right, found.stops_missed, found.stops_wrong) == (2, 1, 1, 1)


def test_a_verdict_that_could_not_be_used_is_counted_and_is_no_zero() -> None:
    judged = [{"scores": {"flow": 4}}, {"scores": None}, {"scores": {"flow": 2}}]
    keys = [CellKey(patient, "rules", "diagnostic", 1) for patient in PATIENTS]
    cells = [
        cell(n, key, completed(GOLD, GOLD, [], (), judge=verdict))
        for n, (key, verdict) in enumerate(zip(keys, judged, strict=True))
    ]
    found = group(aggregated(SPEC, cells), "rules")
    assert found.judge["flow"] is not None
    assert (found.judge["flow"].value, found.judge["flow"].cells, found.outcomes.unscored) == (3.0, 2, 1)


def test_a_run_that_goes_on_says_so() -> None:
    cells = made_cells()
    waiting = Cell(99, "run", CellKey("what-if", "rules", "diagnostic", 3), "queued", 0, None, None, None)
    found = aggregated(SPEC, [*cells, waiting])
    assert not found.is_whole
    assert "Not finished: 16 of 17 cells have ended." in markdown(found)


def test_the_same_cells_give_the_same_bytes_in_whatever_order_they_come(folder: Path, tmp_path: Path) -> None:
    shuffled = made_cells()
    random.Random(1).shuffle(shuffled)
    again = Aggregate.model_validate(json.loads(aggregated(SPEC, shuffled).model_dump_json()))
    write_report(again, made_cells(), tmp_path)
    one, two = ({f.name: f.read_bytes() for f in path.iterdir()} for path in (folder, tmp_path))
    assert one.keys() == two.keys()
    assert [name for name in one if one[name] != two[name]] == []
    assert {"accuracy.svg", "accuracy.png", "differences.svg", "classes.svg", "reliability.svg"} <= set(one)
    assert one["accuracy.png"].startswith(b"\x89PNG")
    assert b"share of items" in one["accuracy.svg"], "axes name their unit"


def test_files_hold_every_cell_once_and_every_figure(folder: Path) -> None:
    with (folder / "cells.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    keys = [(row["patient"], row["model"], row["mode"], row["repeat"]) for row in rows]
    assert len(keys) == len(set(keys)) == 16
    with (folder / "summary.csv").open(newline="") as file:
        figures = {(row["model"], row["figure"]): row for row in csv.DictReader(file)}
    exact = figures["a/b", "item_exact"]
    assert (float(exact["value"]), exact["unit"], exact["cells"]) == (0.6, "share of items", "5")
    assert float(figures["a/b", "conversation.fkg"]["value"]) == 5.0
    text = (folder / "report.md").read_text()
    assert text.startswith("# rules \\| against \\_one\\_\n")
    assert "| failed: the model gave nothing usable as scorer (gateway) | 1 |" in text
    assert json.loads((folder / "report.json").read_text())["groups"][0]["model"] == "rules"
