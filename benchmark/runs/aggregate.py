"""The tables of a run, computed from its cells alone: the same cells give the same bytes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict

from benchmark.metrics.accuracy import LEVELS, first_or_nothing
from benchmark.metrics.calibration import Bin, reliability
from benchmark.runs import outcomes, statistics
from benchmark.runs.figures import CellFigures, PatientFigure, ProvenanceFigure, SpentFigures, total
from benchmark.runs.outcomes import METRICS, Metric
from benchmark.runs.spec import RunSpec
from benchmark.runs.statistics import Difference, Estimate
from settings import RULES
from storage.runs import Cell

_BINS = 10
NOT_SAID = "not recorded"
_FURTHER = ("conversation", "explainability")
KAPPA, MACRO_F1 = "kappa", "macro_f1"
"""Of all cells together; every other figure a cell has by itself, so that two models can be compared by it in pairs."""
JUDGED = "judge."
CONFIDENT_OF = ("items", "impressions")
V = TypeVar("V")


def _in_order(value: dict[str, V]) -> dict[str, V]:
    return dict(sorted(value.items()))


ByName = Annotated[dict[str, V], AfterValidator(_in_order)]
"""In the order of the names: Postgres gives the keys of its JSON back in an order of its own."""


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Outcomes(_Table):
    """What became of a group's cells. `stopped` sessions have no snapshot, hence nothing to be scored."""

    cells: int
    completed: int
    stopped: int
    failed: int
    waiting: int
    stops_expected: int
    stops_right: int
    stops_missed: int
    stops_wrong: int
    unscored: int = 0
    """Verdicts of the judge that could not be used."""
    not_judged: int = 0
    """Completed interviews that the judge was to read and, without a key, was not asked about."""
    unpriced: int = 0
    """Completed interviews with a call whose price is unknown."""
    uncounted: int = 0
    """Completed interviews with a call whose tokens are unknown."""


class ClassRow(_Table):
    """One name as the first impression: how often it was right to name it (of so many patients), named, and both."""

    name: str
    gold: int
    patients: int = 0
    given: int
    hits: int
    f1: Estimate | None


class RoleRow(_Table):
    role: str
    asked: int
    by_rules: int
    failures: ByName[int]


class Group(_Table):
    """One model in one mode."""

    model: str
    mode: str
    outcomes: Outcomes
    estimates: ByName[Estimate | None]
    judge: ByName[Estimate | None] = {}
    further: ByName[Estimate | None] = {}
    """The other metrics of snapshots, by their own names."""
    classes: tuple[ClassRow, ...] = ()
    reliability: ByName[tuple[Bin, ...]] = {}
    violations: ByName[int] = {}
    roles: tuple[RoleRow, ...] = ()
    failures: ByName[int] = {}
    wasted: SpentFigures | None = None
    """On interviews that failed; it is in the totals."""
    total_cost_usd: float | None = None
    judge_cost_usd: float | None = None
    """What the judge took for this group, which is not the model's cost; None without a judge too."""
    patient: PatientFigure | None = None
    """Of all its cells together, failed ones too; None where no model plays the personas."""


class Pair(_Table):
    """`first` minus `second`."""

    metric: str
    mode: str
    first: str
    second: str
    difference: Difference


class Aggregate(_Table):
    name: str
    spec: dict[str, Any]
    cells: int
    ended: int
    groups: tuple[Group, ...]
    pairs: tuple[Pair, ...]
    provenance: ByName[ByName[int]] = {}
    """What made the figures: for code, metrics, library and so on, of how many cells each version is."""

    @property
    def is_whole(self) -> bool:
        return self.ended == self.cells

    @property
    def is_of_one_making(self) -> bool:
        """By the same code, data and library; that models differ, and what is sent to them, is the run's purpose."""
        return all(len(versions) <= 1 for name, versions in self.provenance.items() if name != "temperature")


@dataclass(frozen=True)
class _Entered:
    """A cell with its figures read; as they were stored they are not kept beside that."""

    cell: Cell
    figures: CellFigures | None


ByPatient = dict[str, list[float]]


def aggregated(spec: RunSpec, cells: Iterable[Cell]) -> Aggregate:
    """Groups in the spec's order; everything within them in the order of the cells' keys."""
    entered: defaultdict[tuple[str, str], list[_Entered]] = defaultdict(list)
    for cell in cells:
        figures = CellFigures.model_validate(cell.figures) if cell.figures is not None else None
        entered[cell.key.model, cell.key.mode].append(_Entered(replace(cell, figures=None), figures))
    for group in entered.values():
        group.sort(key=lambda one: one.cell.key)
    order = [(entry.label, mode) for mode in spec.modes for entry in spec.models]
    everything = [one for group in entered.values() for one in group]
    return Aggregate(
        name=spec.name,
        spec=spec.to_json_dict(),
        cells=len(everything),
        ended=sum(one.cell.status in ("done", "failed") for one in everything),
        groups=tuple(_group(model, mode, entered[model, mode], spec.seed) for model, mode in order),
        pairs=tuple(_pairs(spec, entered)),
        provenance=_provenance([one.figures for one in everything if one.figures is not None]),
    )


def _provenance(made: Sequence[CellFigures]) -> dict[str, dict[str, int]]:
    """A cell that does not say is told as such; what it has none of, such as a judge, is left out."""
    said = [figures.provenance.model_dump() if figures.provenance else None for figures in made]
    found: dict[str, dict[str, int]] = {}
    for name in ProvenanceFigure.model_fields if any(said) else ():
        versions = Counter(one[name] if one else NOT_SAID for one in said if one is None or one[name])
        found[name] = dict(sorted(versions.items()))
    return {name: versions for name, versions in found.items() if versions}


def _group(model: str, mode: str, cells: Sequence[_Entered], seed: int) -> Group:
    done = _done(cells)
    estimates: dict[str, Estimate | None] = {metric.name: _estimate(metric, done, seed) for metric in METRICS}
    classes = _class_table(done)
    estimates[KAPPA] = _kappa(done, seed)
    estimates[MACRO_F1] = _macro_f1(classes, done, seed)
    spending = [one.figures for one in cells if one.figures is not None]
    wasted = [figures.spent for figures in spending if figures.outcome == "failed"]
    judged = [f.judge.spent.cost_usd for f in spending if f.judge and f.judge.spent]
    return Group(
        model=model,
        mode=mode,
        outcomes=_outcomes(cells),
        estimates=estimates,
        judge=_judge(done, seed),
        further=_further(done, seed),
        classes=tuple(_class_rows(classes, done, seed)),
        reliability={
            "items": tuple(reliability([sure for _, f in done for sure in outcomes.item_confidences(f)], _BINS)),
            "impressions": tuple(
                reliability([sure for _, f in done for sure in outcomes.impression_confidences(f)], _BINS)
            ),
        },
        violations=_summed(outcomes.violations(figures) for _, figures in done),
        roles=tuple(_roles([figures for _, figures in done])),
        failures=dict(sorted(Counter(one.cell.error or "" for one in cells if one.cell.status == "failed").items())),
        wasted=_together(wasted) if wasted else None,
        total_cost_usd=_sum([figures.spent.cost_usd for figures in spending]),
        judge_cost_usd=_sum(judged) if judged else None,
        patient=_patient([f.patient for f in spending if f.patient and f.patient.model != RULES]),
    )


def _sum(costs: Sequence[float | None]) -> float | None:
    """One unknown cost makes the sum unknown."""
    return None if None in costs else statistics.rounded(sum(cost or 0.0 for cost in costs))


def _patient(played: Sequence[PatientFigure]) -> PatientFigure | None:
    if not played:
        return None
    return PatientFigure(
        model=played[0].model,
        asked=sum(one.asked for one in played),
        by_script=sum(one.by_script for one in played),
        failures=_summed(one.failures for one in played),
        spent=_together([one.spent for one in played]),
    )


def _together(spent: Sequence[SpentFigures]) -> SpentFigures:
    return SpentFigures(
        seconds=statistics.rounded(sum(one.seconds for one in spent)),
        calls=sum(one.calls for one in spent),
        prompt_tokens=total(one.prompt_tokens for one in spent),
        completion_tokens=total(one.completion_tokens for one in spent),
        cost_usd=_sum([one.cost_usd for one in spent]),
    )


Done = Sequence[tuple[str, CellFigures]]


def _done(cells: Iterable[_Entered]) -> Done:
    """With whose interview: those that were completed or stopped."""
    return [
        (one.cell.key.patient, one.figures)
        for one in cells
        if one.figures is not None and one.figures.outcome != "failed"
    ]


def _values(metric: Metric, done: Done) -> ByPatient:
    values: ByPatient = {}
    for patient, figures in done:
        value = metric.of(figures)
        if value is not None:
            values.setdefault(patient, []).append(float(value))
    return values


def _estimate(metric: Metric, done: Done, seed: int) -> Estimate | None:
    values = _values(metric, done)
    return statistics.proportion(values, seed) if metric.share else statistics.mean(values, seed)


def _kappa(done: Done, seed: int) -> Estimate | None:
    tables: dict[str, list[float]] = {}
    cells = 0
    for patient, figures in done:
        pairs = outcomes.item_pairs(figures)
        cells += bool(pairs)
        for gold, given in pairs:
            table = tables.setdefault(patient, [0.0] * LEVELS * LEVELS)
            table[gold * LEVELS + given] += 1
    return statistics.clustered(tables, statistics.quadratic_kappa, seed, cells=cells)


def _class_table(done: Done) -> list[str]:
    """Every name that is gold somewhere or was given first."""
    compared = [names for _, figures in done if (names := outcomes.names_compared(figures))]
    return sorted({gold for gold, _ in compared} | {first_or_nothing(given) for _, given in compared})


def _class_parts(names: Sequence[str], done: Done) -> tuple[dict[str, list[float]], int]:
    """By patient, for each class: hits, gold and given, one after the other."""
    place = {name: number for number, name in enumerate(names)}
    parts: dict[str, list[float]] = {}
    cells = 0
    for patient, figures in done:
        compared = outcomes.names_compared(figures)
        if compared is None:
            continue
        cells += 1
        row = parts.setdefault(patient, [0.0] * 3 * len(names))
        gold, given = place[compared[0]], place[first_or_nothing(compared[1])]
        row[len(names) + gold] += 1
        row[2 * len(names) + given] += 1
        row[gold] += gold == given
    return parts, cells


def _macro_f1(names: Sequence[str], done: Done, seed: int) -> Estimate | None:
    parts, cells = _class_parts(names, done)
    return statistics.clustered(parts, statistics.macro_f1, seed, cells=cells)


def _class_rows(names: Sequence[str], done: Done, seed: int) -> Iterable[ClassRow]:
    parts, cells = _class_parts(names, done)
    for number, name in enumerate(names):
        hits, gold, given = (int(sum(row[number + len(names) * part] for row in parts.values())) for part in range(3))
        f1 = statistics.clustered(parts, statistics.f1_of(number, len(names)), seed, cells=cells)
        patients = sum(row[len(names) + number] > 0 for row in parts.values())
        yield ClassRow(
            name=name, gold=gold, patients=patients, given=given, hits=hits, f1=_of_class(f1, gold, patients)
        )


def _of_class(f1: Estimate | None, gold: int, patients: int) -> Estimate | None:
    """Its n is that of the class. Drawing a single patient again and again would show no chance at all."""
    if f1 is None:
        return None
    return f1.model_copy(update={"cells": gold, "patients": patients, **({"interval": None} if patients < 2 else {})})


def _outcomes(cells: Sequence[_Entered]) -> Outcomes:
    done = [figures for _, figures in _done(cells)]
    stopped = [figures for figures in done if figures.outcome == "stopped"]
    completed = [figures for figures in done if figures.outcome == "completed"]
    right = sum(figures.stop_right is True for figures in stopped)
    missed = sum(figures.stop_right is False for figures in completed)
    return Outcomes(
        cells=len(cells),
        completed=len(completed),
        stopped=len(stopped),
        failed=sum(one.cell.status == "failed" for one in cells),
        waiting=sum(one.cell.status in ("queued", "running", "cancelled") for one in cells),
        stops_expected=right + missed,
        stops_right=right,
        stops_missed=missed,
        stops_wrong=sum(figures.stop_right is False for figures in stopped),
        unscored=sum(figures.judge is not None and figures.judge.status == "unscored" for figures in completed),
        not_judged=sum(figures.judge is not None and figures.judge.status == "not run" for figures in completed),
        unpriced=sum(figures.spent.cost_usd is None for figures in completed),
        uncounted=sum(figures.spent.tokens is None for figures in completed),
    )


def _judge(done: Done, seed: int) -> dict[str, Estimate | None]:
    values = _judge_values(done)
    return {criterion: statistics.mean(values[criterion], seed) for criterion in sorted(values)}


def _judge_values(done: Done) -> dict[str, ByPatient]:
    values: defaultdict[str, ByPatient] = defaultdict(dict)
    for patient, figures in done:
        for criterion, score in ((figures.judge and figures.judge.scores) or {}).items():
            values[criterion].setdefault(patient, []).append(float(score))
    return values


def _further(done: Done, seed: int) -> dict[str, Estimate | None]:
    values = _further_values(done)
    return {name: statistics.mean(values[name], seed) for name in sorted(values)}


def _further_values(done: Done) -> dict[str, ByPatient]:
    values: defaultdict[str, ByPatient] = defaultdict(dict)
    for patient, figures in done:
        for name, value in figures.metrics.items():
            if value is not None and name.partition(".")[0] in _FURTHER:
                values[name].setdefault(patient, []).append(value)
    return values


def _roles(done: Sequence[CellFigures]) -> Iterable[RoleRow]:
    for role in sorted({role for figures in done for role in figures.roles}):
        played = [figures.roles[role] for figures in done if role in figures.roles]
        yield RoleRow(
            role=role,
            asked=sum(one.asked for one in played),
            by_rules=sum(one.by_rules for one in played),
            failures=_summed(one.failures for one in played),
        )


def _summed(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for one in counts:
        total.update(one)
    return dict(sorted(total.items()))


def _pairs(spec: RunSpec, entered: Mapping[tuple[str, str], Sequence[_Entered]]) -> Iterable[Pair]:
    """By every figure that a cell has by itself."""
    labels = [entry.label for entry in spec.models]
    for mode in spec.modes:
        values = {label: _every_value(_done(entered.get((label, mode), ()))) for label in labels}
        for name in dict.fromkeys(name for of_model in values.values() for name in of_model):
            for first, second in combinations(labels, 2):
                found = statistics.paired(values[first].get(name, {}), values[second].get(name, {}), spec.seed)
                if found is not None:
                    yield Pair(metric=name, mode=mode, first=first, second=second, difference=found)


def _every_value(done: Done) -> dict[str, ByPatient]:
    """In the order of the tables."""
    judged, further = _judge_values(done), _further_values(done)
    return {
        **{metric.name: _values(metric, done) for metric in METRICS},
        **{f"{JUDGED}{criterion}": judged[criterion] for criterion in sorted(judged)},
        **{name: further[name] for name in sorted(further)},
    }
