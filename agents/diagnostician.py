"""The diagnostician: provisional impressions in the words of a mode, each with the evidence that it rests on."""

from __future__ import annotations

import json
from collections.abc import Iterator

from agents.contract import Agent, Budget, json_agent
from agents.impressions.evidence import exact_quotations, keep_evidence
from agents.impressions.language import check_language, named_in
from agents.impressions.rules import candidates, diagnose_by_rules, limitations_of
from agents.models import ChatClient
from agents.prompts import Prompt, as_data
from errors import RejectedOutput
from instruments.disorders import disorders, plain
from instruments.level1 import item_number, level1
from instruments.tools import Diagnose, Diagnosis, Impression

__all__ = ["candidates", "diagnose_by_rules", "diagnostician"]

_LONGEST_NAME = 80
_LINE_ENDS = str.maketrans({end: f"\\u{ord(end):04x}" for end in "\x85\u2028\u2029"})
"""Those that JSON leaves as they are."""


def diagnostician(client: ChatClient | None, budget: Budget, prompt: Prompt) -> Agent[Diagnose, Diagnosis]:
    """In screening mode and by rules alone no model is needed; what a model says is checked by the same code."""
    return json_agent(
        "diagnostician",
        diagnose_by_rules,
        Diagnosis,
        _variables,
        client=client,
        budget=budget,
        prompt=prompt,
        checks=(_named_for_mode, _checked_words, keep_evidence, _names_what_it_lists, _with_limitations),
    )


def _variables(call: Diagnose) -> dict[str, str]:
    return {
        "mode": call.diagnostic_mode,
        "categories": "; ".join(disorders().categories),
        "item_scores": "\n".join(_scores(call)),
        "domain_summary": "\n".join(_domains(call)),
        "transcript": as_data("transcript", "\n".join(_lines(call))),
        "passages": as_data("passages", "\n\n".join(_passages(call))),
    }


def _scores(call: Diagnose) -> Iterator[str]:
    for response in call.snapshot.item_responses:
        topic = level1().item(item_number(response.item_id)).topic
        yield f"{response.item_id} ({topic}): score {response.score}, ambiguity {response.ambiguity}"


def _domains(call: Diagnose) -> Iterator[str]:
    thresholds = {domain.name: domain.threshold for domain in level1().domains}
    for summary in call.snapshot.symptom_summary:
        threshold = thresholds[summary.domain]
        reached = "reached" if summary.severity_aggregate >= threshold else "not reached"
        yield f"{summary.domain}: highest item {summary.severity_aggregate}, threshold {threshold} {reached}"


def _lines(call: Diagnose) -> Iterator[str]:
    """One JSON string a line, so that nothing a patient types can look like another speaker's line."""
    for line in call.snapshot.transcript:
        yield f"{line.role}: {json.dumps(line.text, ensure_ascii=False).translate(_LINE_ENDS)}"


def _passages(call: Diagnose) -> Iterator[str]:
    """None for a screening, which names no disorder: what a session was frozen with may come from another mode."""
    for passage in call.snapshot.passages or () if call.diagnostic_mode != "screening" else ():
        yield f"{passage.citation}\n{passage.text}"


def _named_for_mode(call: Diagnose, diagnosis: Diagnosis) -> Diagnosis:
    """Names as the mode allows them, in our spelling where we know them."""
    if call.diagnostic_mode == "screening":
        if diagnosis.diagnoses:
            raise RejectedOutput("in mode screening diagnoses must be an empty list")
        return diagnosis
    names = _known_names(call)
    named = tuple(_renamed(one, names) for one in diagnosis.diagnoses)
    if call.diagnostic_mode == "categorical" and any(one.name not in names.values() for one in named):
        raise RejectedOutput(f"in mode categorical each name must be one of: {'; '.join(disorders().categories)}")
    return diagnosis.model_copy(update={"diagnoses": named})


def _known_names(call: Diagnose) -> dict[str, str]:
    if call.diagnostic_mode == "categorical":
        return {plain(name): name for name in disorders().categories}
    return {plain(disorder.name): disorder.name for disorder in disorders().disorders}


def _renamed(one: Impression, names: dict[str, str]) -> Impression:
    if not one.name.strip() or len(one.name) > _LONGEST_NAME:
        raise RejectedOutput(f"a name must have 1 to {_LONGEST_NAME} characters")
    return one.model_copy(update={"name": names.get(plain(one.name), one.name.strip())})


def _checked_words(call: Diagnose, diagnosis: Diagnosis) -> Diagnosis:
    if not diagnosis.summary.strip():
        raise RejectedOutput("summary must not be empty")
    names = [one.name for one in diagnosis.diagnoses] if call.diagnostic_mode == "diagnostic" else []
    check_language(call.diagnostic_mode, [*_prose(diagnosis), *names])
    return _exactly_quoted(call, diagnosis)


def _prose(diagnosis: Diagnosis) -> list[str]:
    return [diagnosis.summary, *diagnosis.reasoning, *(step for one in diagnosis.diagnoses for step in one.steps)]


def _exactly_quoted(call: Diagnose, diagnosis: Diagnosis) -> Diagnosis:
    exact = exact_quotations(call)
    named = [one.model_copy(update={"steps": tuple(map(exact, one.steps))}) for one in diagnosis.diagnoses]
    prose = {"summary": exact(diagnosis.summary), "reasoning": tuple(map(exact, diagnosis.reasoning))}
    return diagnosis.model_copy(update={**prose, "diagnoses": tuple(named)})


def _names_what_it_lists(call: Diagnose, diagnosis: Diagnosis) -> Diagnosis:
    """What has no evidence must not come back in the prose."""
    listed = {plain(one.name) for one in diagnosis.diagnoses}
    named = {plain(name) for text in _prose(diagnosis) for name in named_in(text, _known_names(call).values())}
    if any(not any(name in one for one in listed) for name in named):
        raise RejectedOutput("summary, reasoning and steps must name nothing but the diagnoses listed with evidence")
    return diagnosis


def _with_limitations(call: Diagnose, diagnosis: Diagnosis) -> Diagnosis:
    """The limitations are ours to state, whoever formed the impressions."""
    return diagnosis.model_copy(update={"limitations": limitations_of(call, diagnosis.removed, by_rules=False)})
