"""From an interview that has ended to its figures."""

from __future__ import annotations

import time
from collections import Counter

from benchmark.runs.figures import (
    CellFigures,
    RoleFigure,
    SpentFigures,
    impression_figures,
    item_figures,
    role_figures,
    stop_right,
)
from benchmark.runs.patients import Gold
from benchmark.runs.spec import ModelEntry
from benchmark.snapshot import Snapshot, SnapshotDesk
from graph.runtime import InterviewRuntime
from graph.view import View
from instruments.profile import SessionStatus
from storage.database import Database
from storage.model_calls import ModelCalls


def measured(
    runtime: InterviewRuntime,
    database: Database,
    view: View,
    gold: Gold,
    entry: ModelEntry,
    began: float,
    *,
    judge: bool,
) -> CellFigures:
    """A completed interview gets its report, is frozen and measured; one stopped for safety is an outcome and no more."""
    if view.profile.session_status is SessionStatus.TERMINATED:
        return CellFigures(
            outcome="stopped",
            stop_right=stop_right(view, gold),
            roles=role_figures(view, entry),
            spent=_spent(database, view.session_id, time.monotonic() - began),
        )
    desk = SnapshotDesk(database, runtime)
    sha256 = desk.freeze(view.session_id)
    seconds = time.monotonic() - began
    snapshot = desk.get(sha256)
    return CellFigures(
        outcome="completed",
        stop_right=stop_right(view, gold),
        items=item_figures(view, gold),
        impressions=impression_figures(snapshot.diagnosis, snapshot.mode),
        gold_names=gold.names(snapshot.mode),
        roles={**role_figures(view, entry), **_diagnostician(snapshot, entry)},
        spent=_spent(database, view.session_id, seconds, snapshot),
        snapshot=sha256,
    )


def _diagnostician(snapshot: Snapshot, entry: ModelEntry) -> dict[str, RoleFigure]:
    calls = [call for call in snapshot.calls if call.agent == "diagnostician"]
    if "diagnostician" not in entry.roles or not calls:
        return {}
    failures = Counter(call.outcome for call in calls if call.outcome != "ok")
    by_rules = snapshot.engines["diagnostician"] != entry.model
    return {"diagnostician": RoleFigure(asked=1, by_rules=by_rules, failures=dict(sorted(failures.items())))}


def _spent(database: Database, session_id: str, seconds: float, snapshot: Snapshot | None = None) -> SpentFigures:
    spent = ModelCalls(database).spent(session_id)
    return SpentFigures(
        seconds=round(seconds, 3),
        calls=spent.calls,
        prompt_tokens=spent.prompt_tokens,
        completion_tokens=spent.completion_tokens,
        cost_usd=None if spent.cost_usd is None else float(spent.cost_usd),
    )
