"""Whether the report shows what it rests on: tags, steps, quotes that were said, citations that were retrieved."""

from __future__ import annotations

import re

from agents.report.tags import TAGS, found_in
from benchmark.metrics.base import Metric, rounded, share
from benchmark.snapshot import Snapshot

_CLAUSE = re.compile(r"\b[Cc]riteri(?:on|a)\s+[A-H]\b(?:\s*(?:,|and|to|–|-)\s*[A-H]\b)*")
_CLAUSE_LETTER = re.compile(r"\b[A-H]\b")


def explainability(snapshot: Snapshot) -> tuple[Metric, ...]:
    return (
        *tag_counts(snapshot),
        clause_references(snapshot),
        step_lists(snapshot),
        verbatim_quotes(snapshot),
        grounded_impressions(snapshot),
        real_citations(snapshot),
        rag_usage(snapshot),
    )


def tag_counts(snapshot: Snapshot) -> tuple[Metric, ...]:
    names = {"sym": "symptoms", "quote": "quotes", "med": "medical terms"}
    return tuple(
        Metric(
            name=f"explainability.{tag}_tags",
            label=f"Tagged {names[tag]}",
            value=len(found_in(snapshot.markdown, tag)),
            unit="count",
            explanation=f"<{tag}> tags in the report",
        )
        for tag in TAGS
    )


def clause_references(snapshot: Snapshot) -> Metric:
    """Passages of criteria that are cited, and criteria named by their letter."""
    if snapshot.mode == "screening":
        return _none("clause_references", "DSM clause references", "a screening cites no criteria", unit="count")
    prose = "\n".join([*snapshot.diagnosis.reasoning, *(s for one in snapshot.diagnosis.diagnoses for s in one.steps)])
    letters = sum(len(_CLAUSE_LETTER.findall(found)) for found in _CLAUSE.findall(prose))
    cited = len(_cited(snapshot))
    return Metric(
        name="explainability.clause_references",
        label="DSM clause references",
        value=cited + letters,
        unit="count",
        explanation=f"{cited} passages cited, {letters} criteria named by letter",
    )


def step_lists(snapshot: Snapshot) -> Metric:
    impressions = snapshot.diagnosis.diagnoses
    if not impressions:
        return _none("step_lists", "Impressions with a list of steps", "there are no impressions")
    with_steps = [one for one in impressions if one.steps]
    return Metric(
        name="explainability.step_lists",
        label="Impressions with a list of steps",
        value=rounded(share(len(with_steps), len(impressions))),
        unit="share",
        explanation=f"{len(with_steps)} of {len(impressions)} impressions are reasoned step by step",
        metadata={"reasoningSteps": len(snapshot.diagnosis.reasoning)},
    )


def verbatim_quotes(snapshot: Snapshot) -> Metric:
    """Each quote must stand letter for letter in one message of the patient."""
    said = [line.text for line in snapshot.lines if line.role == "patient"]
    quotes = found_in(snapshot.markdown, "quote")
    true = [quote for quote in quotes if any(quote in text for text in said)]
    if not quotes:
        return _none("verbatim_quotes", "Quotes that were said", "the report quotes nothing")
    return Metric(
        name="explainability.verbatim_quotes",
        label="Quotes that were said",
        value=rounded(share(len(true), len(quotes))),
        unit="share",
        explanation=f"{len(true)} of {len(quotes)} quotes are the patient's words letter for letter",
        metadata={"removedByCode": snapshot.diagnosis.removed.quotes},
    )


def grounded_impressions(snapshot: Snapshot) -> Metric:
    impressions = snapshot.diagnosis.diagnoses
    if not impressions:
        return _none("grounded_impressions", "Impressions with evidence", "there are no impressions")
    grounded = [one for one in impressions if one.item_ids and one.quotes]
    return Metric(
        name="explainability.grounded_impressions",
        label="Impressions with evidence",
        value=rounded(share(len(grounded), len(impressions))),
        unit="share",
        explanation=f"{len(grounded)} of {len(impressions)} impressions name items and quote the patient",
        metadata={"removedByCode": snapshot.diagnosis.removed.impressions},
    )


def real_citations(snapshot: Snapshot) -> Metric:
    cited = _cited(snapshot)
    retrieved = {passage.citation for passage in snapshot.passages}
    phantom = sorted(cited - retrieved)
    if not cited:
        return _none("real_citations", "Citations that were retrieved", "nothing is cited")
    return Metric(
        name="explainability.real_citations",
        label="Citations that were retrieved",
        value=rounded(share(len(cited) - len(phantom), len(cited))),
        unit="share",
        explanation=f"{len(cited) - len(phantom)} of {len(cited)} citations name a passage that was retrieved",
        metadata={"phantom": len(phantom), "removedByCode": snapshot.diagnosis.removed.citations},
    )


def rag_usage(snapshot: Snapshot) -> Metric:
    """What is reported must be so: used means that a retrieved passage is cited."""
    reported = snapshot.diagnosis.rag_used
    used = bool(_cited(snapshot) & {passage.citation for passage in snapshot.passages})
    return Metric(
        name="explainability.rag_usage",
        label="Use of passages reported truly",
        value=float(reported == used),
        unit="share",
        explanation=f"reported as {'used' if reported else 'not used'}, and {'used' if used else 'not used'}",
        metadata={"reported": reported, "used": used, "retrieved": len(snapshot.passages)},
    )


def _cited(snapshot: Snapshot) -> set[str]:
    diagnosis = snapshot.diagnosis
    return {*diagnosis.citations, *(citation for one in diagnosis.diagnoses for citation in one.citations)}


def _none(name: str, label: str, why: str, unit: str = "share") -> Metric:
    return Metric(name=f"explainability.{name}", label=label, unit=unit, explanation=why)
