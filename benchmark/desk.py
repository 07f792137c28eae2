"""Report cards: what can be had at once is computed, what takes long is a job for a worker, all of it is kept."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal, get_args

from agents.contract import AgentResult
from benchmark.card import Card, card_of, core_of
from benchmark.judge import JUDGE, Judge, Judgement, judge_of
from benchmark.making import benchmark_digest
from benchmark.metrics import VERSION, Metric, deterministic
from benchmark.metrics.bertscore import Scorer, bertscore, scorer
from benchmark.snapshot import Snapshot, SnapshotDesk
from errors import InputError
from graph.runtime import InterviewRuntime
from settings import Settings
from storage.database import Database
from storage.jobs import Job, Jobs
from storage.results import Results

KIND = "benchmark"
LongSet = Literal["judge", "bertscore"]
LONG_SETS: tuple[LongSet, ...] = get_args(LongSet)
_INSIDE: tuple[LongSet, ...] = ("bertscore",)
"""Those that are computed on this machine."""
_AT_ONCE = "deterministic"
MOST_TRIES = 5
"""What ends its worker each time is not given to one after the other for ever."""


@dataclass(frozen=True)
class BenchmarkDesk:
    snapshots: SnapshotDesk
    results: Results
    jobs: Jobs
    judge: Judge
    record_calls: Callable[[str, int, str, AgentResult[Any]], None]
    scorer: Callable[[], Scorer]
    bertscore_version: str

    def freeze(self, session_id: str, revision: int | None = None) -> str:
        return self.snapshots.freeze(session_id, revision)

    def request_card(self, session_id: str) -> list[Job]:
        """Freeze a completed session's newest report and queue what its card takes; refuses a stopped session.

        Not the judge's opinion: no conversation is sent anywhere before somebody wants to see the card.
        """
        return self.request(self.freeze(session_id), only=_INSIDE)

    def request(self, sha256: str, *, again: bool = False, only: Collection[LongSet] = LONG_SETS) -> list[Job]:
        """Queue what of a card is not there yet, and give what is to be sent to a worker.

        What failed is tried again only when that is asked for, and then what is there already is made anew.
        """
        session_id = self.snapshots.get(sha256).session_id
        queued = []
        for name in (name for name in self._long_sets() if name in only):
            known = self.jobs.find(KIND, self._key(sha256, name))
            if again or (known is None and self._result(sha256, name) is None):
                asked = {"snapshot": sha256, "set": name}
                key = self._key(sha256, name)
                queued.append(self.jobs.enqueue(KIND, key, session_id=session_id, asked=asked, again=True))
            elif known is not None and known.status == "queued":
                queued.append(known)
        return queued

    def card(self, sha256: str) -> Card:
        """The card as far as it is; refuses once the session was stopped."""
        snapshot = self.snapshots.get(sha256)
        core = core_of(snapshot, self.measured(snapshot))
        found = {name: self._result(sha256, name) for name in self._long_sets()}
        states = {name: self.jobs.find(KIND, self._key(sha256, name)) for name, body in found.items() if body is None}
        judged, alike = found.get("judge"), found["bertscore"]
        return card_of(
            core,
            self._judgement(judged),
            _metrics(alike) if alike else None,
            pending=[name for name, job in states.items() if job is None or job.status in _OPEN],
            failed={name: job.error or job.status for name, job in states.items() if job and job.status in _ENDED},
        )

    def under_way(self, sha256: str) -> dict[LongSet, Job | None]:
        """What a card still waits for, each with its job, as `card` has it; cheap, for whoever asks often."""
        missing = [name for name in self._long_sets() if self._result(sha256, name) is None]
        jobs = {name: self.jobs.find(KIND, self._key(sha256, name)) for name in missing}
        return {name: job for name, job in jobs.items() if job is None or job.status in _OPEN}

    def measured(self, snapshot: Snapshot) -> tuple[Metric, ...]:
        """The metrics that need no worker, computed once by this benchmark: its gold and limits are not the next's."""
        sha256, version = snapshot.sha256, f"{VERSION}+{benchmark_digest()}"
        if known := self.results.get(sha256, _AT_ONCE, version):
            return _metrics(known)
        made = deterministic(snapshot)
        self.results.put(sha256, _AT_ONCE, version, _body(made))
        return made

    def run(self, job_id: str) -> None:
        """Work on a job to its end. A session stopped meanwhile leaves no result."""
        self.jobs.work(job_id, self._tried_again, failing="measuring failed")

    def _tried_again(self, job: Job) -> None:
        self._try_again(job)
        self._work(job)

    def _work(self, job: Job) -> None:
        name: LongSet = job.asked["set"]
        sha256 = job.asked["snapshot"]
        snapshot = self.snapshots.get(sha256)
        body = self._judged(snapshot) if name == "judge" else self._alike(snapshot, job)
        self.results.put(sha256, name, self._version(name), body)

    def _judged(self, snapshot: Snapshot) -> dict[str, Any]:
        judgement, made = self.judge.of(snapshot)
        if made is None:
            raise InputError("the judge has no key any more, so it was not run.")
        self.record_calls(snapshot.session_id, snapshot.lines[-1].turn, JUDGE, made)
        return judgement.to_json_dict()

    def _alike(self, snapshot: Snapshot, job: Job) -> dict[str, Any]:
        return _body(bertscore(snapshot, self.scorer(), lambda done, of: self.jobs.report(job.id, done=done, of=of)))

    def _try_again(self, job: Job) -> None:
        tries = job.progress.get("tries", 0)
        if tries >= MOST_TRIES:
            raise InputError(f"{tries} workers ended while they worked on this, so it is not tried again by itself.")
        self.jobs.report(job.id, tries=tries + 1, since=datetime.now(UTC).isoformat(timespec="seconds"))

    def _long_sets(self) -> tuple[LongSet, ...]:
        """Without a key there is no judge to wait for."""
        return LONG_SETS if self.judge.agent else ("bertscore",)

    def _judgement(self, body: dict[str, Any] | None) -> Judgement | None:
        if self.judge.agent is None:
            return Judgement(status="not run")
        return Judgement.model_validate(body) if body else None

    def _result(self, sha256: str, name: LongSet) -> dict[str, Any] | None:
        return self.results.get(sha256, name, self._version(name))

    def _key(self, sha256: str, name: LongSet) -> str:
        return f"{sha256}:{name}:{self._version(name)}"

    def _version(self, name: LongSet) -> str:
        return self.judge.version if name == "judge" else self.bertscore_version


_OPEN = ("queued", "running")
_ENDED = ("failed", "cancelled")


def open_benchmark(settings: Settings, database: Database, runtime: InterviewRuntime) -> BenchmarkDesk:
    """The scorer is made when it is needed: its library takes seconds to load."""
    model = settings.bertscore_model
    return BenchmarkDesk(
        SnapshotDesk(database, runtime),
        Results(database),
        Jobs(database),
        judge_of(settings),
        runtime.reports.record_calls,
        partial(scorer, model),
        f"{VERSION}+{model}" if model else VERSION,
    )


def _body(metrics: tuple[Metric, ...]) -> dict[str, Any]:
    return {"metrics": [metric.to_json_dict() for metric in metrics]}


def _metrics(body: dict[str, Any]) -> tuple[Metric, ...]:
    return tuple(Metric.model_validate(one) for one in body["metrics"])
