"""The statistics of batch runs against scipy, against other implementations, and against what they are for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from benchmark.metrics.accuracy import macro_f1 as macro_f1_of_pairs
from benchmark.metrics.accuracy import quadratic_kappa as kappa_of_pairs
from benchmark.runs import statistics
from benchmark.runs.statistics import (
    RESAMPLES,
    Difference,
    Estimate,
    clustered,
    f1_of,
    macro_f1,
    mean,
    paired,
    proportion,
    quadratic_kappa,
    wilson,
)

SEED = 11
CHANCE = np.random.default_rng(3)


def ends(found: Estimate | Difference | None) -> tuple[float, float]:
    assert found is not None
    assert found.interval is not None
    return found.interval.low, found.interval.high


def by_patient(values: list[list[float]]) -> dict[str, list[float]]:
    return {f"patient-{number:03}": some for number, some in enumerate(values)}


def test_with_one_value_a_patient_the_interval_is_scipys_own() -> None:
    values = CHANCE.normal(size=24).tolist()
    ours = mean(by_patient([[value] for value in values]), SEED)
    theirs = stats.bootstrap(
        (values,), np.mean, n_resamples=RESAMPLES, method="percentile", rng=np.random.default_rng(SEED)
    ).confidence_interval
    assert ours is not None
    assert ours.interval is not None
    assert ours.value == pytest.approx(np.mean(values), abs=1e-6)
    assert (ours.interval.low, ours.interval.high) == pytest.approx((theirs.low, theirs.high), abs=1e-6)


def test_repeats_of_a_patient_do_not_make_an_interval_narrower() -> None:
    """Three equal answers of a patient are one piece of news; whoever takes them for three is too sure."""
    values = CHANCE.random(20).round(2).tolist()
    once = mean(by_patient([[value] for value in values]), SEED)
    thrice = mean(by_patient([[value] * 3 for value in values]), SEED)
    naive = mean(by_patient([[value] for value in values for _ in range(3)]), SEED)
    assert thrice is not None
    assert (thrice.cells, thrice.patients) == (60, 20)
    assert ends(once) == ends(thrice)
    assert np.ptp(ends(naive)) < 0.7 * np.ptp(ends(thrice))


@pytest.mark.parametrize(("hits", "of"), [(0, 1), (1, 1), (0, 7), (3, 7), (7, 7), (38, 40)])
def test_wilsons_interval_is_scipys_where_hits_are_whole(hits: int, of: int) -> None:
    found, theirs = wilson(hits, of), stats.binomtest(hits, of).proportion_ci(0.95, method="wilson")
    assert found is not None
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=1e-6)


def test_wilsons_interval_is_of_patients_so_identical_repeats_do_not_narrow_it() -> None:
    answers = {"a": [True], "b": [True], "c": [False], "d": [True]}
    once, often = (proportion({patient: some * n for patient, some in answers.items()}, SEED) for n in (1, 25))
    assert once is not None
    assert often is not None
    assert (once.cells, often.cells, once.value, often.value) == (4, 100, 0.75, 0.75)
    assert once.wilson == often.wilson == wilson(3, 4)
    assert once.interval == often.interval
    agreed = proportion({patient: [True] * 25 for patient in answers}, SEED)
    assert agreed is not None
    assert ends(agreed) == (1.0, 1.0)
    assert agreed.wilson == wilson(4, 4), "25 repeats of four patients prove no more than four patients do"


def test_a_share_carries_wilsons_interval_beside_the_clustered_one() -> None:
    found = proportion({"a": [True, True], "b": [True, False], "c": [False, False]}, SEED)
    assert found is not None
    assert found.value == 0.5
    assert found.wilson == wilson(1.5, 3)
    assert found.wilson is not None
    assert found.wilson.low + found.wilson.high == pytest.approx(1)
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == (0.0, 1.0)


def test_the_sign_test_is_exact_and_ignores_ties() -> None:
    first = {f"p{n}": [1.0 if n < 9 else 0.0, 0.0] for n in range(12)}
    second = {f"p{n}": [0.0] if n < 8 else [0.5] for n in range(12)} | {"only-here": [9.0]}
    found = paired(first, second, SEED)
    assert found is not None
    assert (found.patients, found.higher, found.lower, found.equal) == (12, 8, 3, 1)
    assert found.p == pytest.approx(stats.binomtest(8, 11).pvalue, rel=1e-5)
    assert found.value == pytest.approx((8 * 0.5 + 0.0 - 3 * 0.5) / 12, abs=1e-6)
    gaps = [float(np.mean(first[f"p{n}"]) - np.mean(second[f"p{n}"])) for n in (0, 1, 10, 11, 2, 3, 4, 5, 6, 7, 8, 9)]
    theirs = stats.bootstrap(
        (gaps,), np.mean, n_resamples=RESAMPLES, method="percentile", rng=np.random.default_rng(SEED)
    )
    assert found.interval is not None
    expected = (theirs.confidence_interval.low, theirs.confidence_interval.high)
    assert (found.interval.low, found.interval.high) == pytest.approx(expected, abs=1e-6)


def test_with_ties_alone_nothing_speaks_against_chance() -> None:
    found = paired({"a": [1.0], "b": [0.5]}, {"a": [1.0], "b": [0.5]}, SEED)
    assert found is not None
    assert (found.p, found.value, found.equal) == (1.0, 0.0, 2)
    assert paired({"a": [1.0]}, {"b": [1.0]}, SEED) is None


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=60))
def test_kappa_of_a_table_is_that_of_its_pairs(pairs: list[tuple[int, int]]) -> None:
    table = np.zeros(25)
    for gold, found in pairs:
        table[gold * 5 + found] += 1
    ours, theirs = float(quadratic_kappa(table)), kappa_of_pairs(pairs)
    assert (np.isnan(ours) and theirs is None) or ours == pytest.approx(theirs)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abcd")), min_size=1, max_size=40))
def test_macro_f1_of_sums_is_that_of_its_pairs(pairs: list[tuple[str, str]]) -> None:
    sums = np.zeros(12)
    for gold, found in pairs:
        sums["abcd".index(gold)] += gold == found
        sums[4 + "abcd".index(gold)] += 1
        sums[8 + "abcd".index(found)] += 1
    assert float(macro_f1(sums)) == pytest.approx(macro_f1_of_pairs(pairs))


def test_a_class_that_no_drawn_patient_has_is_left_out_and_is_no_zero() -> None:
    """Of two who have it and one who is wrongly said to: drawn alone, the latter says nothing about finding it."""
    hits_gold_given = {"a": [1.0, 1.0, 1.0], "b": [1.0, 1.0, 1.0], "c": [0.0, 0.0, 1.0]}
    found = clustered(hits_gold_given, f1_of(0, 1), SEED, cells=3)
    assert found is not None
    assert found.value == pytest.approx(0.8)
    assert ends(found) == (0.5, 1.0), "one hit beside two false alarms at worst; three false alarms have no F1"
    assert clustered({"c": [0.0, 0.0, 1.0]}, f1_of(0, 1), SEED, cells=1) is None


def test_the_same_cells_give_the_same_interval_in_whatever_order_they_come() -> None:
    values = by_patient(CHANCE.random((12, 3)).tolist())
    turned = dict(reversed(list(values.items())))
    assert mean(values, SEED) == mean(turned, SEED)
    assert mean(values, SEED) != mean(values, SEED + 1)


def test_one_patient_alone_has_no_interval_and_nobody_has_no_figure() -> None:
    one = mean({"a": [1.0, 0.0]}, SEED)
    assert one is not None
    assert (one.value, one.interval, one.cells, one.patients) == (0.5, None, 2, 1)
    assert mean({}, SEED) is None
    assert clustered({}, quadratic_kappa, SEED, cells=0) is None


def test_a_large_run_is_resampled_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    values = by_patient(CHANCE.random((40, 2)).tolist())
    whole = mean(values, SEED)
    monkeypatch.setattr(statistics, "_AT_ONCE", 400)
    monkeypatch.setattr(statistics, "RESAMPLES", 2_000)
    pieces = mean(values, SEED)
    assert ends(pieces) == pytest.approx(ends(whole), abs=0.01)
