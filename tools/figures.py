"""Figures of the risk check on labelled turns, for the docs: `python -m tools.figures`, or some of its parts."""

from __future__ import annotations

import argparse
import json
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from scipy.stats import binomtest

from agents.risk import Level, check_risk, warm_up
from benchmark.personas import load_personas
from benchmark.simulator import SimulatedPatient
from instruments.profile import RiskFlags, SessionStatus

DATA = Path(__file__).parent.parent / "tests" / "data"
LEVELS: tuple[Level, ...] = ("stop", "flag", "none")
FLAGS = tuple(RiskFlags().model_dump(by_alias=True))
CONCERNS = {
    "suicide, self-harm": frozenset(("suicidalityMentioned", "selfHarmIdeation")),
    "violence": frozenset(("violenceRisk",)),
    "substances": frozenset(("substanceAbuseSignal",)),
}
ORDINARY_SEEDS = 4
PLAIN = "plain answers"
NAMED_TRAPS = ("idiom", "denial", "somebody else", "panic, fear of dying")


@dataclass(frozen=True)
class Labelled:
    text: str
    item: int
    level: Level
    category: str
    flags: frozenset[str] = frozenset()


@dataclass
class RiskFigures:
    """`confusion` counts (labelled, found), `kinds` (labelled, kind, found), `concerns` (labelled, concern, found).

    `flags` counts for each of the four flags (labelled, found), `tolerated` the turns that were found none and count as
    flagged, since the specification tolerates both.
    """

    confusion: Counter[tuple[Level, Level]] = field(default_factory=Counter)
    kinds: Counter[tuple[Level, str, Level]] = field(default_factory=Counter)
    concerns: Counter[tuple[Level, str, Level]] = field(default_factory=Counter)
    flags: Counter[tuple[str, bool, bool]] = field(default_factory=Counter)
    milliseconds: list[float] = field(default_factory=list)
    tolerated: int = 0

    def total(self, labelled: Level) -> int:
        return sum(self.confusion[labelled, found] for found in LEVELS)

    def share(self, labelled: Level, *found: Level) -> tuple[int, int]:
        return sum(self.confusion[labelled, level] for level in found), self.total(labelled)

    def precision(self, flag: str) -> tuple[int, int]:
        right = self.flags[flag, True, True]
        return right, right + self.flags[flag, False, True]

    def recall(self, flag: str) -> tuple[int, int]:
        right = self.flags[flag, True, True]
        return right, right + self.flags[flag, True, False]

    def add(self, turn: Labelled) -> None:
        """Somebody else in danger may be flagged or not."""
        began = time.perf_counter()
        verdict = check_risk(turn.text, turn.item)
        self.milliseconds.append((time.perf_counter() - began) * 1000)
        tolerated = turn.category == "tolerated" and verdict.level == "none"
        self.tolerated += tolerated
        found: Level = "flag" if tolerated else verdict.level
        self.confusion[turn.level, found] += 1
        self.kinds[turn.level, _kind(turn), found] += 1
        for concern, flags in CONCERNS.items():
            if flags & turn.flags:
                self.concerns[turn.level, concern, found] += 1
        set_flags = verdict.flags.model_dump(by_alias=True)
        for flag in FLAGS:
            self.flags[flag, flag in turn.flags, set_flags[flag]] += 1


def load(name: str) -> list[Labelled]:
    rows = [json.loads(line) for line in (DATA / name).read_text("utf-8").splitlines()]
    return [
        Labelled(row["text"], row["item"] or 0, row["level"], row["category"], frozenset(row["flags"])) for row in rows
    ]


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


@cache
def _kinds() -> dict[str, dict[str, list[str]]]:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


def _kind(turn: Labelled) -> str:
    for kind, parts in _kinds().get(turn.level, {}).items():
        if any(part in turn.category for part in parts):
            return kind
    return "other"


def measure(turns: Iterable[Labelled]) -> RiskFigures:
    figures = RiskFigures()
    for turn in turns:
        figures.add(turn)
    figures.milliseconds.sort()
    return figures


_HEAD = ["| figure | count | share | 95 % Wilson |", "|---|---|---|---|"]


def _said(name: str, hits: int, of: int) -> str:
    if not of:
        return f"| {name} | 0 / 0 | | |"
    interval = binomtest(hits, of).proportion_ci(method="wilson")
    return f"| {name} | {hits} / {of} | {hits / of:.3f} | {interval.low:.3f} – {interval.high:.3f} |"


def report(title: str, figures: RiskFigures) -> str:
    lines = [f"### {title}", "", *_HEAD]
    if figures.total("stop"):
        lines += [
            _said("stop found", *figures.share("stop", "stop")),
            _said("stop called none", *figures.share("stop", "none")),
            _said("flag kept (flag or stop)", *figures.share("flag", "flag", "stop")),
            _said("stop on a flag", *figures.share("flag", "stop")),
        ]
    lines.append(_said("false stop on none", *figures.share("none", "stop")))
    if figures.total("stop"):
        lines += [_said(f"false stop, {name}", *stopped(figures, kinds)) for name, kinds in trap_groups().items()]
    lines.append(_said("flag on none", *figures.share("none", "flag")))
    if figures.tolerated:
        lines += ["", f"Somebody else in danger, found none and counted as kept: {figures.tolerated}."]
    lines += ["", _times(figures.milliseconds), ""]
    lines += ["| labelled | " + " | ".join(f"found {level}" for level in LEVELS) + " |", "|---|---|---|---|"]
    for labelled in LEVELS:
        counts = " | ".join(str(figures.confusion[labelled, found]) for found in LEVELS)
        lines.append(f"| {labelled} | {counts} |")
    if figures.total("stop"):
        lines += _by_concern(figures) + _by_flag(figures) + _by_kind(figures)
    return "\n".join(lines)


def _times(ordered: list[float]) -> str:
    median, most, nearly_all = (ordered[int(len(ordered) * share)] for share in (0.5, 0.9, 0.99))
    return f"{median:.2f} ms median, {most:.2f} ms p90, {nearly_all:.2f} ms p99 a turn, tables compiled."


def trap_groups() -> dict[str, list[str]]:
    """Plain answers and traps have aims of their own; the specification names four kinds of traps."""
    kinds = [*_kinds()["none"], "other"]
    return {
        "plain answers": [PLAIN],
        "traps": [kind for kind in kinds if kind != PLAIN],
        "the four kinds of traps that are named": list(NAMED_TRAPS),
    }


def stopped(figures: RiskFigures, kinds: list[str]) -> tuple[int, int]:
    counts = [shared(figures.kinds, "none", kind)("stop") for kind in kinds]
    return sum(stopped for stopped, _ in counts), sum(of for _, of in counts)


def _by_concern(figures: RiskFigures) -> list[str]:
    """A turn that is labelled with two concerns counts for both."""
    lines = ["", "By concern:", "", *_HEAD]
    for concern in CONCERNS:
        stops = shared(figures.concerns, "stop", concern)
        flags = shared(figures.concerns, "flag", concern)
        if concern != "substances":
            lines.append(_said(f"{concern}: stop found", *stops("stop")))
            lines.append(_said(f"{concern}: stop called none", *stops("none")))
        lines.append(_said(f"{concern}: flag kept", *flags("flag", "stop")))
        lines.append(_said(f"{concern}: stop on a flag", *flags("stop")))
    return lines


def _by_flag(figures: RiskFigures) -> list[str]:
    lines = ["", "The four flags, over all turns:", "", *_HEAD]
    for flag in FLAGS:
        lines.append(_said(f"`{flag}`: precision", *figures.precision(flag)))
        lines.append(_said(f"`{flag}`: recall", *figures.recall(flag)))
    return lines


def _by_kind(figures: RiskFigures) -> list[str]:
    lines = ["", "Stops where none was due, by kind of turn:", "", *_HEAD]
    for level in ("none", "flag"):
        for kind in (*_kinds()[level], "other"):
            stopped, of = shared(figures.kinds, level, kind)("stop")
            if of:
                lines.append(_said(f"{level}: {kind}", stopped, of))
    return lines


def shared(counts: Counter[tuple[Level, str, Level]], labelled: Level, name: str) -> Callable[..., tuple[int, int]]:
    """Counts of one kind or concern: the levels found, of all that were labelled so."""

    def share(*found: Level) -> tuple[int, int]:
        return (
            sum(counts[labelled, name, level] for level in found),
            sum(counts[labelled, name, level] for level in LEVELS),
        )

    return share


PARTS: dict[str, tuple[str, Callable[[], list[Labelled]]]] = {
    "tune": ("Tuning turns", lambda: load("risk_tune.jsonl")),
    "report": ("Report turns", lambda: load("risk_report.jsonl")),
    "now": ("What is being done now", lambda: load("risk_now.jsonl")),
    "ordinary": ("Ordinary turns of simulated patients", ordinary),
    "answered": ("Answers of interviews and scored answers", answered),
}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Figures of the risk check on labelled turns, as Markdown.")
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="all of them if none is named")
    parser.add_argument("--every", type=int, default=1, help="only every n-th turn, for a quick look")
    chosen = parser.parse_args(arguments)
    warm_up()
    for part in chosen.parts or PARTS:
        title, turns = PARTS[part]
        sys.stdout.write(report(title, measure(turns()[:: chosen.every])) + "\n\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
