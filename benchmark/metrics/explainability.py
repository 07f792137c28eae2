"""Whether the report shows what it rests on: tags, steps, quotes that were said, citations that were retrieved."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agents.report.tags import TAGS, found_in
from benchmark.metrics.base import Metric, rounded, share
from benchmark.snapshot import Snapshot
from instruments.tools import Diagnosis
from settings import RULES

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
            n=1,
            n_of="report",
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
        n=1,
        n_of="report",
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
        n=len(impressions),
        n_of="impressions",
        explanation=f"{len(with_steps)} of {len(impressions)} impressions are reasoned step by step",
        metadata={"reasoningSteps": len(snapshot.diagnosis.reasoning)},
    )


def verbatim_quotes(snapshot: Snapshot) -> Metric:
    """Each quote must stand letter for letter in one message of the patient.

    Of the diagnostician's own: the report has many more, the scorer's, which code has checked; among those counts only
    what was not said.
    """
    said = [line.text for line in snapshot.lines if line.role == "patient"]
    own = _quoted(snapshot.diagnosis)
    quotes = own + [
        quote for quote in found_in(snapshot.markdown, "quote") if quote not in own and not _is_in(quote, said)
    ]
    true = [quote for quote in quotes if _is_in(quote, said)]
    return _of_offered(
        "verbatim_quotes",
        "Quotes that were said",
        _Offered(len(true), len(quotes), snapshot.diagnosis.removed.quotes, "quotes"),
        "are the patient's words letter for letter",
        nothing="nothing is quoted",
    )


def _is_in(quote: str, said: Sequence[str]) -> bool:
    return any(quote in text for text in said)


def _quoted(made: Diagnosis) -> list[str]:
    """What the diagnostician quotes: of each impression, and of the prose around them, every quote once."""
    found = [[*one.quotes, *_tagged(one.steps)] for one in made.diagnoses]
    return [quote for quotes in (*found, _tagged((made.summary,))) for quote in dict.fromkeys(quotes)]


def _tagged(prose: Iterable[str]) -> list[str]:
    return [quote for text in prose for quote in found_in(text, "quote")]


def grounded_impressions(snapshot: Snapshot) -> Metric:
    impressions = snapshot.diagnosis.diagnoses
    grounded = [one for one in impressions if one.item_ids and one.quotes]
    return _of_offered(
        "grounded_impressions",
        "Impressions with evidence",
        _Offered(len(grounded), len(impressions), snapshot.diagnosis.removed.impressions, "impressions"),
        "name items and quote the patient",
        nothing="there are no impressions",
    )


def real_citations(snapshot: Snapshot) -> Metric:
    cited = _cited(snapshot)
    phantom = cited - {passage.citation for passage in snapshot.passages}
    return _of_offered(
        "real_citations",
        "Citations that were retrieved",
        _Offered(len(cited) - len(phantom), len(cited), snapshot.diagnosis.removed.citations, "citations"),
        "name a passage that was retrieved",
        nothing="nothing is cited",
    )


def rag_usage(snapshot: Snapshot) -> Metric:
    """What the engine said of itself must be so: used means that a retrieved passage is cited."""
    removed = snapshot.diagnosis.removed.citations
    reported = _claimed(snapshot)
    if reported is None:
        return _none("rag_usage", "Use of passages reported truly", "what the model itself reported was not kept")
    used = bool(_cited(snapshot) & {passage.citation for passage in snapshot.passages})
    return Metric(
        name="explainability.rag_usage",
        label="Use of passages reported truly",
        value=float(reported == used),
        unit="share",
        n=1,
        n_of="report",
        explanation=f"reported as {'used' if reported else 'not used'}, and {'used' if used else 'not used'}",
        metadata={"reported": reported, "used": used, "retrieved": len(snapshot.passages), "removedByCode": removed},
    )


def _claimed(snapshot: Snapshot) -> bool | None:
    """The engine's own word. The rules' stands in the report; of a model older versions kept only what code found."""
    made = snapshot.diagnosis
    if made.rag_claimed is None and snapshot.engines.get("diagnostician") == RULES:
        return made.rag_used
    return made.rag_claimed


@dataclass(frozen=True)
class _Offered:
    """`removed` was taken out by code before the report was written: the engine offered it all the same."""

    true: int
    kept: int
    removed: int
    what: str


def _of_offered(name: str, label: str, offered: _Offered, are: str, *, nothing: str) -> Metric:
    """A share of all that was offered: of what was kept alone it would be whole, since code keeps what is true."""
    total = offered.kept + offered.removed
    if not total:
        return _none(name, label, nothing)
    removed = f"; taken out before the report was written: {offered.removed}" if offered.removed else ""
    return Metric(
        name=f"explainability.{name}",
        label=label,
        value=rounded(share(offered.true, total)),
        unit="share",
        n=total,
        n_of=offered.what,
        explanation=f"{offered.true} of {total} {offered.what} offered {are}{removed}",
        metadata={"removedByCode": offered.removed, "falseInReport": offered.kept - offered.true},
    )


def _cited(snapshot: Snapshot) -> set[str]:
    diagnosis = snapshot.diagnosis
    return {*diagnosis.citations, *(citation for one in diagnosis.diagnoses for citation in one.citations)}


def _none(name: str, label: str, why: str, unit: str = "share") -> Metric:
    return Metric(name=f"explainability.{name}", label=label, unit=unit, explanation=why)
