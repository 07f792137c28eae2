"""Figures of the rules scorer on labelled answers, for docs/scoring.md: `python -m tools.score_figures`.

`--report` measures the report half too. Nobody reads its lines or its errors; every measurement is noted in the docs.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from agents.scorer import AnswerToScore, ItemScore, score_by_rules
from agents.scoring import reader

DATA = Path(__file__).parent.parent / "tests" / "data"
SCORES = range(5)
CLEAR_UNTIL = 4
PASSES = 3  # the quickest counts: the tables of an item are compiled when it is first met


@dataclass(frozen=True)
class Labelled:
    asked: AnswerToScore
    score: int
    is_clear: bool


@dataclass
class ScoreFigures:
    """`confusion` counts (labelled, found) over clear answers."""

    confusion: Counter[tuple[int, int]] = field(default_factory=Counter)
    clear: int = 0
    clear_read_as_clear: int = 0
    vague: int = 0
    vague_read_as_vague: int = 0
    vague_best_fit: int = 0
    milliseconds: list[float] = field(default_factory=list)

    @property
    def exact(self) -> float:
        return sum(self.confusion[s, s] for s in SCORES) / self.clear

    @property
    def mean_error(self) -> float:
        return sum(abs(labelled - found) * n for (labelled, found), n in self.confusion.items()) / self.clear

    @property
    def kappa(self) -> float:
        """Cohen's kappa with quadratic weights."""
        rows = {s: sum(self.confusion[s, t] for t in SCORES) for s in SCORES}
        columns = {t: sum(self.confusion[s, t] for s in SCORES) for t in SCORES}
        seen = sum((s - t) ** 2 * n for (s, t), n in self.confusion.items())
        by_chance = sum((s - t) ** 2 * rows[s] * columns[t] / self.clear for s in SCORES for t in SCORES)
        return 1 - seen / by_chance if by_chance else 1.0

    @property
    def clear_share(self) -> float:
        return self.clear_read_as_clear / self.clear

    @property
    def vague_share(self) -> float:
        return self.vague_read_as_vague / self.vague

    def percentile(self, share: float) -> float:
        return sorted(self.milliseconds)[min(int(len(self.milliseconds) * share), len(self.milliseconds) - 1)]


def load(name: str) -> list[Labelled]:
    rows = [json.loads(line) for line in (DATA / name).read_text("utf-8").splitlines()]
    asked = ("item", "question", "answer", "follow_up_question", "follow_up_answer")
    return [
        Labelled(
            AnswerToScore.model_validate({name: row[name] for name in asked if name in row}),
            row["score"],
            row["clarity"] == "clear",
        )
        for row in rows
    ]


def measure(answers: Iterable[Labelled], *, passes: int = PASSES) -> ScoreFigures:
    figures = ScoreFigures()
    for labelled in answers:
        figures.milliseconds += [min(_timed(labelled.asked) for _ in range(passes))] if passes else []
        _count(figures, labelled, score_by_rules(labelled.asked))
    return figures


def _timed(asked: AnswerToScore) -> float:
    reader.forget()
    began = time.process_time()
    score_by_rules(asked)
    return (time.process_time() - began) * 1000


def _count(figures: ScoreFigures, labelled: Labelled, found: ItemScore) -> None:
    reads_clear = found.ambiguity <= CLEAR_UNTIL
    if labelled.is_clear:
        figures.clear += 1
        figures.clear_read_as_clear += reads_clear
        figures.confusion[labelled.score, found.score] += 1
    else:
        figures.vague += 1
        figures.vague_read_as_vague += not reads_clear
        figures.vague_best_fit += found.score == labelled.score


def report(title: str, figures: ScoreFigures) -> str:
    median, p99 = figures.percentile(0.5), figures.percentile(0.99)
    lines = [
        f"### {title}",
        "",
        "| figure | value | aim |",
        "|---|---|---|",
        f"| clear answers, exact | {figures.exact:.3f} of {figures.clear} | 0.90 |",
        f"| quadratic-weighted kappa | {figures.kappa:.3f} | 0.95 |",
        f"| mean absolute error | {figures.mean_error:.3f} | |",
        f"| clear answers with ambiguity ≤ {CLEAR_UNTIL} | {figures.clear_share:.3f} | 0.95 |",
        f"| vague answers with ambiguity > {CLEAR_UNTIL} | {figures.vague_share:.3f} of {figures.vague} | 0.95 |",
        f"| vague answers, best fit as labelled | {figures.vague_best_fit / figures.vague:.3f} | |",
        f"| milliseconds of processor time an answer, median / p99 | {median:.2f} / {p99:.2f} | 1 |",
        "",
        "| labelled | " + " | ".join(f"found {s}" for s in SCORES) + " |",
        "|---" * 6 + "|",
    ]
    lines += [f"| {s} | " + " | ".join(str(figures.confusion[s, t]) for t in SCORES) + " |" for s in SCORES]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--report", action="store_true", help="measure the report half as well")
    halves = [("Tuning half", "score_tune.jsonl")]
    if parser.parse_args().report:
        halves.append(("Report half", "score_report.jsonl"))
    for title, name in halves:
        sys.stdout.write(report(title, measure(load(name))) + "\n\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
