"""What is kept of a cell: numbers, item scores and the product's own names. No word of a patient is among them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from agents.contract import AgentResult
from benchmark.runs.patients import Expected
from benchmark.runs.spec import ModelEntry
from graph.state import AgentRecord
from graph.view import View
from instruments.disorders import disorders
from instruments.level1 import Score, item_number
from instruments.profile import Ambiguity, Confidence, SessionStatus
from instruments.tools import Diagnosis, DiagnosticMode
from settings import RULES

OTHER = "(another name)"
"""Stands for a name that a model made up: it might repeat what the patient said."""


class _Figures(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ItemFigure(_Figures):
    item: Annotated[int, Field(ge=1, le=23)]
    score: Score
    ambiguity: Ambiguity
    confidence: Confidence | None = None
    gold: Score | None = None
    unanswered: bool = False
    """Nobody answered, so `score` stands for nothing."""


class ImpressionFigure(_Figures):
    name: str
    confidence: Confidence


class RoleFigure(_Figures):
    """How often a model was to play a role, and how often the rules had to instead."""

    asked: int
    by_rules: int
    failures: dict[str, int] = {}


class SpentFigures(_Figures):
    """Tokens and `cost_usd` are None where those of a call are unknown: not zero."""

    seconds: float
    calls: int = 0
    prompt_tokens: int | None = 0
    completion_tokens: int | None = 0
    cost_usd: float | None = 0.0

    @property
    def tokens(self) -> int | None:
        return total((self.prompt_tokens, self.completion_tokens))


def total(parts: Iterable[int | None]) -> int | None:
    """One unknown part makes the sum unknown."""
    found = list(parts)
    known = [part for part in found if part is not None]
    return sum(known) if len(known) == len(found) else None


class JudgeFigures(_Figures):
    """`scores` is None where the verdict could not be used: unscored, which is not a zero. `spent` is None where the
    judge was not run."""

    scores: dict[str, int] | None = None
    spent: SpentFigures | None = None

    @property
    def status(self) -> Literal["scored", "unscored", "not run"]:
        return "scored" if self.scores else "unscored" if self.spent else "not run"


class PatientFigure(_Figures):
    """Who played the persona (`rules`: its script alone), how often that was asked, and how often the script stood in.

    What it took is nobody's cost who interviews.
    """

    model: str
    asked: int = 0
    by_script: int = 0
    failures: dict[str, int] = {}
    spent: SpentFigures = SpentFigures(seconds=0.0)


class ProvenanceFigure(_Figures):
    """What made a cell's figures: versions, and of the code also the SHA-256. Without a report there is no `code`.

    `library` is one SHA-256 of the books that could be cited, `embedding` the model that looks passages up, and
    `temperature` that of the cell's model.
    """

    code: str | None = None
    source: str
    metrics: str
    benchmark: str | None = None
    """The SHA-256 of the benchmark: gold, phrases, limits and the code that measures."""
    prompts: str
    library: str | None = None
    embedding: str | None = None
    temperature: str | None = None
    judge: str | None = None


class CellFigures(_Figures):
    """`stop_right` is None where nobody said what should happen. A stopped session has no snapshot, hence no more.

    Of one that failed there is what was spent on it.
    """

    outcome: Literal["completed", "stopped", "failed"]
    stop_right: bool | None = None
    items: tuple[ItemFigure, ...] = ()
    impressions: tuple[ImpressionFigure, ...] | None = None
    gold_names: tuple[str, ...] | None = None
    metrics: dict[str, float | None] = {}
    """Those of the snapshot, by name; None where one does not apply."""
    roles: dict[str, RoleFigure] = {}
    spent: SpentFigures
    judge: JudgeFigures | None = None
    patient: PatientFigure | None = None
    """None where prepared answers were given."""
    snapshot: str | None = None
    provenance: ProvenanceFigure | None = None


def failed(figures: CellFigures) -> CellFigures:
    """Nothing of it counts but the cost: the model's, and the judge's without its verdict."""
    judge = JudgeFigures(spent=figures.judge.spent) if figures.judge else None
    kept = {"roles": figures.roles, "spent": figures.spent, "patient": figures.patient}
    return CellFigures(outcome="failed", judge=judge, provenance=figures.provenance, **kept)


def stop_right(view: View, expected: Expected) -> bool | None:
    if expected.stops is None:
        return None
    return expected.stops == (view.profile.session_status is SessionStatus.TERMINATED)


def item_figures(view: View, expected: Expected) -> tuple[ItemFigure, ...]:
    """As scored; gold beside it where there is some."""
    return tuple(
        ItemFigure(
            item=item_number(response.item_id),
            score=response.score,
            ambiguity=response.ambiguity,
            confidence=response.confidence,
            gold=(expected.scores or {}).get(item_number(response.item_id)),
            unanswered=view.records[item_number(response.item_id)].unanswered,
        )
        for response in view.profile.item_responses
    )


def impression_figures(diagnosis: Diagnosis, mode: DiagnosticMode) -> tuple[ImpressionFigure, ...] | None:
    """The names in their order; None in a mode that names none."""
    if mode == "screening":
        return None
    known = {*disorders().categories, *(disorder.name for disorder in disorders().disorders)}
    return tuple(
        ImpressionFigure(name=one.name if one.name in known else OTHER, confidence=one.confidence)
        for one in diagnosis.diagnoses
    )


def role_figures(view: View, entry: ModelEntry) -> dict[str, RoleFigure]:
    """Of the roles that are played turn by turn; the diagnostician's comes with the report."""
    if entry.model == RULES:
        return {}
    played: dict[str, list[AgentRecord]] = {
        "interviewer": list(view.wordings.values()),
        "scorer": [record for record in view.records.values() if not record.unanswered],
    }
    return {role: _of_records(records) for role, records in played.items() if role in entry.roles and records}


def _of_records(records: Iterable[AgentRecord]) -> RoleFigure:
    failures: dict[str, int] = {}
    asked = by_rules = 0
    for record in records:
        asked += 1
        by_rules += record.engine == "rules"
        for failure in record.failures:
            failures[failure.kind] = failures.get(failure.kind, 0) + 1
    return RoleFigure(asked=asked, by_rules=by_rules, failures=dict(sorted(failures.items())))


def patient_figure(model: str, made: Sequence[AgentResult[Any]]) -> PatientFigure:
    cost = [result.cost_usd for result in made]
    return PatientFigure(
        model=model,
        asked=len(made),
        by_script=sum(result.engine == "rules" for result in made),
        failures=dict(sorted(Counter(failure.kind for result in made for failure in result.failures).items())),
        spent=SpentFigures(
            seconds=round(sum(result.seconds for result in made), 3),
            calls=sum(result.tries for result in made),
            prompt_tokens=total(call.prompt_tokens for result in made for call in result.calls),
            completion_tokens=total(call.completion_tokens for result in made for call in result.calls),
            cost_usd=None if None in cost else sum(one or 0.0 for one in cost),
        ),
    )


def problem_of(roles: Mapping[str, RoleFigure], patient: PatientFigure | None) -> str | None:
    """Why a cell has failed although its interview ended; None where it has not."""
    return _unplayed(roles) or _unacted(patient)


def _unacted(patient: PatientFigure | None) -> str | None:
    """Why a cell is not what was asked for: its persona was to be played by a model and spoke by its script."""
    if patient is None or not patient.asked or patient.by_script < patient.asked:
        return None
    return f"the patient's model gave nothing usable ({', '.join(patient.failures)})"


def _unplayed(roles: Mapping[str, RoleFigure]) -> str | None:
    """Why a cell is not to the model's credit: roles in which the rules did everything. Equal causes read alike."""
    missing = {
        role: figure for role, figure in sorted(roles.items()) if figure.asked and figure.by_rules == figure.asked
    }
    if not missing:
        return None
    kinds = sorted({kind for one in missing.values() for kind in one.failures})
    return f"the model gave nothing usable as {', '.join(missing)} ({', '.join(kinds) or 'no answer'})"
