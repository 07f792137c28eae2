"""What the command line and the page do with runs: start, watch, take up again, cancel, delete, and read the tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from benchmark.runs.aggregate import Aggregate, aggregated
from benchmark.runs.patients import patients_of
from benchmark.runs.spec import MOST_CELLS, RunSpec, parse_spec
from errors import InputError, SettingsError
from settings import RULES, Settings
from storage.runs import Cell, Run, Runs, RunStatus

WINDOW = 256
"""So many messages of a run are on their way at a time; whoever ends a cell sends the next ones."""

Wake = Callable[[list[int]], None]


@dataclass(frozen=True)
class Progress:
    """How far a run is. `failed` cells have ended too; they are shown and not counted as anything else."""

    run_id: str
    name: str
    status: RunStatus
    total: int
    done: int
    failed: int
    running: int
    queued: int
    cancelled: int
    created_at: datetime
    finished_at: datetime | None
    owner: str | None = None

    @property
    def ended(self) -> int:
        return self.done + self.failed + self.cancelled

    @property
    def is_over(self) -> bool:
        return self.status in ("done", "cancelled")

    @property
    def seconds(self) -> float:
        return ((self.finished_at or datetime.now(UTC)) - self.created_at).total_seconds()

    def to_json_dict(self) -> dict[str, Any]:
        finished = self.finished_at.isoformat(timespec="seconds") if self.finished_at else None
        return {**vars(self), "created_at": self.created_at.isoformat(timespec="seconds"), "finished_at": finished}


class RunDesk:
    """`wake` sends messages for cells, `wake_aggregate` one for a run's tables; `delete_session` removes a session."""

    def __init__(
        self,
        settings: Settings,
        runs: Runs,
        *,
        wake: Wake,
        wake_aggregate: Callable[[str], object],
        delete_session: Callable[[str], object],
    ) -> None:
        self._settings = settings
        self._runs = runs
        self._wake = wake
        self._wake_aggregate = wake_aggregate
        self._delete_session = delete_session

    def start(self, spec: RunSpec, *, owner: str | None = None) -> str:
        """Write all cells, wake workers, and give the run's id."""
        spec = self._cast(spec)
        self._refuse_without_key(spec)
        patients = patients_of(spec)
        total = len(patients) * len(spec.models) * len(spec.modes) * spec.repeats
        if total > MOST_CELLS:
            raise InputError(f"{total:,} cells are more than the {MOST_CELLS:,} that a run may have.")
        run_id = self._runs.create(spec.name, spec.to_json_dict(), patients, spec.cells(patients), owner=owner)
        self._wake(self._runs.to_send(WINDOW))
        return run_id

    def status(self, run_id: str) -> Progress:
        return self._progress(self._runs.get(run_id))

    def list(self, *, owner: str | None = None) -> list[Progress]:
        """Newest first; those of one owner, or of everybody."""
        return [self._progress(run) for run in self._runs.newest(owner=owner)]

    def spec(self, run_id: str) -> RunSpec:
        return parse_spec(self._runs.get(run_id).spec)

    def aggregate(self, run_id: str) -> Aggregate:
        """The run's tables; of a run that is still going on, what there is so far."""
        run = self._runs.get(run_id)
        if run.status == "done" and run.aggregate is not None:
            return Aggregate.model_validate(run.aggregate)
        return aggregated(parse_spec(run.spec), self._runs.cells(run_id))

    def cells(self, run_id: str) -> Iterator[Cell]:
        """Every cell with its figures, in the order of their keys."""
        return self._runs.cells(run_id)

    def cancel(self, run_id: str) -> int:
        """Take back the cells that have not ended; how many."""
        return self._runs.cancel(run_id)

    def resume(self, run_id: str) -> int:
        """Queue again what failed or was cancelled; how many. Also sends again what a broker may have lost."""
        queued = self._runs.resume(run_id)
        self._wake(self._runs.to_send(WINDOW, again=True))
        if self._runs.get(run_id).status == "aggregating":
            self._wake_aggregate(run_id)
        return queued

    def delete(self, run_id: str) -> None:
        """The run, its figures and the sessions that it kept."""
        self._runs.cancel(run_id)
        for session_id in self._runs.sessions(run_id):
            self._delete_session(session_id)
        self._runs.delete(run_id)

    def _cast(self, spec: RunSpec) -> RunSpec:
        """Who plays the personas is settled here, whatever the settings of the machines that work on cells."""
        if spec.patient is not None or spec.answers is not None:
            return spec
        return spec.model_copy(update={"patient": self._settings.model_patient})

    def _refuse_without_key(self, spec: RunSpec) -> None:
        if spec.needs_gateway and self._settings.gateway_api_key is None:
            wanted = [entry.model for entry in spec.models if entry.model != RULES]
            wanted += [f"the patient {spec.patient}"] * spec.is_played + ["the judge"] * spec.judge
            raise SettingsError(f"GATEWAY_API_KEY is not set, and {', '.join(wanted)} needs it.")

    def _progress(self, run: Run) -> Progress:
        counts = self._runs.counts(run.id)
        return Progress(
            run.id, run.name, run.status, sum(counts.values()), counts["done"], counts["failed"], counts["running"],
            counts["queued"], counts["cancelled"], run.created_at, run.finished_at, run.owner,
        )  # fmt: skip
