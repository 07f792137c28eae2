"""Every impression rests on what is there: items that were scored, words that the patient said, passages that were
retrieved. What is not there is taken out and counted; an impression that rests on nothing is dropped."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from agents.grounding import fold, grounded_quotes
from agents.impressions.rules import is_spoken_for
from agents.impressions.telling import spoken
from agents.replies import gives_orders
from agents.report.tags import are_well_formed, requoted
from errors import RejectedOutput
from instruments.disorders import disorders, plain
from instruments.tools import Diagnose, Diagnosis, Impression, Removed

_QUOTATION = re.compile(r"[“\"„«]([^“”\"„«»]*)[”\"“»]")
_SHORTEST_QUOTATION = 12  # characters


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
            "rag_claimed": diagnosis.rag_used,
            "removed": Removed(
                quotes=_fewer(diagnosis.diagnoses, grounded, "quotes"),
                citations=_phantoms(diagnosis, known | by_id),
                items=_fewer(diagnosis.diagnoses, grounded, "item_ids"),
                impressions=len(grounded) - len(kept),
            ),
        }
    )


def exact_quotations(call: Diagnose) -> Callable[[str], str]:
    """Makes prose quote letter for letter: in tags the patient's words, in quotation marks these or a passage's."""
    said = said_by_patient(call)
    written = tuple(passage.text for passage in call.snapshot.passages or ())

    def exact(text: str) -> str:
        _refuse_unclosed(text)
        made = requoted(text, lambda quote: _as_said(quote, said))
        _refuse_unclosed(made)  # a patient may have typed a tag
        if any(not grounded_quotes([quote], *said, *written) for quote in _in_quotation_marks(text)):
            raise RejectedOutput("what stands in quotation marks must be copied letter for letter")
        return made

    return exact


def _refuse_unclosed(text: str) -> None:
    if not are_well_formed(text):
        raise RejectedOutput("evidence tags must be closed before another opens")


def _as_said(quote: str, said: tuple[str, ...]) -> str:
    if found := grounded_quotes([quote], *said):
        return found[0]
    raise RejectedOutput("what stands in <quote> must be copied letter for letter from the patient's answers")


def _in_quotation_marks(text: str) -> list[str]:
    """Without the full stop that belongs to the sentence around it; a word or two so marked quote nobody."""
    quotes = [quote.strip().rstrip(".,;:!?…") for quote in _QUOTATION.findall(text)]
    return [quote for quote in quotes if len(quote) >= _SHORTEST_QUOTATION]


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
    return bool(one.item_ids and one.quotes) and _is_spoken_for(one.name, call)


def _is_spoken_for(name: str, call: Diagnose) -> bool:
    """By each disorder that we know and it names; a category by any of its disorders."""
    every = disorders().disorders
    if name in disorders().categories:
        return any(is_spoken_for(one, call) for one in every if one.category == name)
    return all(is_spoken_for(one, call) for one in every if plain(one.name) in plain(name))


def _fewer(before: Iterable[Impression], after: Iterable[Impression], field: str) -> int:
    pairs = zip(before, after, strict=True)
    return sum(len(set(getattr(old, field))) - len(getattr(new, field)) for old, new in pairs)


def _phantoms(diagnosis: Diagnosis, known: dict[str, str]) -> int:
    """Citations of nothing that was retrieved; a model lists each twice, with the impression and at the end."""
    cited = {*diagnosis.citations, *(citation for one in diagnosis.diagnoses for citation in one.citations)}
    return sum(not _citation(citation, known) for citation in cited)


def _unique(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))
