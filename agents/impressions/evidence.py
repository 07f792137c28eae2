"""Every impression rests on what is there: items that were scored, words that the patient said, passages that were
retrieved. What is not there is taken out and counted; an impression that rests on nothing is dropped."""

from __future__ import annotations

import re
from collections.abc import Iterable

from agents.grounding import fold, grounded_quotes
from agents.impressions.telling import spoken
from agents.replies import gives_orders
from agents.report.tags import are_well_formed, found_in
from errors import RejectedOutput
from instruments.disorders import disorders
from instruments.tools import Diagnose, Diagnosis, Impression, Removed

_IN_QUOTATION_MARKS = re.compile(r"[“\"]([^“”\"]{12,})[”\"]")


def said_by_patient(call: Diagnose) -> tuple[str, ...]:
    """What may be quoted: the patient's messages, except orders to the program, which are evidence of nothing."""
    messages = [line.text for line in call.snapshot.transcript if line.role == "patient"]
    return tuple(part for text in messages for part in (spoken(text) if gives_orders(text) else (text,)))


def keep_evidence(call: Diagnose, diagnosis: Diagnosis) -> Diagnosis:
    """The diagnosis with only the evidence that is there; RejectedOutput when no impression is left of several."""
    said = said_by_patient(call)
    known = {fold(passage.citation): passage.citation for passage in call.snapshot.passages or ()}
    by_id = {passage.chunk_id: passage.citation for passage in call.snapshot.passages or ()}
    grounded = [_grounded(one, call, said, known | by_id) for one in diagnosis.diagnoses]
    kept = tuple(one for one in grounded if _has_evidence(one, call))
    if grounded and not kept:
        raise RejectedOutput("each impression needs itemIds that scored above 0 and quotes copied letter for letter")
    cited = _unique(citation for one in kept for citation in one.citations)
    return diagnosis.model_copy(
        update={
            "diagnoses": tuple(sorted(kept, key=lambda one: -one.confidence)),
            "citations": cited,
            "rag_used": bool(cited),
            "removed": Removed(
                quotes=_fewer(diagnosis.diagnoses, grounded, "quotes"),
                citations=_fewer(diagnosis.diagnoses, grounded, "citations") + _phantom(diagnosis, known | by_id),
                items=_fewer(diagnosis.diagnoses, grounded, "item_ids"),
                impressions=len(grounded) - len(kept),
            ),
        }
    )


def check_quotations(call: Diagnose, texts: Iterable[str]) -> None:
    """Prose may quote as well: between tags or quotation marks stand the patient's words or a passage's, or nothing."""
    said = said_by_patient(call)
    written = tuple(passage.text for passage in call.snapshot.passages or ())
    for text in texts:
        if not are_well_formed(text):
            raise RejectedOutput("evidence tags must be closed before another opens")
        if any(not grounded_quotes([quote], *said) for quote in found_in(text, "quote")):
            raise RejectedOutput("what stands in <quote> must be copied letter for letter from the patient's answers")
        if any(not grounded_quotes([quote], *said, *written) for quote in _IN_QUOTATION_MARKS.findall(text)):
            raise RejectedOutput("what stands in quotation marks must be copied letter for letter")


def _grounded(one: Impression, call: Diagnose, said: tuple[str, ...], known: dict[str, str]) -> Impression:
    scored = {r.item_id for r in call.snapshot.item_responses if r.score and not r.undetermined}
    return one.model_copy(
        update={
            "item_ids": _unique(item for item in one.item_ids if item in scored),
            "quotes": grounded_quotes(one.quotes, *said),
            "citations": _unique(c for cited in one.citations if (c := _citation(cited, known))),
        }
    )


def _citation(cited: str, known: dict[str, str]) -> str | None:
    return known.get(cited) or known.get(fold(cited))


def _has_evidence(one: Impression, call: Diagnose) -> bool:
    return bool(one.item_ids and one.quotes) and _reaches_required_domains(one, call)


def _reaches_required_domains(one: Impression, call: Diagnose) -> bool:
    """A disorder that we know, whose own domain nothing was said of, has no evidence whatever else is quoted."""
    known = next((d for d in disorders().disorders if d.name == one.name), None)
    if known is None:
        return True
    raised = {d.domain for d in call.snapshot.symptom_summary if d.severity_aggregate}
    return all(domain in raised for domain in known.required_domains)


def _fewer(before: Iterable[Impression], after: Iterable[Impression], field: str) -> int:
    pairs = zip(before, after, strict=True)
    return sum(len(set(getattr(old, field))) - len(getattr(new, field)) for old, new in pairs)


def _phantom(diagnosis: Diagnosis, known: dict[str, str]) -> int:
    return sum(not _citation(cited, known) for cited in diagnosis.citations)


def _unique(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))
