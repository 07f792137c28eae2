"""What an answer claims about its item: how often, that it was so, or that it was not."""

from __future__ import annotations

from agents.scoring.answer import Answer
from agents.scoring.claim import LOOSE, Claim, Clause, is_definite
from agents.scoring.counting import counted, counted_events
from agents.scoring.scope import Scopes
from agents.scoring.stating import stated


def claims(answer: Answer, scopes: Scopes) -> list[Claim]:
    """In the order of the answer; what is about others, about the past or about another matter is left out."""
    found: list[Claim] = []
    told: set[int] = set()
    for part in answer.parts:
        if scopes.is_relevant(part) and part.index not in told:
            found += _claims(Clause(part, answer, scopes, told))
    return found


def _claims(clause: Clause) -> list[Claim]:
    if clause.part.index in clause.answer.denied_questions:  # "Every day? No.": not so often, and that is all
        return [clause.claim("affirmed", LOOSE)] if clause.part.is_question else []
    definite = [f for f in clause.part.frequencies if is_definite(f)]
    if definite:
        return [claim for f in definite if (claim := counted(clause, f))]
    claim = counted_events(clause) or stated(clause)
    return [claim] if claim else []
