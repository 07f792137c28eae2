"""The rules, and a model beside them that may only raise what they say."""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from agents.contract import Agent, AgentResult, Budget, json_agent
from agents.models import ChatClient
from agents.prompts import Prompt, as_data
from agents.risk.rules import check_risk
from agents.risk.verdict import RANK, Engine, Level, RiskVerdict, Span, shown
from instruments.level1 import level1
from instruments.profile import RiskFlags, Wire

_REMEMBERED = 64
log = logging.getLogger("crosscut.safety")
_ENGINES: dict[Engine, Engine] = {"rules": "rules+llm", "rules+reader": "rules+reader+llm"}


class MessageToCheck(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str
    item: int = 0
    question: str = ""
    message_id: str = ""


class ModelOpinion(Wire):
    """The model's closed schema: a level and what it is about, nothing else."""

    level: Level
    suicidality: bool
    self_harm: bool
    violence: bool
    substance: bool


@dataclass(frozen=True)
class Checked:
    verdict: RiskVerdict
    result: AgentResult[ModelOpinion] | None = None


class RiskChecker:
    def __init__(
        self, client: ChatClient | None = None, budget: Budget | None = None, prompt: Prompt | None = None
    ) -> None:
        self._read: OrderedDict[str, tuple[MessageToCheck, RiskVerdict]] = OrderedDict()
        self._model: Agent[MessageToCheck, ModelOpinion] | None = None
        if client is not None:
            limits = budget or Budget()
            self._model = json_agent(
                "risk", _no_opinion, ModelOpinion, _variables, client=client, budget=limits, prompt=prompt
            )

    @property
    def has_model(self) -> bool:
        return self._model is not None

    def read(self, message: MessageToCheck) -> RiskVerdict:
        """The rules alone. A message is read when it arrives and again in its turn: the second time costs nothing."""
        known = self._read.get(message.message_id)
        if known is not None and (known[0].text, known[0].item) == (message.text, message.item):
            return known[1]
        began = time.perf_counter()
        verdict = _timed(check_risk(message.text, message.item), began)
        if message.message_id:
            self._read[message.message_id] = message, verdict
            if len(self._read) > _REMEMBERED:
                self._read.popitem(last=False)
        return verdict

    def check(self, message: MessageToCheck) -> Checked:
        """A stop of the rules needs no second opinion; a model that fails leaves the rules, marked degraded."""
        began = time.perf_counter()
        verdict = self.read(message)
        if self._model is None or verdict.level == "stop":
            return Checked(verdict)
        try:
            result = self._model.run(message)
        except Exception as error:  # whatever is wrong with a model, what the rules found is on record
            log.critical("the risk model failed on a message: %s", type(error).__name__)
            return Checked(_timed(verdict.model_copy(update={"degraded": True}), began))
        return Checked(_timed(_merged(verdict, result, message.text), began), result)


def _no_opinion(_: MessageToCheck) -> ModelOpinion:
    return ModelOpinion(level="none", suicidality=False, self_harm=False, violence=False, substance=False)


def _variables(message: MessageToCheck) -> dict[str, str]:
    return {
        "item_text": level1().item(message.item).text if message.item else "(none)",
        "question": message.question or "(none)",
        "message": as_data("message", message.text),
    }


def _merged(verdict: RiskVerdict, result: AgentResult[ModelOpinion], text: str) -> RiskVerdict:
    """The higher level stands, with the flags of both; an opinion that could not be had changes only the record."""
    seen = {"model": result.model, "prompt_version": result.prompt_version}
    if result.engine == "rules":
        return verdict.model_copy(update={**seen, "degraded": True})
    opinion = result.output
    update: dict[str, object] = {**seen, "model_level": opinion.level, "engine": _ENGINES[verdict.engine]}
    if opinion.level != "none":
        update |= {"flags": verdict.flags | _flags(opinion)}
    if RANK[opinion.level] > RANK[verdict.level]:
        update |= {"level": opinion.level, "rule": "model", "spans": shown((*_whole(text), *verdict.spans))}
    return verdict.model_copy(update=update)


def _whole(text: str) -> tuple[Span, ...]:
    """A model does not say which words it means: the therapist gets them all."""
    return (Span(start=0, end=len(text), cue="model"),) if text else ()


def _flags(opinion: ModelOpinion) -> RiskFlags:
    return RiskFlags(
        suicidality_mentioned=opinion.suicidality,
        self_harm_ideation=opinion.self_harm,
        violence_risk=opinion.violence,
        substance_abuse_signal=opinion.substance,
    )


def _timed(verdict: RiskVerdict, began: float) -> RiskVerdict:
    return verdict.model_copy(update={"milliseconds": round((time.perf_counter() - began) * 1000, 3)})
