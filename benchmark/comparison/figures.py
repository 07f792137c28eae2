"""How far two columns agree: small pure functions over impressions. What cannot be known is None, never 0 or 1."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from benchmark.comparison.types import Agreement, AlignedImpression, Cell, Overlap
from errors import InputError
from instruments.disorders import plain
from instruments.tools import Impression

OVERLAP_AT = (1, 3, 5)
Impressions = Sequence[Impression]


def aligned(columns: Sequence[Impressions | None]) -> tuple[AlignedImpression, ...]:
    """One row a name, one cell a column; first the names of the first column in its order, then what others add.

    None is a column without an answer: its cells are empty, and so they are where an answer does not have the name.
    """
    ranked = [_by_name(column or ()) for column in columns]
    keys = dict.fromkeys(key for column in ranked for key in column)
    return tuple(_row(key, ranked) for key in keys)


def overlap(one: Impressions, other: Impressions, k: int) -> float | None:
    """Jaccard@k: of the names among either's first k, the share that is among both's. Unknown for two empty lists."""
    if k < 1:
        raise InputError(f"an overlap counts the first 1 or more impressions, not {k}.")
    first, second = (set(list(_by_name(impressions))[:k]) for impressions in (one, other))
    either = first | second
    return len(first & second) / len(either) if either else None


def rank_agreement(one: Impressions, other: Impressions) -> float | None:
    """Spearman's rho over the ranks of the names that both have; unknown where these are fewer than two."""
    pairs = _shared(one, other)
    if len(pairs) < 2:
        return None
    from scipy.stats import spearmanr  # a second, which the page and the command line need not spend at their start

    return float(spearmanr([a.rank for a, _ in pairs], [b.rank for _, b in pairs]).statistic)


def confidence_drift(one: Impressions, other: Impressions) -> float | None:
    """The mean absolute difference of confidence over the names that both have; unknown where there are none."""
    pairs = _shared(one, other)
    return sum(abs(a.confidence - b.confidence) for a, b in pairs) / len(pairs) if pairs else None


def agreement(left: str, one: Impressions, right: str, other: Impressions) -> Agreement:
    return Agreement(
        left=left,
        right=right,
        shared=len(_shared(one, other)),
        overlaps=tuple(Overlap(k=k, jaccard=overlap(one, other, k)) for k in OVERLAP_AT),
        rank_agreement=rank_agreement(one, other),
        confidence_drift=confidence_drift(one, other),
    )


def agreements(columns: Sequence[tuple[str, Impressions | None]]) -> tuple[Agreement, ...]:
    """Every pair of columns that have an answer."""
    answered = [(model, impressions) for model, impressions in columns if impressions is not None]
    return tuple(agreement(*one, *other) for one, other in combinations(answered, 2))


def _by_name(impressions: Impressions) -> dict[str, tuple[str, Cell]]:
    """By the plain name, in rank order. Who names something twice is taken at the first word."""
    found: dict[str, tuple[str, Cell]] = {}
    for one in impressions:
        cell = Cell(rank=len(found) + 1, confidence=one.confidence, citations=one.citations, item_ids=one.item_ids)
        found.setdefault(plain(one.name), (one.name, cell))
    return found


def _shared(one: Impressions, other: Impressions) -> list[tuple[Cell, Cell]]:
    first, second = _by_name(one), _by_name(other)
    return [(cell, second[key][1]) for key, (_, cell) in first.items() if key in second]


def _row(key: str, columns: Sequence[dict[str, tuple[str, Cell]]]) -> AlignedImpression:
    name = next(column[key][0] for column in columns if key in column)
    return AlignedImpression(name=name, cells=tuple(column[key][1] if key in column else None for column in columns))
