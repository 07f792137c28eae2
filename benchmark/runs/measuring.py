"""From an interview that has ended to its figures."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass

from benchmark.judge import CRITERIA, JUDGE, Judge
from benchmark.metrics import deterministic
from benchmark.runs.figures import (
    CellFigures,
    JudgeFigures,
    RoleFigure,
    SpentFigures,
    impression_figures,
    item_figures,
    role_figures,
    stop_right,
)
from benchmark.runs.patients import Patient
from benchmark.runs.spec import ModelEntry
from benchmark.snapshot import Snapshot, SnapshotDesk
from graph.basis import INTERVIEW_AGENTS
from graph.runtime import InterviewRuntime
from graph.view import View
from instruments.profile import SessionStatus
from storage.database import Database
from storage.model_calls import ModelCalls

INTERVIEW = (*INTERVIEW_AGENTS, "diagnostician")
"""Whose calls a cell's model is charged with."""


@dataclass(frozen=True)
class Held:
    """An interview that has ended, and when it began on the clock that only goes forward."""

    view: View
    patient: Patient
    entry: ModelEntry
    began: float

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began


def measured(held: Held, runtime: InterviewRuntime, database: Database, judge: Judge | None = None) -> CellFigures:
    """A completed interview gets its report, is frozen and measured; of one that was stopped, there is no more."""
    view, expected = held.view, held.patient.expected
    if view.profile.session_status is SessionStatus.TERMINATED:
        return CellFigures(
            outcome="stopped",
            stop_right=stop_right(view, expected),
            roles=role_figures(view, held.entry),
            spent=_spent(database, view.session_id, held.seconds),
        )
    desk = SnapshotDesk(database, runtime)
    sha256 = desk.freeze(view.session_id)
    spent = _spent(database, view.session_id, held.seconds)
    snapshot = desk.get(sha256)
    gold = expected.gold(snapshot.mode, held.patient.id)
    return CellFigures(
        outcome="completed",
        stop_right=stop_right(view, expected),
        items=item_figures(view, expected),
        impressions=impression_figures(snapshot.diagnosis, snapshot.mode),
        gold_names=expected.names(snapshot.mode),
        metrics={metric.name: metric.value for metric in deterministic(snapshot, gold)},
        roles={**role_figures(view, held.entry), **_diagnostician(snapshot, held.entry)},
        spent=spent,
        judge=_judged(judge, snapshot, runtime, database) if judge else None,
        snapshot=sha256,
    )


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
