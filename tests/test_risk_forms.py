"""A change of form never lowers a level, whatever the turn: white space, case, punctuation, emoji, neutral sentences.

The turns are drawn from all tuning turns; tests/test_risk_properties.py tries a fixed few of them with every change.
Those the second reader has learned. What it has not learned is tried at the end, on a few of the report turns: by their
ids alone, since nobody who works on the rules is to read them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agents.risk import Level, check_risk
from agents.risk.verdict import RANK

TUNING = Path(__file__).parent / "data" / "risk_tune.jsonl"
REPORT = Path(__file__).parent / "data" / "risk_report.jsonl"
EVERY = 40  # of the report turns
ABOUT_FORM = ("adversarial", "spelling", "disguised", "unreadable", "language", "injection", "shorthand", "leet")
"""Changing the form of a disguise may undo it, and a foreign sentence is not read sentence by sentence."""
NEUTRAL = (
    "The weather has been mild.",
    "I had toast for breakfast.",
    "We live near the station.",
    "My sister called on Sunday.",
    "I work in an office three days a week.",
    "The bus was late again this morning.",
    "We have two cats and a small garden.",
    "I watched the news and went to bed at ten.",
    "Thank you for asking.",
    "Sorry, the line was bad for a moment.",
    "My coffee has gone cold.",
    "I usually cook in the evening.",
    "The dentist was fine.",
    "Can you hear me?",
    "It took me a while to find the link.",
    "I am forty-two and I drive a van.",
    "There is a lot of traffic outside.",
    "My knee is better than last month.",
    "We painted the kitchen yellow.",
    "I like the mornings best.",
    "The children are at school.",
    "I read a little before work.",
    "My mother makes very good soup.",
    "That is a long question.",
    "The heating was repaired on Tuesday.",
    "I take the train to town.",
    "He plays football with his friends on Saturdays.",
    "We went to the market.",
    "I had eggs and then I fed the dog.",
    "It is raining here.",
)
STUCK = re.compile(r"(?<=[a-z]{2}[.!?]) +(?=[A-Z][a-z' ])")
ENDS = re.compile(r"[.!]+(?=\s|$)")
WITHIN = re.compile(r"[,;:]+(?=\s)| +[–—]+(?= )")

Change = Callable[[str], str]


def ended(text: str) -> str:
    return text if text.rstrip()[-1:] in (".", "!", "?", "…") else f"{text.rstrip()}."


WHITE_SPACE: dict[str, Change] = {
    "doubled": lambda text: text.replace(" ", "  "),
    "tabs": lambda text: text.replace(" ", "\t"),
    "no-break": lambda text: text.replace(" ", "\u00a0"),
    "wrapped lines": lambda text: text.replace(" ", "\n", 4),
    "around": lambda text: f" \n\t{text}\n \n",
}
CASE: dict[str, Change] = {
    "upper": str.upper,
    "lower": str.lower,
    "title": str.title,
    "first letter": lambda text: text[:1].swapcase() + text[1:],
}
PUNCTUATION: dict[str, Change] = {
    "exclamation marks": lambda text: ENDS.sub("!!!", text),
    "dots": lambda text: ENDS.sub("...", text),
    "an ellipsis": lambda text: ENDS.sub("…", text),
    "a question mark": lambda text: f"{text.rstrip(' .!…')}?",
    "none at the end": lambda text: text.rstrip(" .!…"),
    "none within": lambda text: WITHIN.sub("", text),
    "doubled commas": lambda text: text.replace(",", ",,"),
    "no space after it": lambda text: STUCK.sub("", text),
    "in quotation marks": lambda text: text if '"' in text else f'"{text}"',
    "no apostrophes": lambda text: text.replace("'", ""),
    "curly apostrophes": lambda text: text.replace("'", "’"),
}
EMOJI: dict[str, Change] = {
    "before": lambda text: f"😔 {text}",
    "after": lambda text: f"{text} 🙂",
    "after every sentence": lambda text: ENDS.sub(". 😢", text),
    "glued to the last word": lambda text: f"{text.rstrip(' .!')}😭",
}


@cache
def turns() -> tuple[dict[str, Any], ...]:
    """Every turn with something to lose."""
    rows = [json.loads(line) for line in TUNING.read_text("utf-8").splitlines()]
    return tuple(r for r in rows if r["level"] != "none" and not any(word in r["category"] for word in ABOUT_FORM))


TURN = st.deferred(lambda: st.sampled_from(turns()))
sampled = settings(
    max_examples=60, deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)


@cache
def level(text: str, item: int) -> Level:
    verdict = check_risk(text, item)
    assert not verdict.degraded, "an engine that fails flags everything, whatever its form"
    return verdict.level


def assert_not_lowered(turn: dict[str, Any], changed: str) -> None:
    item = turn["item"] or 0
    before, after = level(turn["text"], item), level(changed, item)
    assert RANK[after] >= RANK[before], f"{turn['id']} at item {item}: {before} became {after} as {changed!r}"


@sampled
@given(TURN, st.sampled_from(sorted(WHITE_SPACE)))
def test_white_space_never_lowers_a_level(turn: dict[str, Any], change: str) -> None:
    assert_not_lowered(turn, WHITE_SPACE[change](turn["text"]))


@sampled
@given(TURN, st.sampled_from(sorted(CASE)))
def test_case_never_lowers_a_level(turn: dict[str, Any], change: str) -> None:
    assert_not_lowered(turn, CASE[change](turn["text"]))


@sampled
@given(TURN, st.sampled_from(sorted(PUNCTUATION)))
def test_punctuation_never_lowers_a_level(turn: dict[str, Any], change: str) -> None:
    """But sentences do not run into one another: then it is not the same that is said."""
    assert_not_lowered(turn, PUNCTUATION[change](turn["text"]))


@sampled
@given(TURN, st.sampled_from(sorted(EMOJI)))
def test_emoji_never_lower_a_level(turn: dict[str, Any], change: str) -> None:
    assert_not_lowered(turn, EMOJI[change](turn["text"]))


@sampled
@given(TURN, st.lists(st.sampled_from(NEUTRAL), max_size=2), st.lists(st.sampled_from(NEUTRAL), max_size=2))
def test_neutral_sentences_around_never_lower_a_level(
    turn: dict[str, Any], before: list[str], after: list[str]
) -> None:
    assert_not_lowered(turn, " ".join([*before, ended(turn["text"]), *after]))


# ---- turns that the reader has not learned ----

UNLEARNED: dict[str, Change] = {
    "upper case": str.upper,
    "lower case": str.lower,
    "spaces doubled": lambda text: text.replace(" ", "  "),
    "wrapped lines": WHITE_SPACE["wrapped lines"],
    "a neutral sentence before": lambda text: f"{NEUTRAL[0]} {text}",
    "a neutral sentence after": lambda text: f"{ended(text)} {NEUTRAL[3]}",
    "a foreign sentence before": lambda text: f"Que dios me perdone por todo esto. {text}",
    "a foreign sentence after": lambda text: f"{ended(text)} Que dios me perdone por todo esto.",
    "no space after a full stop": lambda text: STUCK.sub("", text),
    "in quotation marks": lambda text: text if '"' in text else f'"{text}"',
    "tags": lambda text: f"<p>{text.replace(' ', ' <b></b>', 3)}</p>",
}


@cache
def unlearned() -> tuple[dict[str, Any], ...]:
    lines = REPORT.read_text("utf-8").splitlines()[::EVERY]
    return tuple(row for row in map(json.loads, lines) if not any(word in row["category"] for word in ABOUT_FORM))


@pytest.mark.parametrize("change", UNLEARNED)
def test_form_never_lowers_the_level_of_a_turn_that_nobody_has_learned(change: str) -> None:
    fallen = []
    for row in unlearned():
        item = row["item"] or 0
        before, after = level(row["text"], item), level(UNLEARNED[change](row["text"]), item)
        if RANK[after] < RANK[before]:
            fallen.append((row["id"], before, after))
    assert not fallen, f"by {change}"
