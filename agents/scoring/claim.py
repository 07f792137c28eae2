"""One claim of an answer about its item, and the clause that makes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from agents.language.frequency import Frequency
from agents.language.tagging import Grade
from agents.scoring.answer import Answer
from agents.scoring.parts import Part
from agents.scoring.scope import Scopes

Kind = Literal["often", "denied", "affirmed", "vague"]
OWN, PLAIN, BESIDE, LOOSE = 4, 3, 2, 1
"""How surely a claim is about the item: in the item's own words; in none but the answer's; beside a clause in some
other words; in the same clause as those."""
NOT_DAYS = ("severity", "ago", "within")
MORE_THAN_USUAL = (3, 4, 5)


@dataclass(frozen=True)
class Claim:
    part: Part
    kind: Kind
    weight: int
    days: float = 0.0
    grade: Grade = "word"
    frequency: Frequency | None = None
    is_rest: bool = False
    """It speaks of the days that are left over: 'otherwise fine'."""
    is_complement: bool = False
    """The days without it were counted."""

    @property
    def at(self) -> int:
        return self.part.index

    @property
    def begins(self) -> int:
        return self.frequency.start if self.frequency else self.part.start

    @property
    def form(self) -> str:
        return self.frequency.form if self.frequency else ""

    @property
    def counts_days(self) -> bool:
        """Days, not times."""
        return self.frequency is not None and self.frequency.unit == "day"

    @property
    def is_zero(self) -> bool:
        """'Zero days', 'a zero'."""
        return self.kind == "denied" and self.frequency is not None

    @property
    def is_outright(self) -> bool:
        """A denial that nobody can take for one of something else."""
        return self.weight == OWN or self.part.is_bare or self.part.has("fine", "quit")


def is_definite(frequency: Frequency) -> bool:
    return frequency.grade != "vague" and not frequency.negated and frequency.form not in NOT_DAYS


@dataclass(frozen=True)
class Clause:
    """A clause that is about the patient and the two weeks. `told`: clauses that were read together with another."""

    part: Part
    answer: Answer
    scopes: Scopes
    told: set[int]

    @property
    def is_rest(self) -> bool:
        return self.part.index in self.scopes.rest or self.part.index in self.scopes.asides

    def claim(
        self,
        kind: Kind,
        weight: int,
        days: float = 0,
        frequency: Frequency | None = None,
        *,
        is_complement: bool = False,
    ) -> Claim:
        grade = frequency.grade if frequency else "word"
        ended = self.part.has("quit") and self.part.has("past")
        rest = self.is_rest and not ended and (kind == "denied" or is_complement) and not self._is_unchanged
        rest = rest or (kind == "denied" and self.part.has("partly"))
        return Claim(self.part, kind, weight, days, grade, frequency, rest, is_complement)

    @property
    def _is_unchanged(self) -> bool:
        """'No more than at any other time' denies an item that asks for more than usual."""
        return self.part.item in MORE_THAN_USUAL and self.part.has("unchanged")
