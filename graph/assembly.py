"""Puts the product together once per process: servers, database, agents and the runtime."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from agents.contract import Agent, AgentResult, Budget
from agents.diagnostician import diagnostician
from agents.escalation import escalation
from agents.interviewer import Draft, QuestionBrief, interviewer
from agents.models import ChatClient, ModelFactory
from agents.patient import PATIENT
from agents.prompts import PromptLibrary
from agents.risk.checker import RiskChecker
from agents.scorer import AnswerToScore, ItemScore, scorer
from graph.casting import CHOSEN_ROLES, Casting
from graph.checkpoints import SealedSaver
from graph.interview import CallRecorder, InterviewAgents
from graph.provenance import provenance_of
from graph.runtime import InterviewRuntime
from graph.safety import SafetyDesk
from graph.threads import Versions
from instruments.tools import Diagnose, Diagnosis
from rag.embedding import embedder
from rag.retrieval import PassageRetriever
from settings import Settings
from storage import migrate
from storage.audit import Audit
from storage.crypto import Vault, load_vault
from storage.database import Database
from storage.embedded import Services, services
from storage.library import Library
from storage.model_calls import ModelCall, ModelCalls
from storage.sessions import Sessions
from storage.spool import Spool

_PROMPTS = ("interviewer", "scorer", "risk", "diagnostician")
"""Of those who hold interviews; a persona's own, where a model plays it, comes with the provenance."""


@dataclass(frozen=True)
class Workbench:
    """One process's hold on everything."""

    settings: Settings
    services: Services
    database: Database
    runtime: InterviewRuntime


@contextmanager
def open_workbench(settings: Settings) -> Iterator[Workbench]:
    """Attach to the servers (or start them), bring the schema up to date and build the runtime."""
    with services(settings) as running:
        vault = load_vault(settings)
        prepare_database(running.database_url, vault)
        with connected(settings, running.database_url, vault) as (database, runtime):
            yield Workbench(settings, running, database, runtime)


@contextmanager
def connected(settings: Settings, url: str, vault: Vault) -> Iterator[tuple[Database, InterviewRuntime]]:
    """A database and a runtime on servers that somebody else keeps running."""
    with Database(url, vault) as database:
        runtime = build_runtime(settings, database)
        try:
            yield database, runtime
        finally:
            runtime.close()


def prepare_database(url: str, vault: Vault) -> None:
    """Our tables by Alembic, the checkpoint tables by LangGraph's own set-up; several processes may call it at once."""
    with migrate.exclusive(url):
        migrate.upgrade(url, vault)
        with Database(url, vault, size=1) as database:
            Audit(database).adopt()
            SealedSaver(database).setup()


def build_runtime(settings: Settings, database: Database) -> InterviewRuntime:
    models, budget = ModelFactory(settings), Budget.of(settings)
    prompts = PromptLibrary(settings.crosscut_prompts)
    words = escalation(settings.crosscut_locale)
    spool = Spool(settings.crosscut_home, database.vault)
    spool.prepare()
    engines = _Engines(budget, prompts)
    casting = Casting(Sessions(database), settings.crosscut_locale, lambda model: engines.all_by(models.named(model)))
    desk = SafetyDesk(database, words, spool, casting.words)
    agents = InterviewAgents(
        interviewer=engines.interviewer(models.chat("interviewer")),
        scorer=engines.scorer(models.chat("scorer")),
        risk=RiskChecker(models.chat("risk"), budget, prompts.get("risk")),
        script=words.script,
        follow_up_threshold=settings.follow_up_threshold,
        diagnostician=engines.diagnostician(models.chat("diagnostician")),
        retriever=PassageRetriever(Library(database), embedder(settings)),
        record_calls=_recorder(ModelCalls(database)),
        record_check=desk.record,
        record_signal=desk.record_signal,
        cast=casting,
    )
    return InterviewRuntime(database, agents, _versions(settings, prompts), desk)


@dataclass(frozen=True)
class _Engines:
    budget: Budget
    prompts: PromptLibrary

    def interviewer(self, client: ChatClient | None) -> Agent[QuestionBrief, Draft]:
        return interviewer(client, self.budget, self.prompts.get("interviewer"))

    def scorer(self, client: ChatClient | None) -> Agent[AnswerToScore, ItemScore]:
        return scorer(client, self.budget).with_prompt(self.prompts.get("scorer"))

    def diagnostician(self, client: ChatClient | None) -> Agent[Diagnose, Diagnosis]:
        return diagnostician(client, self.budget, self.prompts.get("diagnostician"))

    def all_by(self, client: ChatClient | None) -> dict[str, Any]:
        return {role: getattr(self, role)(client) for role in CHOSEN_ROLES}


def _versions(settings: Settings, library: PromptLibrary) -> Versions:
    prompts = [library.get(name) for name in _PROMPTS]
    playing = {role: model for role, model in settings.models.items() if role != PATIENT}
    return Versions(
        model=_named(playing),
        prompt=" ".join(f"{p.name}@{p.version}+{p.sha256[:12]}" for p in prompts),
        provenance=provenance_of(settings, [*prompts, library.get(PATIENT)]),
        driven_by=lambda model: _named({**playing, **dict.fromkeys(CHOSEN_ROLES, model)}),
        patient=settings.model_patient,
    )


def _named(models: dict[str, str]) -> str:
    return " ".join(f"{role}={model}" for role, model in sorted(models.items()))


def _recorder(store: ModelCalls) -> CallRecorder:
    def record(session_id: str, turn: int, agent: str, result: AgentResult[Any]) -> None:
        store.add(
            [
                ModelCall(
                    session_id=session_id,
                    turn=turn,
                    agent=agent,
                    attempt=number,
                    model=call.model,
                    prompt_version=result.prompt_version or "",
                    prompt_sha256=result.prompt_sha256 or "",
                    outcome=call.outcome,
                    prompt_tokens=call.prompt_tokens,
                    completion_tokens=call.completion_tokens,
                    cost_usd=call.cost_usd,
                    seconds=call.seconds,
                )
                for number, call in enumerate(result.calls, start=1)
            ]
        )

    return record
