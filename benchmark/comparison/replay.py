"""Asks one model for what it makes of a frozen session: the diagnostician alone, by the same words for every model."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agents.contract import AgentResult, Budget
from agents.diagnostician import diagnose_by_rules, diagnostician
from agents.models import ModelFactory
from agents.prompts import Prompt, PromptLibrary
from agents.report import ReportInput, sections
from benchmark.comparison.types import Column, Trouble
from benchmark.snapshot import FrozenLine, Snapshot
from errors import CrosscutError, StorageError
from instruments.profile import PatientProfile, SessionStatus
from instruments.tools import Diagnose, Diagnosis, ReportSection
from settings import RULES, Settings

log = logging.getLogger("crosscut.comparison")
REPLAY = "replay"
"""The agent under which a replay's calls are accounted for, apart from the session's own diagnostician."""


@dataclass(frozen=True)
class Case:
    """What every model sees (`call`), and what code needs beside it to put a report together.

    Nothing of the session's own impressions or report is in here, so nothing of them can reach a model.
    """

    call: Diagnose
    profile: PatientProfile
    lines: tuple[FrozenLine, ...]
    engines: dict[str, str]
    """Who worded the questions and scored the answers."""
    originals: Mapping[str, int] = field(default_factory=dict)
    """What was scored where a therapist corrected it."""

    @property
    def session_id(self) -> str:
        return self.profile.session_meta.session_id

    @property
    def last_turn(self) -> int:
        return self.lines[-1].turn

    @classmethod
    def of(cls, snapshot: Snapshot) -> Case:
        call = snapshot.diagnose_call()
        profile = PatientProfile(
            session_status=SessionStatus.COMPLETED,
            completed_at=snapshot.completed_at,
            transcript=call.snapshot.transcript,
            item_responses=call.snapshot.item_responses,
            symptom_summary=call.snapshot.symptom_summary,
            risk_flags=snapshot.risk_flags,
            question_state=call.snapshot.question_state,
            session_meta=snapshot.session_meta,
        )
        engines = {role: engine for role, engine in snapshot.engines.items() if role != "diagnostician"}
        return cls(call, profile, snapshot.lines, engines, {one.item_id: one.original for one in snapshot.corrections})

    def report(self, diagnosis: Diagnosis, formed_by: str) -> tuple[ReportSection, ...]:
        engines = {**self.engines, "diagnostician": formed_by}
        given = ReportInput(self.profile, diagnosis, self.call.diagnostic_mode, engines, self.originals)
        return tuple(sections(given))


@dataclass(frozen=True)
class Replayer:
    """`record_calls` accounts for every call, whatever becomes of its answer."""

    models: ModelFactory
    budget: Budget
    prompt: Prompt
    record_calls: Callable[[str, int, str, AgentResult[Any]], None]

    @classmethod
    def of(cls, settings: Settings, record_calls: Callable[[str, int, str, AgentResult[Any]], None]) -> Replayer:
        prompt = PromptLibrary(settings.crosscut_prompts).get("diagnostician")
        return cls(ModelFactory(settings), Budget.of(settings), prompt, record_calls)

    def prompt_version(self, model: str) -> str:
        """Empty for the rules, which have no prompt."""
        return "" if model == RULES else self.prompt.version

    def has_asked(self, column: Column) -> bool:
        """Whether a column was asked for in the words of this very prompt; the rules are asked in none."""
        return column.prompt_sha256 in (None, self.prompt.sha256)

    def column(self, case: Case, model: str, *, is_driver: bool = False) -> Column:
        """What goes wrong with one model is told in its column, and nobody stands in; only storage may fail."""
        began = time.monotonic()
        try:
            return _by_rules(case, is_driver, began) if model == RULES else self._by_model(case, model, is_driver)
        except StorageError:
            raise
        except Exception as error:
            log.warning("a replay failed: %s", type(error).__name__)
            told = str(error) if isinstance(error, CrosscutError) else f"the replay failed ({type(error).__name__})"
            return Column(
                model=model,
                is_driver=is_driver,
                engine="rules" if model == RULES else "llm",
                prompt_version=self.prompt_version(model) or None,
                error=told,
                seconds=time.monotonic() - began,
            )

    def _by_model(self, case: Case, model: str, is_driver: bool) -> Column:
        agent = diagnostician(self.models.named(model), self.budget, self.prompt)
        made = agent.ask_model(case.call)
        self.record_calls(case.session_id, case.last_turn, REPLAY, made)
        diagnosis = made.output
        return Column(
            model=model,
            is_driver=is_driver,
            engine="llm",
            prompt_version=made.prompt_version,
            prompt_sha256=made.prompt_sha256,
            diagnosis=diagnosis,
            sections=case.report(diagnosis, model) if diagnosis else (),
            error=None if diagnosis else _error(made),
            failures=tuple(Trouble(kind=failure.kind, reason=failure.reason) for failure in made.failures),
            tries=made.tries,
            prompt_tokens=made.prompt_tokens,
            completion_tokens=made.completion_tokens,
            cost_usd=made.cost_usd,
            seconds=made.seconds,
        )


def _by_rules(case: Case, is_driver: bool, began: float) -> Column:
    diagnosis = diagnose_by_rules(case.call)
    return Column(
        model=RULES,
        is_driver=is_driver,
        engine="rules",
        diagnosis=diagnosis,
        sections=case.report(diagnosis, RULES),
        prompt_tokens=0,
        completion_tokens=0,
        cost_usd=0.0,
        seconds=time.monotonic() - began,
    )


def _error(made: AgentResult[Diagnosis | None]) -> str:
    """The last try's trouble; reasons name rules, fields and statuses, never anybody's words."""
    last, tries = made.failures[-1], made.tries
    return f"no usable answer after {tries} {'try' if tries == 1 else 'tries'}: {last.reason} ({last.kind})"
