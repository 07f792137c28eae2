"""What is kept of a cell: numbers, item scores and the product's own names. No word of a patient is among them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

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


class ImpressionFigure(_Figures):
    name: str
    confidence: Confidence


class RoleFigure(_Figures):
    """How often a model was to play a role, and how often the rules had to instead."""

    asked: int
    by_rules: int
    failures: dict[str, int] = {}


class SpentFigures(_Figures):
    """`cost_usd` is None where a call's price is unknown."""

    seconds: float
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = 0.0


class JudgeFigures(_Figures):
    """`scores` is None where the verdict could not be used: unscored, which is not a zero. `spent` is None where the
    judge was not run."""

    scores: dict[str, int] | None = None
    spent: SpentFigures | None = None


class CellFigures(_Figures):
    """`stop_right` is None where nobody said what should happen. A stopped session has no snapshot, hence no more."""

    outcome: Literal["completed", "stopped"]
    stop_right: bool | None = None
    items: tuple[ItemFigure, ...] = ()
    impressions: tuple[ImpressionFigure, ...] | None = None
    gold_names: tuple[str, ...] | None = None
    metrics: dict[str, float | None] = {}
    """Those of the snapshot, by name; None where one does not apply."""
    roles: dict[str, RoleFigure] = {}
    spent: SpentFigures
    judge: JudgeFigures | None = None
    snapshot: str | None = None


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


def unplayed(roles: Mapping[str, RoleFigure]) -> str | None:
    """Why a cell is not to the model's credit: roles in which the rules did everything. Equal causes read alike."""
    missing = {
        role: figure for role, figure in sorted(roles.items()) if figure.asked and figure.by_rules == figure.asked
    }
    if not missing:
        return None
    kinds = sorted({kind for one in missing.values() for kind in one.failures})
    return f"the model gave nothing usable as {', '.join(missing)} ({', '.join(kinds) or 'no answer'})"
