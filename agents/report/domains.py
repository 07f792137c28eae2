"""Domain by domain what the measure found: the rows of the report's table and of its chart."""

from __future__ import annotations

from dataclasses import dataclass

from instruments.level1 import Domain, level1
from instruments.profile import ItemResponse, PatientProfile

HIGHEST_SCORE = 4


@dataclass(frozen=True)
class DomainRow:
    domain: Domain
    responses: tuple[ItemResponse, ...]
    undetermined: bool

    @property
    def name(self) -> str:
        return self.domain.name

    @property
    def highest(self) -> int:
        return max((response.score for response in self.responses), default=0)

    @property
    def reached(self) -> bool:
        return self.highest >= self.domain.threshold


def domain_rows(profile: PatientProfile) -> list[DomainRow]:
    unclear = set(profile.undetermined_domains)
    return [
        DomainRow(
            domain,
            tuple(r for item in domain.items if (r := profile.response(item.id)) is not None),
            domain.name in unclear,
        )
        for domain in level1().domains
    ]
