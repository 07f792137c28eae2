"""From an interview that has ended to its figures."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agents.contract import AgentResult
from agents.models import temperature_of
from benchmark.judge import CRITERIA, JUDGE, Judge
from benchmark.making import benchmark_digest
from benchmark.metrics import VERSION, deterministic
from benchmark.runs.figures import (
    CellFigures,
    JudgeFigures,
    PatientFigure,
    ProvenanceFigure,
    RoleFigure,
    SpentFigures,
    impression_figures,
    item_figures,
    patient_figure,
    problem_of,
    role_figures,
    stop_right,
)
from benchmark.runs.patients import Patient
from benchmark.runs.spec import ModelEntry
from benchmark.snapshot import Snapshot, SnapshotDesk
from graph.basis import INTERVIEW_AGENTS
from graph.provenance import source_digest
from graph.runtime import InterviewRuntime
from graph.view import View
from instruments.profile import SessionStatus
from settings import RULES
from storage.database import Database
from storage.library import Library
from storage.model_calls import ModelCalls
from storage.snapshots import address

INTERVIEW = (*INTERVIEW_AGENTS, "diagnostician")
"""Whose calls a cell's model is charged with."""
NO_BOOK = "no book in the library"


@dataclass(frozen=True)
class Held:
    """An interview that has ended, and when it began on the clock that only goes forward."""

    view: View
    patient: Patient
    entry: ModelEntry
    began: float
    actor: str | None = None
    """Who played the persona; None where nobody was to."""
    acted: Sequence[AgentResult[Any]] = ()

    @property
    def seconds(self) -> float:
        """Without what was spent waiting for the patient's answers."""
        return time.monotonic() - self.began - sum(made.seconds for made in self.acted)

    @property
    def patient_figure(self) -> PatientFigure | None:
        return patient_figure(self.actor, self.acted) if self.actor else None


def measured(held: Held, runtime: InterviewRuntime, database: Database, judge: Judge | None = None) -> CellFigures:
    """A completed interview gets its report, is frozen and measured; of one that was stopped, there is no more."""
    view, expected = held.view, held.patient.expected
    if view.profile.session_status is SessionStatus.TERMINATED:
        return CellFigures(
            outcome="stopped",
            stop_right=stop_right(view, expected),
            roles=role_figures(view, held.entry),
            spent=_spent(database, view.session_id, held.seconds),
            patient=held.patient_figure,
            provenance=_provenance(held, database),
        )
    desk = SnapshotDesk(database, runtime)
    sha256 = desk.freeze(view.session_id)
    spent = _spent(database, view.session_id, held.seconds)
    snapshot = desk.get(sha256)
    gold = expected.gold(snapshot.mode, held.patient.id)
    roles = {**role_figures(view, held.entry), **_diagnostician(snapshot, held.entry)}
    if problem_of(roles, held.patient_figure):
        judge = None  # it fails, so nobody pays for a verdict on it
    return CellFigures(
        outcome="completed",
        stop_right=stop_right(view, expected),
        items=item_figures(view, expected),
        impressions=impression_figures(snapshot.diagnosis, snapshot.mode),
        gold_names=expected.names(snapshot.mode),
        metrics={metric.name: metric.value for metric in deterministic(snapshot, gold)},
        roles=roles,
        spent=spent,
        judge=_judged(judge, snapshot, runtime, database) if judge else None,
        patient=held.patient_figure,
        snapshot=sha256,
        provenance=_provenance(held, database, snapshot, judge),
    )


def _provenance(
    held: Held, database: Database, snapshot: Snapshot | None = None, judge: Judge | None = None
) -> ProvenanceFigure:
    meta = held.view.profile.session_meta
    models = dict(part.split("=", 1) for part in meta.model_version.split())
    return ProvenanceFigure(
        code=snapshot.provenance.code_version if snapshot else None,
        source=snapshot.provenance.source_sha256 if snapshot else source_digest(),
        metrics=VERSION,
        benchmark=benchmark_digest(),
        prompts=meta.prompt_version,
        library=_library(database),
        embedding=models.get("embedding"),
        temperature=_temperature(held.entry.model),
        judge=judge.version if judge else None,
    )


def _library(database: Database) -> str:
    books = Library(database).contents()
    return address(books) if books else NO_BOOK


def _temperature(model: str) -> str | None:
    if model == RULES:
        return None
    sent = temperature_of(model)
    return f"{model}: its own, none is sent" if sent is None else f"{model}: {sent:g}"


def _diagnostician(snapshot: Snapshot, entry: ModelEntry) -> dict[str, RoleFigure]:
    calls = [call for call in snapshot.calls if call.agent == "diagnostician"]
    if "diagnostician" not in entry.roles or not calls:
        return {}
    failures = Counter(call.outcome for call in calls if call.outcome != "ok")
    by_rules = snapshot.engines["diagnostician"] != entry.model
    return {"diagnostician": RoleFigure(asked=1, by_rules=by_rules, failures=dict(sorted(failures.items())))}


def _judged(judge: Judge, snapshot: Snapshot, runtime: InterviewRuntime, database: Database) -> JudgeFigures:
    """Scores without the notes, which may quote the patient. What the judge costs is not the model's cost."""
    judgement, made = judge.of(snapshot)
    if made is None:
        return JudgeFigures()
    runtime.reports.record_calls(snapshot.session_id, snapshot.lines[-1].turn, JUDGE, made)
    scores = {name: getattr(judgement.verdict, name).score for name in CRITERIA} if judgement.verdict else None
    return JudgeFigures(scores=scores, spent=_spent(database, snapshot.session_id, made.seconds, (JUDGE,)))


def _spent(database: Database, session_id: str, seconds: float, agents: tuple[str, ...] = INTERVIEW) -> SpentFigures:
    spent = ModelCalls(database).spent(session_id, agents)
    return SpentFigures(
        seconds=round(seconds, 3),
        calls=spent.calls,
        prompt_tokens=spent.prompt_tokens,
        completion_tokens=spent.completion_tokens,
        cost_usd=None if spent.cost_usd is None else float(spent.cost_usd),
    )
