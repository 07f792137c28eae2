"""What a comparison is made of; every type crosses the JSON edge."""

from __future__ import annotations

from typing import Literal

from agents.failures import FailureKind
from benchmark.judge import Judgement
from instruments.profile import Confidence, Timestamp, Wire
from instruments.tools import Diagnosis, ItemId, ReportSection
from storage.ballots import Choice
from storage.jobs import JobStatus

ColumnStage = Literal["waiting", "asked", "answered", "done", "failed"]
"""`answered`: and the judge is asked."""


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
    judgement: Judgement | None = None
    """On the conversation with this column's report; None while it is waited for, and where there is no report."""

    @property
    def markdown(self) -> str:
        return _markdown(self.sections)


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
    """How far a run is. `stopped`: its session was stopped for safety, so nothing of the run is shown."""

    run_id: str
    session_id: str
    snapshot_sha256: str
    status: JobStatus
    error: str | None = None
    columns: tuple[ColumnState, ...]
    asked_at: Timestamp
    stopped: bool = False


class Comparison(Wire):
    """A run with its columns and figures. `diffs` lead from the driver's report to each other one."""

    state: RunState
    columns: tuple[Column, ...]
    impressions: tuple[AlignedImpression, ...]
    agreements: tuple[Agreement, ...]
    diffs: tuple[ReportDiff, ...]


class BlindOutput(Wire):
    """A report, and nothing that says whose."""

    sections: tuple[ReportSection, ...]

    @property
    def markdown(self) -> str:
        return _markdown(self.sections)


class Ballot(Wire):
    """Two outputs of one run to choose from. `choice` is the voter's, once it was cast."""

    id: str
    left: BlindOutput
    right: BlindOutput
    choice: Choice | None = None

    @property
    def alike(self) -> tuple[ReportSection, ...]:
        """What both sides say, word for word."""
        return tuple(section for section in self.left.sections if section in self.right.sections)

    @property
    def are_same(self) -> bool:
        return self.left.sections == self.right.sections


class Vote(Wire):
    """`blind`: the ballot's first vote, by somebody who had not seen which model is which."""

    ballot_id: str
    choice: Choice
    blind: bool
    by: str
    at: Timestamp


class Reveal(Wire):
    """What a ballot hid, for whoever has voted."""

    ballot_id: str
    choice: Choice
    left: str
    right: str
    agreement: Agreement


class Override(Wire):
    """What a clinician prefers to all that was offered, or which column of it, and why."""

    model: str | None = None
    impression: str | None = None
    reason: str
    by: str
    at: Timestamp


class HistoryEntry(Wire):
    """A vote or an override, as it was given."""

    kind: Literal["vote", "override"]
    run_id: str
    by: str
    at: Timestamp
    vote: Vote | None = None
    left: str | None = None
    right: str | None = None
    override: Override | None = None


class PairTally(Wire):
    """Blind votes on two models, the first vote of each ballot. Votes that were not blind are counted apart."""

    first: str
    second: str
    first_wins: int = 0
    second_wins: int = 0
    ties: int = 0
    both_bad: int = 0
    not_blind: int = 0

    @property
    def votes(self) -> int:
        return self.first_wins + self.second_wins + self.ties + self.both_bad


def _markdown(sections: tuple[ReportSection, ...]) -> str:
    return "\n\n".join(f"## {section.title}\n\n{section.markdown}" for section in sections) + "\n"
