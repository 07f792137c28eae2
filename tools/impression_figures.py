"""Figures of the diagnostician's rules on labelled interviews, for docs/impressions.md.

`python -m tools.impression_figures` prints them; `--report` measures the report half too. Nobody reads its lines or its
errors, and every measurement is noted in the docs.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from agents.impressions.ranking import ranked
from agents.impressions.telling import Sentence, Told, sentences_of, told
from benchmark.personas import ITEMS, load_personas
from benchmark.simulator import SimulatedPatient
from instruments.level1 import item_id
from instruments.profile import SessionStatus, TranscriptLine
from tools.figures import DATA

TEN = (
    "Major Depressive Disorder",
    "Generalized Anxiety Disorder",
    "Panic Disorder",
    "Social Anxiety Disorder",
    "Posttraumatic Stress Disorder",
    "Obsessive-Compulsive Disorder",
    "Bipolar I Disorder",
    "Adjustment Disorder",
    "Schizophrenia",
    "Alcohol Use Disorder",
)
"""The profiles that the aims are about."""


@dataclass(frozen=True)
class Interview:
    """With gold scores, and the impression it was written for; none for the healthy."""

    id: str
    impression: str | None
    scores: dict[int, int]
    sentences: list[Sentence]

    @property
    def author(self) -> str:
        return self.id.partition("-")[0]


@dataclass
class ImpressionFigures:
    """`found` counts (labelled, first)."""

    found: Counter[tuple[str, str]] = field(default_factory=Counter)
    among_three: int = 0

    @property
    def total(self) -> int:
        return sum(self.found.values())

    @property
    def first(self) -> float:
        return sum(n for (labelled, first), n in self.found.items() if labelled == first) / self.total

    @property
    def macro_f1(self) -> float:
        names = sorted({labelled for labelled, _ in self.found})
        return sum(self.f1(name) for name in names) / len(names)

    def f1(self, name: str) -> float:
        right = self.found[name, name]
        labelled = sum(n for (gold, _), n in self.found.items() if gold == name)
        named = sum(n for (_, first), n in self.found.items() if first == name)
        return 2 * right / (labelled + named) if labelled + named else 0.0


def load(name: str) -> list[Interview]:
    rows = [json.loads(line) for line in (DATA / name).read_text("utf-8").splitlines()]
    return [interview(row["id"], row["impression"], row["scores"], row["answers"]) for row in rows]


def interview(
    identifier: str, impression: str | None, scores: dict[str, int], answers: dict[str, list[str]]
) -> Interview:
    lines = [
        TranscriptLine(role="patient", text=text, item_id=item_id(int(item)))
        for item, texts in answers.items()
        for text in texts
    ]
    return Interview(identifier, impression, {int(item): score for item, score in scores.items()}, sentences_of(lines))


def personas() -> list[Interview]:
    """What the synthetic patients would say to everything."""
    found = []
    for name, persona in load_personas().items():
        if persona.outcome is SessionStatus.COMPLETED and persona.impression:
            patient = SimulatedPatient(persona, 0)
            answers = {str(item): [patient.answer(item, is_follow_up=False, question="")] for item in ITEMS}
            scores: dict[str, int] = {str(item): score for item, score in persona.scores.items()}
            found.append(interview(f"persona-{name}", persona.impression.name, scores, answers))
    return found


def measure(held: Iterable[Interview], hear: Callable[[Sequence[Sentence]], Told] = told) -> ImpressionFigures:
    figures = ImpressionFigures()
    for one in held:
        if one.impression:
            names = [found.disorder.name for found in ranked(one.scores, hear(one.sentences))]
            figures.found[one.impression, names[0]] += 1
            figures.among_three += one.impression in names[:3]
    return figures


def report(title: str, held: Sequence[Interview]) -> str:
    main = [one for one in held if one.impression in TEN]
    others = [one for one in held if one.impression and one.impression not in TEN]
    lines = [f"### {title}", "", "| interviews | count | top-1 | top-3 | macro-F1 |", "|---|---|---|---|---|"]
    for name, some in (("of the ten profiles", main), ("of other disorders", others)):
        if some:
            figures = measure(some)
            top3 = figures.among_three / figures.total
            lines.append(f"| {name} | {figures.total} | {figures.first:.3f} | {top3:.3f} | {figures.macro_f1:.3f} |")
    by_name = measure(main)
    lines += ["", "| profile | F1 |", "|---|---|", *(f"| {name} | {by_name.f1(name):.2f} |" for name in TEN)]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--report", action="store_true", help="measure the report half as well")
    sets = [("Tuning interviews", load("impressions_tune.jsonl")), ("Personas", personas())]
    if parser.parse_args().report:
        sets.append(("Report interviews", load("impressions_report.jsonl")))
    for title, held in sets:
        sys.stdout.write(report(title, held) + "\n\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
