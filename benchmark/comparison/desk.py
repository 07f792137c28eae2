"""Where a comparison is asked for, made by a worker, and looked at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache

from pydantic import TypeAdapter, ValidationError

from benchmark.comparison.ballots import BallotDesk
from benchmark.comparison.blind import blinded
from benchmark.comparison.figures import agreements, aligned
from benchmark.comparison.replay import Case, Replayer
from benchmark.comparison.types import (
    BlindOutput,
    Column,
    ColumnStage,
    ColumnState,
    Comparison,
    ReportDiff,
    RunState,
)
from benchmark.comparison.words import section_diffs
from benchmark.judge import Judge, Judgement, ToJudge, judge_of
from benchmark.snapshot import SnapshotDesk
from errors import InputError
from graph.runtime import InterviewRuntime
from instruments.tools import Diagnosis
from settings import RULES, ModelId, Settings
from storage.ballots import Ballots
from storage.comparisons import KIND, ComparisonRun, Comparisons
from storage.database import Database
from storage.jobs import Job, Jobs

MOST_MODELS = 2
"""Beside the driver."""
REPLAY_JUDGE = "replay-judge"
"""Its calls are accounted for apart from those of the report card's judge."""
GONE = "the session was stopped or deleted while it was compared: nothing was kept."


@dataclass(frozen=True)
class ComparisonDesk(BallotDesk):
    """`wake` gets the id of a job that waits for a worker; `judge` makes the judge when it is first needed."""

    jobs: Jobs
    replayer: Replayer
    judge: Callable[[], Judge]
    wake: Callable[[str], object]

    def close(self) -> None:
        """End the connections to models."""
        self.replayer.models.close()

    # ---- asking ----

    def ask(self, sha256: str, models: Sequence[str] = ()) -> str:
        """Queue a comparison of the driver and up to two models on a snapshot, and give its run's id.

        Asked the same again while it is being made, it is the same run; afterwards it is another one.
        """
        snapshot = self.snapshots.get(sha256)
        driver = snapshot.provenance.models["diagnostician"].model
        chosen = _chosen(driver, models)
        for model in chosen:
            self.replayer.models.named(model)  # what has no key is said here, and not in a column
        run_id = self.runs.open(snapshot.session_id, sha256, chosen)
        self.wake(self._queued(run_id, snapshot.session_id).id)
        return run_id

    def _queued(self, run_id: str, session_id: str) -> Job:
        return self.jobs.enqueue(KIND, run_id, session_id=session_id, asked={"run": run_id})

    def state(self, run_id: str) -> RunState:
        return _state(self.runs.get(run_id))

    def job_of(self, run_id: str) -> str:
        """The job that makes a run; one that was lost between the run and its queue is queued here."""
        run = self.runs.get(run_id)
        return run.job_id or self._queued(run.id, run.session_id).id

    def runs_of(self, session_id: str) -> list[RunState]:
        """The newest first."""
        return [_state(run) for run in self.runs.of_session(session_id)]

    # ---- making, in a worker ----

    def work(self, job_id: str) -> None:
        """Make a comparison to its end. What a killed worker had kept of it is not asked for again."""
        self.jobs.work(job_id, self._compare, failing="the comparison failed")

    def take_up(self, seconds: float) -> int:
        """Work on the runs that nobody has said anything about for so long; drop what a stop has broken off."""
        self.runs.drop_broken_off()
        waiting = self.jobs.waiting(KIND, seconds=seconds)
        for job_id in waiting:
            self.work(job_id)
        return len(waiting)

    def _compare(self, job: Job) -> None:
        run = self.runs.get(job.key)
        case = Case.of(self.snapshots.get(run.snapshot_sha256))
        kept = {column.model: column for column in self.columns(run.id) if self.replayer.has_asked(column)}
        with ThreadPoolExecutor(MOST_MODELS + 1, thread_name_prefix="column") as pool:
            made = [pool.submit(self._make, job, run, case, model, kept.get(model)) for model in run.models]
        for future in made:
            future.result()
        if not self.runs.end(run):
            raise InputError(GONE)

    def _make(self, job: Job, run: ComparisonRun, case: Case, model: str, column: Column | None = None) -> None:
        """One column, from its question to its judgement. What was kept before, as `column`, is not asked for again;
        once nothing may be kept any more, since the session was stopped, nobody is asked."""
        if column is None:
            self._tell(job, model, "asked")
            column = self.replayer.column(case, model, is_driver=model == run.models[0])
            if not self._keep(run, column):
                return
        if column.diagnosis is not None and column.judgement is None:
            self._tell(job, model, "answered")
            judged = self._judged(run, case, column.diagnosis)
            if not self._keep(run, column.model_copy(update={"judgement": judged})):
                return
        self._tell(job, model, "failed" if column.error else "done")

    def _judged(self, run: ComparisonRun, case: Case, diagnosis: Diagnosis) -> Judgement:
        """The judge is a model like those that it judges, so it is not told whose report it reads."""
        report = BlindOutput(sections=blinded(case, diagnosis, run.models)).markdown
        judgement, made = self.judge().judge(ToJudge(case.lines, report))
        if made is not None:
            self.replayer.record_calls(case.session_id, case.last_turn, REPLAY_JUDGE, made)
        return judgement

    def _keep(self, run: ComparisonRun, column: Column) -> bool:
        body = column.model_dump_json(by_alias=True).encode()
        return self.runs.keep_column(run, column.model, self.replayer.prompt_version(column.model), body)

    def _tell(self, job: Job, model: str, stage: ColumnStage) -> None:
        self.jobs.report(job.id, **{model: stage})

    # ---- looking ----

    def comparison(self, run_id: str, viewer: str | None = None) -> Comparison:
        """All there is of a run by now, with its figures; see `columns` for what a viewer's name does."""
        return compared(self.state(run_id), self.columns(run_id, viewer))


def open_desk(
    settings: Settings,
    database: Database,
    runtime: InterviewRuntime,
    wake: Callable[[str], object] = lambda _job_id: None,
) -> ComparisonDesk:
    return ComparisonDesk(
        runs=Comparisons(database),
        ballots=Ballots(database),
        snapshots=SnapshotDesk(database, runtime),
        jobs=Jobs(database),
        replayer=Replayer.of(settings, runtime.reports.record_calls),
        judge=cache(lambda: judge_of(settings)),
        wake=wake,
    )


def compared(state: RunState, columns: Sequence[Column]) -> Comparison:
    answers = [(column.model, column.diagnosis.diagnoses if column.diagnosis else None) for column in columns]
    return Comparison(
        state=state,
        columns=tuple(columns),
        impressions=aligned([impressions for _, impressions in answers]),
        agreements=agreements(answers),
        diffs=_diffs(columns),
    )


def _diffs(columns: Sequence[Column]) -> tuple[ReportDiff, ...]:
    driver = next((column for column in columns if column.is_driver and column.sections), None)
    if driver is None:
        return ()
    others = [column for column in columns if column.sections and column is not driver]
    return tuple(
        ReportDiff(left=driver.model, right=one.model, sections=section_diffs(driver.sections, one.sections))
        for one in others
    )


def _chosen(driver: str, models: Sequence[str]) -> tuple[str, ...]:
    for model in models:
        try:
            TypeAdapter(ModelId).validate_python(model)
        except ValidationError:
            raise InputError(
                f"{model!r} is no model: it must be {RULES!r} or an id such as 'openai/gpt-4.1'."
            ) from None
    chosen = (driver, *models)
    twice = [model for model in chosen if chosen.count(model) > 1]
    if twice:
        who = "is the driver, which is replayed anyway" if twice[0] == driver else "is named twice"
        raise InputError(f"{twice[0]!r} {who}: compare it with other models.")
    if len(models) > MOST_MODELS:
        raise InputError(f"the driver is compared with up to {MOST_MODELS} models, not {len(models)}.")
    return chosen


def _state(run: ComparisonRun) -> RunState:
    return RunState(
        run_id=run.id,
        session_id=run.session_id,
        snapshot_sha256=run.snapshot_sha256,
        status=run.job_status or "queued",
        error=run.error,
        columns=tuple(ColumnState(model=model, stage=run.progress.get(model, "waiting")) for model in run.models),
        asked_at=run.asked_at,
        stopped=run.stopped,
    )
