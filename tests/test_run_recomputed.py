"""A run's figures computed a second time, from its cells, with numpy and scipy alone: nothing of ours but the cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from scipy import stats

from benchmark.runs.aggregate import Aggregate, Group, aggregated
from benchmark.runs.spec import parse_spec
from benchmark.runs.statistics import Difference, Estimate
from storage.runs import Cell, CellKey

NAMES = ("Major Depressive Disorder", "Generalized Anxiety Disorder", "Insomnia Disorder")
GIVEN_ONLY = "Panic Disorder"
PATIENTS = [f"p{number}" for number in range(9)]
MODELS = ("rules", "a/b")
REPEATS, ITEMS, SEED, DRAWS = 3, 5, 11, 10_000
SPEC = parse_spec({"name": "x", "personas": "all", "models": list(MODELS), "repeats": REPEATS, "seed": SEED})
Made = dict[str, dict[str, list[dict[str, Any]]]]
"""By model and patient, what each repeat came to."""


def _made() -> Made:
    chance = np.random.default_rng(5)
    made: Made = {model: {} for model in MODELS}
    for number, patient in enumerate(PATIENTS):
        gold, name = chance.integers(0, 5, ITEMS).tolist(), NAMES[number % 3]
        for model in MODELS:
            for _ in range(REPEATS if (model, patient) != ("a/b", "p4") else 1):
                off = chance.integers(0, 2 if model == "rules" else 3, ITEMS)
                given = np.clip(gold + off, 0, 4).tolist()
                first = name if chance.random() < 0.6 else str(chance.choice([*NAMES, GIVEN_ONLY]))
                one = {"gold": gold, "given": given, "name": name, "first": first}
                made[model].setdefault(patient, []).append(one)
    return made


def _cells(made: Made) -> list[Cell]:
    cells: list[Cell] = []
    for model, patients in made.items():
        for patient, repeats in patients.items():
            for number, one in enumerate(repeats, start=1):
                items = [
                    {"item": n, "score": score, "gold": gold, "ambiguity": 2}
                    for n, (gold, score) in enumerate(zip(one["gold"], one["given"], strict=True), start=1)
                ]
                figures = {
                    "outcome": "completed",
                    "items": items,
                    "impressions": [{"name": one["first"], "confidence": 0.5}],
                    "gold_names": [one["name"]],
                    "spent": {"seconds": 1.0},
                }
                key = CellKey(patient, model, "diagnostic", number)
                cells.append(Cell(len(cells), "run", key, "done", 1, None, figures, None))
    return cells


@pytest.fixture(scope="module")
def made() -> Made:
    return _made()


@pytest.fixture(scope="module")
def found(made: Made) -> Aggregate:
    return aggregated(SPEC, _cells(made))


def group(found: Aggregate, model: str) -> Group:
    return next(one for one in found.groups if one.model == model)


def drawn(n: int) -> np.ndarray[Any, np.dtype[np.int_]]:
    return np.random.default_rng(SEED).integers(0, n, (DRAWS, n))


def interval(of: Callable[[Sequence[dict[str, Any]]], float], patients: Sequence[list[dict[str, Any]]]) -> list[float]:
    """Patients are drawn with all their repeats; draws without a figure are left out."""
    figures = [of([cell for number in draw for cell in patients[number]]) for draw in drawn(len(patients))]
    return [float(end) for end in np.nanpercentile(figures, [2.5, 97.5])]


def check(ours: Estimate | None, of: Callable[[Sequence[dict[str, Any]]], float], made: Made, model: str) -> None:
    patients = [made[model][patient] for patient in PATIENTS]
    assert ours is not None
    assert ours.interval is not None
    assert ours.value == pytest.approx(of([cell for some in patients for cell in some]), abs=1e-6)
    assert [ours.interval.low, ours.interval.high] == pytest.approx(interval(of, patients), abs=1e-6)


def error(cells: Sequence[dict[str, Any]]) -> float:
    return float(np.mean([np.mean(np.abs(np.subtract(cell["gold"], cell["given"]))) for cell in cells]))


def top1(cells: Sequence[dict[str, Any]]) -> float:
    return float(np.mean([cell["name"] == cell["first"] for cell in cells]))


def kappa(cells: Sequence[dict[str, Any]]) -> float:
    """With quadratic weights it is one less the mean square difference over what independent raters would have."""
    gold, given = (np.concatenate([cell[name] for cell in cells]) for name in ("gold", "given"))
    by_chance = gold.var() + given.var() + (gold.mean() - given.mean()) ** 2
    return float(1 - np.mean((gold - given) ** 2) / by_chance)


def f1(cells: Sequence[dict[str, Any]], name: str) -> float:
    gold = np.array([cell["name"] == name for cell in cells])
    given = np.array([cell["first"] == name for cell in cells])
    return 2 * (gold & given).sum() / (gold.sum() + given.sum()) if gold.any() else float("nan")


def macro_f1(cells: Sequence[dict[str, Any]]) -> float:
    return float(np.nanmean([f1(cells, name) for name in NAMES]))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("name", "of"), [("item_mae", error), ("top1", top1), ("kappa", kappa), ("macro_f1", macro_f1)]
)
def test_an_estimate_is_what_numpy_makes_of_the_cells(
    made: Made, found: Aggregate, model: str, name: str, of: Callable[[Sequence[dict[str, Any]]], float]
) -> None:
    ours = group(found, model).estimates[name]
    check(ours, of, made, model)
    assert ours is not None
    assert (ours.cells, ours.patients) == (sum(map(len, made[model].values())), len(PATIENTS))


def test_a_share_has_wilsons_interval_of_so_many_patients(made: Made, found: Aggregate) -> None:
    for model in MODELS:
        ours = group(found, model).estimates["top1"]
        assert ours is not None
        assert ours.wilson is not None
        p, n, z = top1([cell for some in made[model].values() for cell in some]), len(PATIENTS), stats.norm.ppf(0.975)
        for end in (ours.wilson.low, ours.wilson.high):
            assert abs(p - end) == pytest.approx(z * np.sqrt(end * (1 - end) / n), abs=1e-5), (
                "where the score test turns"
            )


def test_a_class_has_the_f1_that_numpy_makes_of_the_cells(made: Made, found: Aggregate) -> None:
    rows = {row.name: row for row in group(found, "a/b").classes}
    for name in NAMES:
        check(rows[name].f1, lambda cells, name=name: f1(cells, name), made, "a/b")  # type: ignore[misc]
    assert (rows[GIVEN_ONLY].gold, rows[GIVEN_ONLY].f1) == (0, None), "nobody has it, so nothing could be found"
    assert rows[GIVEN_ONLY].given > 0


def test_a_paired_difference_is_what_scipy_makes_of_the_cells(made: Made, found: Aggregate) -> None:
    (pair,) = [pair for pair in found.pairs if pair.metric == "item_mae"]
    ours: Difference = pair.difference
    gaps = np.array([error(made["rules"][patient]) - error(made["a/b"][patient]) for patient in PATIENTS])
    theirs = np.percentile(gaps[drawn(len(gaps))].mean(axis=1), [2.5, 97.5])
    higher, lower = int((gaps > 1e-9).sum()), int((gaps < -1e-9).sum())
    assert ours.value == pytest.approx(gaps.mean(), abs=1e-6)
    assert (ours.higher, ours.lower) == (higher, lower)
    assert ours.interval is not None
    assert [ours.interval.low, ours.interval.high] == pytest.approx(list(theirs), abs=2e-6)
    assert ours.p == pytest.approx(stats.binomtest(higher, higher + lower).pvalue, rel=1e-5)
