"""Statistics of runs: pure functions. Intervals come from resampling patients, since a patient's repeats are alike.

scipy does the arithmetic. A percentile bootstrap is used throughout: it needs no assumption that a bounded figure
breaks, and it gives an interval of no width where all patients agree, rather than none.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict
from scipy import stats

Array = NDArray[np.float64]
Statistic = Callable[[Array], Array]
"""From the sums over patients (…, k) to the figure (…)."""

CONFIDENCE = 0.95
RESAMPLES = 10_000
_AT_ONCE = 4_000_000
"""Numbers held while resampling; with more patients fewer resamples are made at a time."""
_DIGITS = 6


class _Figure(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Interval(_Figure):
    low: float
    high: float


class Estimate(_Figure):
    """`interval` is clustered by patient and None where there is but one; `wilson` takes a patient for one answer,
    however often it was repeated."""

    value: float
    interval: Interval | None
    cells: int
    patients: int
    wilson: Interval | None = None


class Difference(_Figure):
    """Of two models on the patients that both had: mean over patients, and how many speak for either."""

    value: float
    interval: Interval | None
    patients: int
    higher: int
    lower: int
    equal: int
    p: float
    """Exact two-sided sign test."""


def mean(values: Mapping[str, Sequence[float]], seed: int) -> Estimate | None:
    """The mean over all cells, by patient; None when there are none."""
    parts = {patient: [sum(some), len(some)] for patient, some in values.items() if some}
    return clustered(parts, ratio, seed, cells=sum(len(some) for some in values.values()))


def proportion(values: Mapping[str, Sequence[float]], seed: int) -> Estimate | None:
    """A share, with Wilson's interval beside the clustered one: of the same share, with n = patients.

    That is as if a patient's repeats were all alike, so repeats make it no narrower; nor do the items of a patient,
    where each cell has a part between none and all.
    """
    found = mean(values, seed)
    if found is None:
        return None
    share = sum(sum(some) for some in values.values()) / found.cells
    return found.model_copy(update={"wilson": wilson(share * found.patients, found.patients)})


def clustered(parts: Mapping[str, Sequence[float]], statistic: Statistic, seed: int, *, cells: int) -> Estimate | None:
    """A figure of sums over patients. `parts` has one row of numbers a patient; patients are what is drawn again."""
    if not parts:
        return None
    rows = np.array([parts[patient] for patient in sorted(parts)], dtype=np.float64)
    value = float(statistic(rows.sum(axis=0)))
    if np.isnan(value):
        return None
    return Estimate(value=rounded(value), interval=_resampled(rows, statistic, seed), cells=cells, patients=len(rows))


def _resampled(rows: Array, statistic: Statistic, seed: int) -> Interval | None:
    if len(rows) < 2:
        return None

    def of_drawn(drawn: NDArray[np.int_], axis: int = -1) -> Array:
        return statistic(np.take(rows, drawn, axis=0).sum(axis=-2 if axis == -1 else axis))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)  # draws without a figure are seen to below
        made = stats.bootstrap(
            (np.arange(len(rows)),),
            of_drawn,
            n_resamples=RESAMPLES,
            batch=max(1, _AT_ONCE // rows.size),
            vectorized=True,
            confidence_level=CONFIDENCE,
            method="percentile",
            rng=np.random.default_rng(seed),
        )
    return _percentiles(made.bootstrap_distribution)


def _percentiles(drawn: Array) -> Interval | None:
    """Draws in which the figure is not defined (a class without a case) are left out."""
    defined = drawn[~np.isnan(drawn)]
    if not defined.size:
        return None
    tail = 100 * (1 - CONFIDENCE) / 2
    low, high = np.percentile(defined, [tail, 100 - tail])
    return _interval(float(low), float(high))


def ratio(sums: Array) -> Array:
    return _divided(sums[..., 0], sums[..., 1])


def quadratic_kappa(sums: Array) -> Array:
    """Cohen's kappa with quadratic weights, from a flattened square table of gold by given."""
    size = round(sums.shape[-1] ** 0.5)
    table = sums.reshape(*sums.shape[:-1], size, size)
    grid = np.arange(size)
    weights = (grid[:, None] - grid[None, :]) ** 2
    total = table.sum(axis=(-1, -2))
    expected = table.sum(axis=-1)[..., :, None] * table.sum(axis=-2)[..., None, :]
    observed = (weights * table).sum(axis=(-1, -2)) * total
    by_chance = (weights * expected).sum(axis=(-1, -2))
    return 1 - _divided(observed, by_chance)


def macro_f1(sums: Array) -> Array:
    """The mean F1 of the classes that some case has, from rows of hits, gold and given one after the other."""
    hits, gold, given = np.split(sums, 3, axis=-1)
    f1 = np.where(gold > 0, _divided(2 * hits, gold + given), np.nan)
    present = (gold > 0).sum(axis=-1)
    return _divided(np.nansum(f1, axis=-1), present)


def f1_of(position: int, classes: int) -> Statistic:
    """The F1 of one class out of the same rows; undefined where no case has it, as in the macro-F1."""

    def one(sums: Array) -> Array:
        hits, gold, given = (sums[..., position + classes * part] for part in range(3))
        return np.where(gold > 0, _divided(2 * hits, gold + given), np.nan)

    return one


def wilson(hits: float, of: int) -> Interval | None:
    """Wilson's score interval. Hits may be fractions, sums of patients' shares, which scipy's own does not take."""
    if not of:
        return None
    z2 = float(stats.norm.ppf((1 + CONFIDENCE) / 2)) ** 2
    share = hits / of
    middle = (share + z2 / (2 * of)) / (1 + z2 / of)
    half = (z2 * share * (1 - share) / of + (z2 / (2 * of)) ** 2) ** 0.5 / (1 + z2 / of)
    return _interval(max(0.0, middle - half), min(1.0, middle + half))


def paired(first: Mapping[str, Sequence[float]], second: Mapping[str, Sequence[float]], seed: int) -> Difference | None:
    """How much higher `first` is than `second`, patient by patient, on those that both have."""
    shared = sorted(patient for patient in first if first[patient] and second.get(patient))
    if not shared:
        return None
    gaps = {patient: rounded(float(np.mean(first[patient]) - np.mean(second[patient]))) for patient in shared}
    found = clustered({patient: [gap, 1.0] for patient, gap in gaps.items()}, ratio, seed, cells=len(shared))
    assert found is not None  # noqa: S101  # there is at least one patient
    higher, lower = (sum(sign * gap > 0 for gap in gaps.values()) for sign in (1, -1))
    return Difference(
        value=found.value,
        interval=found.interval,
        patients=len(shared),
        higher=higher,
        lower=lower,
        equal=len(shared) - higher - lower,
        p=sign_test(higher, lower),
    )


def sign_test(higher: int, lower: int) -> float:
    """Two-sided and exact; ties say nothing, and with ties alone there is nothing to doubt."""
    return float(f"{stats.binomtest(higher, higher + lower).pvalue:.6g}") if higher + lower else 1.0


def rounded(value: float) -> float:
    """Six decimals: enough for any table, and the same text on every machine."""
    return round(value, _DIGITS) + 0.0  # no negative zero


def _divided(a: Any, b: Any) -> Array:
    """NaN where nothing was counted."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.asarray(b) > 0, np.divide(a, b), np.nan)


def _interval(low: float, high: float) -> Interval:
    return Interval(low=rounded(low), high=rounded(high))
