"""Simulated patients as somebody to converse with."""

from __future__ import annotations

from benchmark.simulator import SimulatedPatient
from graph.conversation import Reply, asks_again, ending


def simulated(patient: SimulatedPatient) -> Reply:
    return ending(lambda view: patient.answer(view.item, is_follow_up=asks_again(view), question=view.lines[-1].text))
