"""A run's tables and charts, from cells that are made up: what is counted, what is not, and that it stays the same."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from benchmark.judge import CRITERIA
from benchmark.metrics.accuracy import NOTHING
from benchmark.runs.aggregate import Aggregate, Group, aggregated
from benchmark.runs.charts import charts_of
from benchmark.runs.spec import parse_spec
from benchmark.runs.statistics import Interval
from benchmark.runs.tables import markdown
from benchmark.runs.writing import texts, write_report
from storage.database import Database
from storage.runs import Cell, CellKey, Runs

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


MADE_BY = {
    "code": "0.1.0",
    "source": "abc",
    "metrics": "3",
    "benchmark": "0ddba11",
    "library": "no book in the library",
    "embedding": "rules",
    "prompts": "scorer@2+d94f",
    "judge": "openai/gpt-4.1@1+beef",
}
STOPPED = {"outcome": "stopped", "stop_right": True, "spent": {"seconds": 1.0}}
FAILED = {
    "outcome": "failed",
    "spent": {"seconds": 1.0, "calls": 7, "prompt_tokens": 1000, "completion_tokens": 100, "cost_usd": 0.015},
}
GOLD = [0, 1, 2, 3, 4]


def cell(number: int, key: CellKey, figures: dict[str, Any], error: str | None = None) -> Cell:
    return Cell(number, "run", key, "failed" if error else "done", 1, None, figures, error)


def made_cells() -> list[Cell]:
    """The rules are right; the model scores two of five items too high, calls all depressed, and fails one cell."""
    cells: list[Cell] = []
    for key in SPEC.cells(EVERYBODY):
        gold = PATIENTS.get(key.patient)
        if gold is None:
            figures: dict[str, Any] = STOPPED
        elif key.model == "rules":
            figures = completed(GOLD, GOLD, list(gold), gold)
        else:
            roles = {"scorer": {"asked": 5, "by_rules": 1, "failures": {"gateway": 3}}}
            figures = completed([1, 2, 2, 3, 4], GOLD, [MDD, *gold], gold, roles=roles)
        failed = key == CellKey("what-if", "a/b", "diagnostic", 2)
        error = "the model gave nothing usable as scorer (gateway)" if failed else None
        cells.append(cell(len(cells), key, FAILED if failed else figures, error))
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
    asked = {"seconds": 1.0, "cost_usd": 0.25}
    judged = [{"scores": {"flow": 4}}, {"scores": None, "spent": asked}, {"scores": {"flow": 2}}, {}]
    keys = [CellKey(patient, "rules", "diagnostic", 1) for patient in EVERYBODY]
    cells = [
        cell(n, key, completed(GOLD, GOLD, [], (), judge=verdict))
        for n, (key, verdict) in enumerate(zip(keys, judged, strict=True))
    ]
    made = aggregated(SPEC, cells)
    found = group(made, "rules")
    assert found.judge["flow"] is not None
    assert (found.judge["flow"].value, found.judge["flow"].cells) == (3.0, 2)
    assert (found.outcomes.unscored, found.outcomes.not_judged) == (1, 1), "who was not asked gave no bad verdict"
    assert "| Judge: unscored (interviews of completed) | 1 | 4 |" in markdown(made)
    assert "| Judge: not run (interviews of completed) | 1 | 4 |" in markdown(made)


def test_tokens_that_nobody_counted_are_unknown_and_no_zero() -> None:
    spent = {"seconds": 1.0, "calls": 2, "prompt_tokens": None, "completion_tokens": 9, "cost_usd": 0.5}
    known, unknown, failed = (CellKey(patient, "a/b", "diagnostic", 1) for patient in PATIENTS)
    cells = [
        cell(1, known, completed(GOLD, GOLD, [], ())),
        cell(2, unknown, completed(GOLD, GOLD, [], (), spent=spent)),
        cell(3, failed, {"outcome": "failed", "spent": spent}, "nothing came"),
    ]
    made = aggregated(SPEC, cells)
    found = group(made, "a/b")
    assert (value(found, "tokens"), found.outcomes.uncounted, found.outcomes.unpriced) == (1000, 1, 0)
    assert "| interviews with a call of unknown tokens | 1 |" in markdown(made)
    assert "| spent on failed interviews | 2 calls, tokens unknown, 0.5000 USD |" in markdown(made)


def test_models_are_compared_by_the_judge_and_by_every_other_figure_of_an_interview() -> None:
    scores = {"rules": 4, "a/b": 2}
    cells = [
        cell(
            n,
            CellKey(patient, model, "diagnostic", 1),
            completed(GOLD, GOLD, [], (), judge={"scores": {"flow": given}}),
        )
        for n, (patient, (model, given)) in enumerate(product(PATIENTS, scores.items()))
    ]
    found = aggregated(SPEC, cells)
    pairs = {pair.metric: pair.difference for pair in found.pairs}
    assert (pairs["judge.flow"].value, pairs["judge.flow"].higher) == (2.0, 3)
    in_tables = {name for group in found.groups for name, estimate in group.estimates.items() if estimate}
    assert set(pairs) == in_tables - {"kappa", "macro_f1"} | {"judge.flow", "conversation.fkg"}
    text = markdown(found)
    assert "| Judge: flow (1–5) ↑ | rules − a/b | +2.00 [2.00, 2.00] | 3 | 3 / 0 / 0 | 0.250 |" in text
    assert "| Flesch-Kincaid grade (US school grade) | rules − a/b | +0.0 [0.0, 0.0] | 3 |" in text


def test_a_report_says_what_made_it_and_warns_of_cells_that_something_else_made(tmp_path: Path) -> None:
    def figures(**made: str) -> dict[str, Any]:
        verdict = {"scores": dict.fromkeys(CRITERIA, 4), "spent": {"seconds": 1.0, "cost_usd": 0.25}}
        return completed(GOLD, GOLD, [], (), snapshot="f00", judge=verdict, provenance={**MADE_BY, **made})

    keys = [CellKey(patient, "rules", "diagnostic", 1) for patient in PATIENTS]
    same = [cell(n, key, figures()) for n, key in enumerate(keys)]
    write_report(aggregated(SPEC, same), same, tmp_path)
    text = (tmp_path / "report.md").read_text()
    assert "| metrics | 3 | 3 |\n| benchmark | 0ddba11 | 3 |" in text
    assert "| library | no book in the library | 3 |" in text
    assert "| judge | openai/gpt-4.1@1+beef | 3 |" in text
    assert "several versions" not in text
    assert json.loads((tmp_path / "report.json").read_text())["provenance"]["source"] == {"abc": 3}
    with (tmp_path / "cells.csv").open(newline="") as file:
        row = next(csv.DictReader(file))
    told = {"snapshot": "f00", "metrics_version": "3", "judge_version": MADE_BY["judge"], "judge_status": "scored"}
    assert {name: row[name] for name in told} == told
    assert (row["judge_flow"], row["judge_cost_usd"]) == ("4", "0.25")
    mixed = [*same[1:], cell(0, keys[0], figures(metrics="2", source="def"))]
    assert "**Interviews were made by several versions" in markdown(aggregated(SPEC, mixed))
    warm = [cell(n, key, figures(temperature=f"{n}: 0")) for n, key in enumerate(keys)]
    assert aggregated(SPEC, warm).is_of_one_making, "what is sent to a model is the model's"
    assert not aggregated(SPEC, [*same[1:], cell(0, keys[0], figures(benchmark="f00d"))]).is_of_one_making
    old = [*same[1:], cell(0, keys[0], completed(GOLD, GOLD, [], ()))]
    assert "| metrics | not recorded | 1 |" in markdown(aggregated(SPEC, old))
    assert "several versions" in markdown(aggregated(SPEC, old))


def test_the_notes_say_where_stopped_sessions_are(made: Aggregate) -> None:
    roles = {"scorer": {"asked": 4, "by_rules": 2}}
    stopped = cell(1, CellKey("letters-written", "a/b", "diagnostic", 1), {**STOPPED, "roles": roles})
    found = group(aggregated(SPEC, [stopped]), "a/b")
    assert {name for name, estimate in found.estimates.items() if estimate} == {"stop_right", "by_rules"}
    assert [(role.asked, role.by_rules) for role in found.roles] == [(4, 2)]
    assert "in the stop decisions and in what the rules answered instead of a model, and in no other" in markdown(made)


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


def test_what_came_through_postgres_gives_the_same_bytes(database: Database) -> None:
    """Its JSON keeps no order of keys: neither of a cell's figures nor of the tables."""
    runs = Runs(database)
    roles = {"scorer": {"asked": 5, "by_rules": 2, "failures": {"timeout": 1, "gateway": 1}}}
    verdict = {"scores": dict.fromkeys(CRITERIA, 4), "spent": {"seconds": 1.0}}
    metrics = {"conversation.fkg": 5.0, "explainability.step_lists": 1.0, "conversation.coherence_whole": 0.5,
               "protocol.oversteps": 2, "protocol.double_questions": 1}  # fmt: skip
    more = {"judge": verdict, "metrics": metrics, "roles": roles, "provenance": MADE_BY}
    keys = sorted(SPEC.cells([*PATIENTS]))
    figures = {key: completed(GOLD, GOLD, [MDD], PATIENTS[key.patient], **more) for key in keys}
    run_id = runs.create(SPEC.name, SPEC.to_json_dict(), dict.fromkeys(PATIENTS), keys)
    for number in runs.to_send(100):
        claim = runs.claim(number, 60)
        assert claim is not None
        failed = claim.key == keys[0]
        runs.finish(claim, FAILED if failed else figures[claim.key], error="nothing came" if failed else None)
    held = [
        cell(n, key, FAILED if key == keys[0] else figures[key], "nothing came" if key == keys[0] else None)
        for n, key in enumerate(keys)
    ]
    fresh = texts(aggregated(SPEC, held), held, [])
    run = runs.to_aggregate(run_id)
    assert run is not None
    runs.enter_aggregate(run, aggregated(SPEC, runs.cells(run_id)).model_dump(mode="json"))
    kept = Aggregate.model_validate(runs.get(run_id).aggregate)
    again = texts(kept, runs.cells(run_id), [])
    assert [name for name in fresh if fresh[name] != again[name]] == []


def test_a_model_has_its_own_n_of_a_class(made: Aggregate, folder: Path) -> None:
    text = (folder / "report.md").read_text()
    assert "| Class | rules: F1 | Gold n | Given | a/b: F1 | Gold n | Given |" in text
    (row,) = [line for line in text.splitlines() if line.startswith(f"| {GAD} |")]
    cells = [part.strip() for part in row.split("|")]
    assert (cells[3], cells[6]) == ("2 / 1", "1 / 1"), "one of the model's interviews failed"


def test_what_rounds_to_nothing_has_no_minus() -> None:
    spec = parse_spec({"name": "x", "personas": [*PATIENTS], "models": ["rules", "a/b"]})
    cells = [
        cell(n, key, completed(GOLD, GOLD, [], (), metrics={"conversation.fkg": 5.0 + 0.01 * (key.model == "a/b")}))
        for n, key in enumerate(spec.cells([*PATIENTS]))
    ]
    text = markdown(aggregated(spec, cells))
    assert "| Flesch-Kincaid grade (US school grade) | rules − a/b | +0.0 [0.0, 0.0] | 3 |" in text
    assert "−0.0 " not in text


def test_the_report_says_that_snapshots_are_gone_unless_sessions_were_kept(made: Aggregate) -> None:
    assert "were deleted with them" in markdown(made)
    kept = parse_spec({**SPEC.to_json_dict(), "keep": True})
    assert "were deleted with them" not in markdown(aggregated(kept, made_cells()))


def test_a_panel_of_noughts_is_named_and_not_drawn(folder: Path) -> None:
    drawn = (folder / "differences.svg").read_text()
    assert "No difference on any patient, hence not drawn" in drawn
    assert "difference, USD per interview" not in drawn


def rows_in(drawn: Any) -> Iterator[dict[str, Any]]:
    """The data behind a chart and all charts in it."""
    if isinstance(drawn, list):
        yield from (row for part in drawn for row in rows_in(part))
    elif isinstance(drawn, dict):
        yield from drawn.get("values", [])
        yield from (row for part in drawn.values() for row in rows_in(part))


def test_where_all_patients_agree_the_chart_shows_what_is_left_to_chance(made: Aggregate, folder: Path) -> None:
    drawn = list(rows_in(charts_of(made)["accuracy"].to_dict()))
    estimate = group(made, "rules").estimates["top1"]
    assert estimate is not None
    assert estimate.wilson is not None
    assert estimate.interval == Interval(low=1.0, high=1.0)
    shown = {"value": 1.0, "low": estimate.wilson.low, "high": estimate.wilson.high, "dashed": True}
    assert {"label": "rules", **shown, "n": "n = 6 / 3"} in drawn
    assert [row for row in drawn if row["low"] < row["high"] and not row["dashed"]], "bootstraps have whole lines"
    assert "Dashed: Wilson" in (folder / "accuracy.svg").read_text()
    assert "Dashed: Wilson" not in (folder / "errors-and-effort.svg").read_text()
    told = f"| rules | 1.000 | [1.000, 1.000] | [{estimate.wilson.low:.3f}, 1.000] | 6 | 3 |"
    for share in ("Item scores exact", "Items covered"):
        assert f"| {share} {told}" in (folder / "report.md").read_text()
    assert f"| Main impression first (top-1) {told}" in (folder / "report.md").read_text()


def test_files_hold_every_cell_once_and_every_figure(folder: Path) -> None:
    with (folder / "cells.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    keys = [(row["patient"], row["model"], row["mode"], row["repeat"]) for row in rows]
    assert len(keys) == len(set(keys)) == 16
    with (folder / "summary.csv").open(newline="") as file:
        figures = {(row["model"], row["figure"]): row for row in csv.DictReader(file)}
    exact = figures["a/b", "item_exact"]
    assert (float(exact["value"]), exact["unit"], exact["interviews"]) == (0.6, "share of items", "5")
    assert float(figures["a/b", "conversation.fkg"]["value"]) == 5.0
    text = (folder / "report.md").read_text()
    assert "| spent on failed interviews | 7 calls, 1,100 tokens, 0.0150 USD |" in text
    assert "| Flesch-Kincaid grade (US school grade) | 5.0 [5.0, 5.0] | 6 / 3 | 5.0 [5.0, 5.0] | 5 / 3 |" in text
    assert text.startswith("# rules \\| against \\_one\\_\n")
    assert "| failed: the model gave nothing usable as scorer (gateway) | 1 |" in text
    assert json.loads((folder / "report.json").read_text())["groups"][0]["model"] == "rules"
