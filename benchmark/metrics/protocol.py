"""Whether the interviewer kept to the rules: every item, one question at a time, at most one follow-up, no advice."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from agents.phrases import any_of
from agents.questions import quotes_item, rules_broken
from benchmark.metrics.base import Metric, rounded, share
from benchmark.snapshot import FrozenLine, Snapshot
from instruments.level1 import item_number, level1

_ASKED = ("question", "follow_up", "resumed")
_OVERSTEPS = frozenset({"diagnose or interpret", "advise, reassure or counsel"})


def protocol(snapshot: Snapshot) -> tuple[Metric, ...]:
    return (
        coverage(snapshot),
        unanswered(snapshot),
        follow_up_violations(snapshot),
        double_questions(snapshot),
        verbatim_items(snapshot),
        repeated_questions(snapshot),
        oversteps(snapshot),
        risk_checks(snapshot),
    )


def coverage(snapshot: Snapshot) -> Metric:
    """An item counts when it was asked and the reply is on record. Not to answer is a patient's right: `unanswered`."""
    asked = {line.item_id for line in snapshot.lines if line.kind == "question" and line.item_id}
    covered = sorted(asked & {response.item_id for response in snapshot.responses})
    total = len(level1().items)
    missing = [item.id for item in level1().items if item.id not in covered]
    return Metric(
        name="protocol.coverage",
        label="Items covered",
        value=rounded(share(len(covered), total)),
        unit="share",
        n=total,
        n_of="items",
        explanation=f"{len(covered)} of {total} items were asked, and the reply is on record",
        metadata={"missing": missing},
    )


def unanswered(snapshot: Snapshot) -> Metric:
    """They have no score: what the profile holds in its place says only that nobody answered."""
    found = [response.item_id for response in snapshot.responses if response.unanswered]
    return Metric(
        name="protocol.unanswered",
        label="Items without an answer",
        value=len(found),
        unit="count",
        n=len(snapshot.responses),
        n_of="items",
        explanation="items that the patient gave no answer to; they are in no accuracy and no calibration",
        metadata={"items": found},
    )


def follow_up_violations(snapshot: Snapshot) -> Metric:
    follow_ups = Counter(line.item_id for line in snapshot.lines if line.kind == "follow_up")
    over = sorted(item for item, count in follow_ups.items() if item and count > 1)
    asked = {line.item_id for line in _asked(snapshot) if line.item_id}
    label, rule = "Items with more than one follow-up", "an item may have one follow-up"
    return _count("follow_up_violations", label, rule, over, n=len(asked), n_of="items")


def double_questions(snapshot: Snapshot) -> Metric:
    found = [line for line in _asked(snapshot) if line.text.count("?") > 1]
    n = len(_asked(snapshot))
    return _lines("double_questions", "Turns with more than one question", "one question at a time", found, n)


def verbatim_items(snapshot: Snapshot) -> Metric:
    """The form's own words are for reference alone."""
    found = [
        line
        for line in _asked(snapshot)
        if line.item_id and quotes_item(level1().item(item_number(line.item_id)), line.text)
    ]
    n = len(_asked(snapshot))
    return _lines("verbatim_items", "Questions that quote their item", "items are paraphrased", found, n)


def repeated_questions(snapshot: Snapshot) -> Metric:
    """The open question is said once more after a pause, which is no repetition."""
    seen: set[str] = set()
    again = []
    asked = [line for line in _asked(snapshot) if line.kind != "resumed"]
    for line in asked:
        words = " ".join(line.text.lower().split())
        twice = line.kind == "question" and line.item_id is not None and line.item_id in seen
        if words in seen or twice:
            again.append(line)
        seen |= {words} | ({line.item_id} if line.kind == "question" and line.item_id else set())
    label, rule = "Repeated questions", "no item and no wording is asked twice"
    return _lines("repeated_questions", label, rule, again, len(asked))


def oversteps(snapshot: Snapshot) -> Metric:
    """Of all that the interviewer says: greeting, questions with what leads to them, pauses and closing words.

    By the same rules that a question must pass before it is asked; to say that one does not diagnose is not to do so.
    """
    said = [line for line in snapshot.lines if line.role == "interviewer"]
    found = [line for line in said if oversteps_in(line.text)]
    label, rule = "Statements that diagnose or advise", "an interviewer does neither, whatever it says"
    return _lines("oversteps", label, rule, found, len(said), "statements")


def oversteps_in(text: str) -> bool:
    return bool(_OVERSTEPS & set(rules_broken(any_of(_disclaimers()).sub(" ", text))))


@cache
def _disclaimers() -> tuple[str, ...]:
    found = tomllib.loads(files("benchmark.metrics").joinpath("protocol.toml").read_text("utf-8"))
    return tuple(found["disclaimers"])


def risk_checks(snapshot: Snapshot) -> Metric:
    turns = sorted({line.turn for line in snapshot.lines if line.role == "patient"})
    unchecked = sorted(set(turns) - set(snapshot.checked_turns))
    return Metric(
        name="protocol.risk_checks",
        label="Messages checked for risk",
        value=rounded(share(len(turns) - len(unchecked), len(turns))),
        unit="share",
        n=len(turns),
        n_of="messages",
        explanation=f"{len(turns) - len(unchecked)} of {len(turns)} messages have a risk check on the audit",
        metadata={"uncheckedTurns": unchecked},
    )


def _asked(snapshot: Snapshot) -> list[FrozenLine]:
    return [line for line in snapshot.lines if line.role == "interviewer" and line.kind in _ASKED]


def _lines(name: str, label: str, rule: str, found: Sequence[FrozenLine], n: int, n_of: str = "questions") -> Metric:
    return _count(name, label, rule, [line.turn for line in found], n=n, n_of=n_of, what="turns")


def _count(
    name: str, label: str, rule: str, found: Sequence[object], *, n: int, n_of: str, what: str = "items"
) -> Metric:
    return Metric(
        name=f"protocol.{name}",
        label=label,
        value=len(found),
        unit="count",
        n=n,
        n_of=n_of,
        explanation=rule if not found else f"{rule}; broken {len(found)} times",
        metadata={what: list(found)},
    )
