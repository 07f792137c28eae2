"""Figures of the rule engines on labelled turns, for the docs: `python -m tools.figures`."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from scipy.stats import binomtest

from agents.risk import Level, check_risk
from benchmark.personas import load_personas
from benchmark.simulator import SimulatedPatient
from instruments.profile import SessionStatus

DATA = Path(__file__).parent.parent / "tests" / "data"
LEVELS: tuple[Level, ...] = ("stop", "flag", "none")
ORDINARY_SEEDS = 4


@dataclass(frozen=True)
class Labelled:
    text: str
    item: int
    level: Level
    category: str


@dataclass(frozen=True)
class RiskFigures:
    """`confusion` counts (labelled, found)."""

    confusion: Counter[tuple[Level, Level]]
    milliseconds: list[float]

    def total(self, labelled: Level) -> int:
        return sum(self.confusion[labelled, found] for found in LEVELS)

    def share(self, labelled: Level, *found: Level) -> tuple[int, int]:
        return sum(self.confusion[labelled, level] for level in found), self.total(labelled)


def load(name: str) -> list[Labelled]:
    rows = [json.loads(line) for line in (DATA / name).read_text("utf-8").splitlines()]
    return [Labelled(row["text"], row["item"] or 0, row["level"], row["category"]) for row in rows]


def ordinary() -> list[Labelled]:
    """What the simulator's patients say who carry no risk: the ordinary turns."""
    calm = [p for p in load_personas().values() if p.outcome is SessionStatus.COMPLETED and not p.passive_ideation]
    patients = [SimulatedPatient(persona, seed) for persona in calm for seed in range(ORDINARY_SEEDS)]
    return [
        Labelled(patient.answer(item, is_follow_up=again, question=""), item, "none", "ordinary")
        for patient in patients
        for item in range(1, 24)
        for again in (False, True)
    ]


def answered() -> list[Labelled]:
    """Answers by the report authors of whole interviews and of scored answers: nobody had to be stopped for one."""
    interviews = [json.loads(line) for line in (DATA / "impressions_report.jsonl").read_text("utf-8").splitlines()]
    scored = [json.loads(line) for line in (DATA / "score_report.jsonl").read_text("utf-8").splitlines()]
    given = [(int(item), text) for one in interviews for item, texts in one["answers"].items() for text in texts]
    given += [(row["item"], row["answer"]) for row in scored]
    return [Labelled(text, item, "none", "answered") for item, text in given]


def measure(turns: Iterable[Labelled]) -> RiskFigures:
    """Somebody else in danger may be flagged or not: the specification tolerates both."""
    confusion: Counter[tuple[Level, Level]] = Counter()
    times = []
    for turn in turns:
        began = time.perf_counter()
        found = check_risk(turn.text, turn.item).level
        times.append((time.perf_counter() - began) * 1000)
        tolerated = turn.category == "tolerated" and found == "none"
        confusion[turn.level, "flag" if tolerated else found] += 1
    return RiskFigures(confusion, sorted(times))


def _said(name: str, hits: int, of: int) -> str:
    interval = binomtest(hits, of).proportion_ci(method="wilson")
    return f"| {name} | {hits} / {of} | {hits / of:.3f} | {interval.low:.3f} – {interval.high:.3f} |"


def report(title: str, figures: RiskFigures) -> str:
    lines = [f"### {title}", "", "| figure | count | share | 95 % Wilson |", "|---|---|---|---|"]
    if figures.total("stop"):
        lines += [
            _said("stop found", *figures.share("stop", "stop")),
            _said("stop called none", *figures.share("stop", "none")),
            _said("flag kept (flag or stop)", *figures.share("flag", "flag", "stop")),
            _said("stop on a flag", *figures.share("flag", "stop")),
        ]
    lines.append(_said("false stop on none", *figures.share("none", "stop")))
    lines.append(_said("flag on none", *figures.share("none", "flag")))
    times = figures.milliseconds
    lines += ["", f"{times[len(times) // 2]:.2f} ms median, {times[int(len(times) * 0.99)]:.2f} ms p99 a turn.", ""]
    lines += ["| labelled | " + " | ".join(f"found {level}" for level in LEVELS) + " |", "|---|---|---|---|"]
    for labelled in LEVELS:
        counts = " | ".join(str(figures.confusion[labelled, found]) for found in LEVELS)
        lines.append(f"| {labelled} | {counts} |")
    return "\n".join(lines)


def main() -> int:
    check_risk("warm up")
    for title, turns in (
        ("Tuning turns", load("risk_tune.jsonl")),
        ("Report turns", load("risk_report.jsonl")),
        ("Ordinary turns of simulated patients", ordinary()),
        ("Answers of interviews and scored answers", answered()),
    ):
        sys.stdout.write(report(title, measure(turns)) + "\n\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
