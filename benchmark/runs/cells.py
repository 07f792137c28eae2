"""Works on cells: takes one under a lease, holds its interview, measures it, enters its figures once.

While an interview is held, a thread of its own renews the lease. A worker that is killed renews nothing, so somebody
else takes the cell and begins it anew: an interview that was held in one piece is what the seconds are about.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any

from agents.contract import AgentResult
from benchmark.acting import Actor, Record, actor_of, recording
from benchmark.judge import judge_of
from benchmark.runs.figures import CellFigures, failed, problem_of
from benchmark.runs.measuring import Held, measured
from benchmark.runs.patients import Patient, cell_seed, load_patient
from benchmark.runs.spec import ModelEntry, RunSpec, parse_spec
from errors import CrosscutError, NotFoundError, StorageError, UnrecordedStop
from graph.assembly import build_runtime
from graph.conversation import Reply, converse
from graph.runtime import InterviewRuntime
from graph.view import View
from instruments.tools import DiagnosticMode
from settings import RULES, Settings
from storage.database import Database, is_of_database
from storage.runs import Claim, Runs

MOST_TRIES = 5
"""A cell that ends whoever works on it is not given to one worker after the other for ever."""
LIFETIME = timedelta(days=1)
_MODELS_AT_HAND = 8


class _Lost(Exception):
    """The cell is somebody else's, or nobody wants it any more."""


class CellRunner:
    """One process's desk for cells. `database` keeps runs and figures; `scratch` the sessions, which can be had again.

    `on_last` is told the run whose last cell has just been entered.
    """

    def __init__(
        self, settings: Settings, database: Database, scratch: Database, on_last: Callable[[str], object]
    ) -> None:
        self._settings = settings
        self._runs = Runs(database)
        self._scratch = scratch
        self._on_last = on_last
        self._casts: dict[tuple[tuple[str, str], ...], tuple[InterviewRuntime, Actor | None]] = {}
        self._specs: dict[str, RunSpec] = {}

    def close(self) -> None:
        for runtime, _ in self._casts.values():
            runtime.close()

    def run(self, cell_id: int) -> bool:
        """Work on a cell if there is anything to do; whether its outcome was entered here."""
        claim = self._runs.claim(cell_id, self._settings.crosscut_lease_seconds)
        if claim is None:
            return False
        if claim.tries > MOST_TRIES:
            return self._entered(claim, None, f"{MOST_TRIES} workers ended while they worked on it")
        try:
            with self._renewed(claim) as is_lost:
                figures = self._held(claim, is_lost)
        except _Lost:
            return False
        except (StorageError, UnrecordedStop):
            self._give_back(claim)
            raise
        except CrosscutError as error:
            return self._entered(claim, None, str(error))
        except Exception as error:  # its message might repeat a patient's words
            if is_of_database(error):
                self._give_back(claim)
                raise
            return self._entered(claim, None, f"unexpected {type(error).__name__}")
        problem = problem_of(figures.roles, figures.patient)
        return self._entered(claim, failed(figures) if problem else figures, problem)

    def _entered(self, claim: Claim, figures: CellFigures | None, error: str | None) -> bool:
        outcome = self._runs.finish(claim, figures.model_dump(mode="json") if figures else None, error=error)
        if outcome == "last":
            self._on_last(claim.run_id)
        return outcome != "lost"

    def _give_back(self, claim: Claim) -> None:
        with suppress(StorageError):  # without a database the lease will end by itself
            self._runs.give_back(claim)

    def _held(self, claim: Claim, is_lost: threading.Event) -> CellFigures:
        spec = self._spec(claim.run_id)
        entry = spec.entry(claim.key.model)
        runtime, actor = self._playing(entry, spec.patient or RULES)
        if claim.left_over:
            _discard(runtime, claim.left_over)
        patient = load_patient(claim.key.patient, self._runs.answers(claim.run_id, claim.key.patient))
        seed = cell_seed(spec.seed, patient.id, claim.key.repeat)
        began = time.monotonic()
        view = self._begun(runtime, claim, patient, seed, keep=spec.keep)
        try:
            acted: list[AgentResult[Any]] = []
            reply = patient.reply(seed, actor, _noting(acted, recording(runtime)))
            view = converse(runtime, view, _attentive(reply, is_lost))
            judge = judge_of(self._settings) if spec.judge else None
            held = Held(view, patient, entry, began, (spec.patient or RULES) if patient.persona else None, acted)
            return measured(held, runtime, self._scratch, judge)
        except NotFoundError:
            if is_lost.is_set() or not self._runs.keep(claim, self._settings.crosscut_lease_seconds):
                raise _Lost from None  # whoever has the cell now removed this session
            raise
        finally:
            if not spec.keep or is_lost.is_set():
                _discard(runtime, view.session_id)

    def _begun(self, runtime: InterviewRuntime, claim: Claim, patient: Patient, seed: int, *, keep: bool) -> View:
        mode: DiagnosticMode = claim.key.mode  # type: ignore[assignment]  # the table takes no other
        lifetime = None if keep else LIFETIME
        view = runtime.start(mode=mode, persona=patient.persona, seed=seed, origin="batch", lifetime=lifetime)
        if not self._runs.attach(claim, view.session_id):
            _discard(runtime, view.session_id)
            raise _Lost
        return view

    @contextmanager
    def _renewed(self, claim: Claim) -> Iterator[threading.Event]:
        """Renews the lease until the block ends; the event is set once the cell is no longer ours."""
        lost, done = threading.Event(), threading.Event()
        seconds = self._settings.crosscut_lease_seconds

        def renew() -> None:
            while not done.wait(seconds / 4) and not lost.is_set():
                with suppress(StorageError):  # it may be back in time
                    if not self._runs.keep(claim, seconds):
                        lost.set()

        thread = threading.Thread(target=renew, name=f"cell-{claim.cell_id}", daemon=True)
        thread.start()
        try:
            yield lost
        finally:
            done.set()
            thread.join()

    def _spec(self, run_id: str) -> RunSpec:
        if run_id not in self._specs:
            self._specs = {run_id: parse_spec(self._runs.get(run_id).spec)}  # one at a time: runs come in their order
        return self._specs[run_id]

    def _playing(self, entry: ModelEntry, patient: str) -> tuple[InterviewRuntime, Actor | None]:
        """Who holds the interview, and who plays the persona."""
        models = {**entry.settings, "model_patient": patient}
        key = tuple(sorted(models.items()))
        if key not in self._casts:
            if len(self._casts) >= _MODELS_AT_HAND:
                self._casts.pop(next(iter(self._casts)))[0].close()
            settings = _with_models(self._settings, models)
            self._casts[key] = build_runtime(settings, self._scratch), actor_of(settings)
        return self._casts[key]


def _with_models(settings: Settings, models: dict[str, str]) -> Settings:
    """The same settings with other models; a mere copy would keep what was computed from the old ones."""
    given = {name: getattr(settings, name) for name in Settings.model_fields}
    return Settings(_env_file=None, **{**given, **models})


def _noting(acted: list[AgentResult[Any]], record: Record) -> Record:
    def noted(view: View, made: AgentResult[Any]) -> None:
        acted.append(made)
        record(view, made)

    return noted


def _attentive(reply: Reply, is_lost: threading.Event) -> Reply:
    def attended(view: View) -> str:
        if is_lost.is_set():
            raise _Lost
        return reply(view)

    return attended


def _discard(runtime: InterviewRuntime, session_id: str) -> None:
    with suppress(NotFoundError):
        runtime.delete(session_id)
