"""Against gold: item scores and impressions. The scores are always those that were given, never corrected ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmark.metrics.base import Metric, mean, rounded, share
from benchmark.personas import load_personas
from benchmark.snapshot import Snapshot
from instruments.level1 import item_number

LEVELS = 5
"""Scores from 0 to 4."""
TOP = 3
NOTHING = "(none)"
"""The class of whoever has nothing, as of whoever is said to have nothing."""
Pair = tuple[int, int]
"""The gold score and the one that was given."""


@dataclass(frozen=True)
class Gold:
    """`impressions` by the mode's own names, the main one first; none for the healthy."""

    scores: Mapping[int, int]
    impressions: tuple[str, ...] | None
    source: str


def gold_of(snapshot: Snapshot) -> Gold | None:
    """A persona's; None where nobody knows the truth."""
    found = load_personas().get(snapshot.persona_id or "")
    if found is None:
        return None
    known = [*([found.impression] if found.impression else []), *found.also]
    names: tuple[str, ...] | None = None
    if snapshot.mode == "diagnostic":
        names = tuple(dict.fromkeys(one.name for one in known))
    elif snapshot.mode == "categorical":
        names = tuple(dict.fromkeys(one.category for one in known))
    return Gold(dict(found.scores), names, f"persona {found.id}")


def accuracy(snapshot: Snapshot, gold: Gold | None) -> tuple[Metric, ...]:
    """Nothing at all where there is no gold: such a card has no such lines."""
    if gold is None:
        return ()
    pairs = item_pairs(snapshot, gold)
    return (*item_accuracy(pairs, gold), *impression_accuracy(ranked(snapshot), gold))


def item_pairs(snapshot: Snapshot, gold: Gold) -> list[Pair]:
    """Of the items that were answered: what stands for no answer is not a score."""
    given = {
        item_number(response.item_id): response.score for response in snapshot.responses if not response.unanswered
    }
    return [(score, given[item]) for item, score in sorted(gold.scores.items()) if item in given]


def ranked(snapshot: Snapshot) -> list[str]:
    """The names of the impressions, the likeliest first."""
    return [one.name for one in snapshot.diagnosis.diagnoses]


def item_accuracy(pairs: Sequence[Pair], gold: Gold) -> tuple[Metric, ...]:
    nothing = "gold and scores are all alike" if pairs else "no item with gold was answered"
    figures = (
        ("item_exact", "Item scores that are exact", "share", exact(pairs), "scores equal to gold"),
        (
            "item_mae",
            "Mean absolute error of items",
            "points, 0 to 4",
            mean_error(pairs),
            "points between score and gold",
        ),
        (
            "item_kappa",
            "Quadratic-weighted kappa of items",
            "kappa, −1 to 1",
            quadratic_kappa(pairs),
            "agreement beyond chance",
        ),
        ("item_coverage", "Gold items scored", "share", share(len(pairs), len(gold.scores)), "items with a score"),
    )
    return tuple(
        Metric(
            name=f"accuracy.{name}",
            label=label,
            value=rounded(value),
            unit=unit,
            n=len(gold.scores) if name == "item_coverage" else len(pairs),
            n_of="items",
            explanation=explanation if value is not None else nothing,
            metadata={"gold": gold.source, "items": len(pairs)},
        )
        for name, label, unit, value, explanation in figures
    )


def impression_accuracy(names: Sequence[str], gold: Gold) -> tuple[Metric, ...]:
    if gold.impressions is None:
        return tuple(
            Metric(name=f"accuracy.{name}", label=label, unit="share", explanation="a screening names no impressions")
            for name, label in (
                ("top1", "Top-1 impression"),
                ("top3", "Top-3 impressions"),
                ("impression_f1", "F1 of impressions"),
            )
        )
    expected = gold.impressions[0] if gold.impressions else NOTHING
    metadata: dict[str, object] = {"expected": list(gold.impressions), "named": list(names), "gold": gold.source}
    return (
        _hit("top1", "Top-1 impression", names, expected, 1, metadata),
        _hit("top3", "Top-3 impressions", names, expected, TOP, metadata),
        Metric(
            name="accuracy.impression_f1",
            label="F1 of impressions",
            value=rounded(set_f1(set(gold.impressions), set(names))),
            unit="share",
            n=len(set(gold.impressions) | set(names)),
            n_of="names",
            explanation="of all names given and all names expected",
            metadata=metadata,
        ),
    )


def _hit(name: str, label: str, names: Sequence[str], expected: str, k: int, metadata: dict[str, object]) -> Metric:
    hit = hits(names, expected, k)
    explanation = (
        f"expected {expected}, which is {'' if hit else 'not '}{'first' if k == 1 else f'among the first {k}'}"
    )
    return Metric(
        name=f"accuracy.{name}",
        label=label,
        value=float(hit),
        unit="share",
        n=1,
        n_of="interview",
        explanation=explanation,
        metadata=metadata,
    )


# ---- the figures, over any number of pairs ----


def exact(pairs: Sequence[Pair]) -> float | None:
    return mean([float(gold == given) for gold, given in pairs])


def mean_error(pairs: Sequence[Pair]) -> float | None:
    return mean([abs(gold - given) for gold, given in pairs])


def quadratic_kappa(pairs: Sequence[Pair]) -> float | None:
    """None where chance alone would always agree, as with gold and scores that are all the same."""
    if not pairs:
        return None
    seen = np.zeros((LEVELS, LEVELS))
    for gold, given in pairs:
        seen[gold, given] += 1
    by_chance = np.outer(seen.sum(axis=1), seen.sum(axis=0)) / len(pairs)
    apart = np.subtract.outer(np.arange(LEVELS), np.arange(LEVELS)) ** 2
    expected = float((apart * by_chance).sum())
    return 1 - float((apart * seen).sum()) / expected if expected else None


def hits(names: Sequence[str], expected: str, k: int) -> bool:
    """Whoever has nothing is hit by no impression at all."""
    if expected == NOTHING:
        return not names
    return expected in list(names)[:k]


def set_f1(expected: set[str], named: set[str]) -> float:
    if not expected and not named:
        return 1.0
    return 2 * len(expected & named) / (len(expected) + len(named))


def per_class_f1(pairs: Sequence[tuple[str, str]]) -> dict[str, float]:
    """Of gold and first-named classes, for each class that is gold at least once."""
    return {name: _f1(pairs, name) for name in sorted({gold for gold, _ in pairs})}


def macro_f1(pairs: Sequence[tuple[str, str]]) -> float | None:
    return mean(list(per_class_f1(pairs).values()))


def first_or_nothing(names: Sequence[str]) -> str:
    return names[0] if names else NOTHING


def _f1(pairs: Sequence[tuple[str, str]], name: str) -> float:
    right = sum(gold == given == name for gold, given in pairs)
    either = sum(gold == name for gold, _ in pairs) + sum(given == name for _, given in pairs)
    return 2 * right / either if either else 0.0


__all__ = [
    "NOTHING",
    "Gold",
    "accuracy",
    "exact",
    "first_or_nothing",
    "gold_of",
    "hits",
    "item_pairs",
    "macro_f1",
    "mean_error",
    "per_class_f1",
    "quadratic_kappa",
    "ranked",
    "set_f1",
]
