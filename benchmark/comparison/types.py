"""What a comparison is made of; every type crosses the JSON edge."""

from __future__ import annotations

from typing import Literal

from agents.failures import FailureKind
from instruments.profile import Confidence, Timestamp, Wire
from instruments.tools import Diagnosis, DiagnosticMode, ItemId, ReportSection

ColumnStage = Literal["waiting", "asked", "judged", "done", "failed"]
Choice = Literal["left", "right", "tie", "both_bad"]


class Trouble(Wire):
    """One try of a model that gave nothing usable."""

    kind: FailureKind
    reason: str


class Column(Wire):
    """What one model made of the snapshot. Where it failed there is an error and no diagnosis; nobody stands in."""

    model: str
    is_driver: bool
    engine: Literal["llm", "rules"]
    prompt_version: str | None = None
    prompt_sha256: str | None = None
    diagnosis: Diagnosis | None = None
    sections: tuple[ReportSection, ...] = ()
    error: str | None = None
    failures: tuple[Trouble, ...] = ()
    tries: int = 0
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = None
    seconds: float = 0.0

    @property
    def markdown(self) -> str:
        return "\n\n".join(f"## {section.title}\n\n{section.markdown}" for section in self.sections) + "\n"


class Cell(Wire):
    """An impression as one column has it; the likeliest has rank 1."""

    rank: int
    confidence: Confidence
    citations: tuple[str, ...] = ()
    item_ids: tuple[ItemId, ...] = ()


class AlignedImpression(Wire):
    """One name, with its cell in each column, in the columns' order."""

    name: str
    cells: tuple[Cell | None, ...]


class Overlap(Wire):
    k: int
    jaccard: float | None


class Agreement(Wire):
    """How far two columns agree; None is unknown."""

    left: str
    right: str
    shared: int
    overlaps: tuple[Overlap, ...]
    rank_agreement: float | None
    confidence_drift: float | None


class Run(Wire):
    """Some words in a row: in both texts, only in the second, or only in the first."""

    kind: Literal["same", "added", "removed"]
    text: str


class SectionDiff(Wire):
    title: str
    runs: tuple[Run, ...]


class ReportDiff(Wire):
    """From the report of `left` to that of `right`."""

    left: str
    right: str
    sections: tuple[SectionDiff, ...]


class ColumnState(Wire):
    model: str
    stage: ColumnStage


class RunState(Wire):
    """How far a run is. `stopped`: its session was stopped for safety, since or meanwhile."""

    run_id: str
    session_id: str
    snapshot_sha256: str
    mode: DiagnosticMode | None = None
    status: Literal["queued", "running", "done", "failed", "cancelled"]
    error: str | None = None
    columns: tuple[ColumnState, ...]
    asked_at: Timestamp
    stopped: bool = False
