"""The patient's own words that a finding rests on, exactly as they were written."""

from __future__ import annotations

from agents.scoring.answer import Answer
from agents.scoring.claim import Claim
from agents.scoring.parts import Part
from agents.scoring.weigh import Finding

_SHORT_CLAUSE = 30
_SHORT_SENTENCE = 160
_TRIMMED = " \t\r\n,;:-—"


def quotes(finding: Finding, answer: Answer) -> tuple[str, ...]:
    """One quote a claim; a stretch that lies within another is not quoted twice."""
    spans = sorted({_span(claim, answer) for claim in finding.claims}, key=lambda span: (span[0], -span[1]))
    kept: list[tuple[int, int]] = []
    for span in spans:
        if not kept or span[1] > kept[-1][1]:
            kept.append(span)
    found = (answer.reading.original[start:end].strip(_TRIMMED) for start, end in kept)
    return tuple(dict.fromkeys(quote for quote in found if quote))


def _span(claim: Claim, answer: Answer) -> tuple[int, int]:
    """The clause that makes the claim; where it does not name the matter, with what stands around it."""
    first = last = claim.part
    sentence = answer.sentence(claim.part)
    if claim.kind == "denied" and claim.part.is_bare and claim.part.says_no:
        first, last = _bare_around(sentence, claim.part)  # what goes before may be about anything
    elif not claim.part.matters and sentence[-1].end - sentence[0].start <= _SHORT_SENTENCE:
        first, last = sentence[0], sentence[-1]
    elif not claim.part.matters or claim.part.end - claim.part.start < _SHORT_CLAUSE:
        before, after = answer.before(first), answer.after(last)
        first = before if before and _says_more(before) else first
        last = after if after and _says_more(after) else last
    end = max(last.end, claim.frequency.end if claim.frequency else 0)
    return answer.reading.span(first.start, min(end, len(answer.reading.text)))


def _bare_around(sentence: tuple[Part, ...], part: Part) -> tuple[Part, Part]:
    """'so no | not at all': a denial with what only stresses it."""
    at = part.index - sentence[0].index
    first = next((n for n in range(at, 0, -1) if not sentence[n - 1].is_bare), 0)
    last = next((n for n in range(at, len(sentence) - 1) if not sentence[n + 1].is_bare), len(sentence) - 1)
    return sentence[first], sentence[last]


def _says_more(part: Part) -> bool:
    return bool(part.matters) or (part.is_bare and bool(part.frequencies))
