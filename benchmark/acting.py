"""A persona that a model plays: the script settles what is true, the model says it in the persona's voice.

What decides about safety is always the script's own words: the item at which a persona must bring about a stop, and
the item on thoughts of self-harm. So what should come out of an interview is known, whoever speaks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agents.contract import Agent, AgentResult, Budget
from agents.models import ModelFactory
from agents.patient import PATIENT, Manner, PatientBrief, Utterance, patient
from agents.prompts import PromptLibrary
from benchmark.personas import IDEATION
from benchmark.replies import simulated
from benchmark.simulator import SimulatedPatient
from graph.conversation import Reply, asks_again, ending
from graph.runtime import InterviewRuntime
from graph.view import View
from settings import RULES, Settings

Actor = Agent[PatientBrief, Utterance]
Record = Callable[[View, AgentResult[Any]], object]


def actor_of(settings: Settings) -> Actor | None:
    """What `MODEL_PATIENT` names; None where personas speak by their script."""
    if settings.model_patient == RULES:
        return None
    client = ModelFactory(settings).chat(PATIENT)
    return patient(client, Budget.of(settings), PromptLibrary(settings.crosscut_prompts).get(PATIENT))


def recording(runtime: InterviewRuntime) -> Record:
    """Accounts for each call with its session and turn, the failed ones too."""
    return lambda view, made: runtime.reports.record_calls(view.session_id, view.turn, PATIENT, made)


def reply_of(script: SimulatedPatient, actor: Actor | None, record: Record) -> Reply:
    """The script itself, or the model with the script behind it."""
    if actor is None:
        return simulated(script)

    def reply(view: View) -> str:
        brief = brief_for(script, view)
        if brief is None:
            return _scripted(script, view)
        made = actor.run(brief)
        record(view, made)
        return made.output.answer

    return ending(reply)


def brief_for(script: SimulatedPatient, view: View) -> PatientBrief | None:
    """What the model is told for this question; None where the script alone speaks."""
    who, item = script.persona, view.item
    if item in (IDEATION, who.stop_at):
        return None
    plan = script.plan(item)
    manner: Manner = "clear" if asks_again(view) else plan.mode
    return PatientBrief(
        item=item,
        days=plan.days,
        manner=manner,
        style=who.style,
        age_band=who.age_band,
        # Of these the description tells what they have in mind.
        about="" if who.stop_at or who.passive_ideation else who.description,
        truth=(*((plan.own.text,) if plan.own else ()), *who.facts.get(item, ())),
        question=view.lines[-1].text,
        said_before=_said_before(view),
        scripted=_scripted(script, view),
    )


def _scripted(script: SimulatedPatient, view: View) -> str:
    return script.answer(view.item, is_follow_up=asks_again(view), question=view.lines[-1].text)


def _said_before(view: View) -> str:
    return " ".join(line.text for line in view.lines if line.role == "patient" and line.item == view.item)
