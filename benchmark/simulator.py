"""The offline patient: answers in a persona's voice, from its gold scores, with seeded variety.

`phrases.toml` is a small grammar. For each item the patient settles on a number of days that means its score, keeps to
phrases that are true for that number, and is clear, vague, rambling or off topic; a follow-up always clarifies.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from random import Random
from typing import Literal, NamedTuple

from pydantic import Field

from benchmark.personas import Frozen, Persona, Said, Style, days_of
from instruments.level1 import Score

Mode = Literal["clear", "vague", "rambling", "off_topic"]
Unit = Literal["day", "night", "evening"]
Polarity = Literal["present", "absent"]
Banks = Mapping[str, Sequence[str]]

_SLOT = re.compile(r"\{(\w+)\}")
_SENTENCE_START = re.compile(r"((?:^|(?<!\.)[.?!] )[\"']?)([a-z])")


def polarity_of(score: Score) -> Polarity:
    return "present" if score else "absent"


class Phrase(Said):
    unit: Unit | None = None
    """Said of this unit only."""

    def fits(self, days: int, unit: Unit) -> bool:
        return self.days[0] <= days <= self.days[1] and self.unit in (None, unit)


class Topic(Frozen):
    """What an item is about. `direct`: answers of this kind come straight, since nobody is vague about them."""

    item: int
    units: tuple[Unit, ...] = ("day",)
    direct: tuple[Polarity, ...] = ()
    clauses: tuple[str, ...] = Field(min_length=4)
    mild: tuple[str, ...] = Field(min_length=2)
    strong: tuple[str, ...] = Field(min_length=2)
    denials: tuple[str, ...] = Field(min_length=5)
    contrasts: tuple[str, ...] = Field(min_length=3)
    present: tuple[str, ...] = ()
    """This topic's own patterns, before those of the style."""

    def presence(self, score: Score) -> tuple[str, ...]:
        return self.clauses + (self.mild if score <= 2 else self.strong)


class Voice(Frozen):
    modes: dict[Mode, int]
    lowercase: bool = False
    yes: tuple[str, ...]
    no: tuple[str, ...]
    present: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    rewrites: tuple[tuple[str, str], ...] = ()
    typos: tuple[tuple[str, str], ...] = ()


class Phrases(Frozen):
    numbers: tuple[str, ...] = Field(min_length=15, max_length=15)
    adverbials: tuple[Phrase, ...]
    counts: tuple[Phrase, ...]
    patterns: dict[str, tuple[str, ...]]
    banks: dict[str, tuple[str, ...]]
    styles: dict[Style, Voice]
    topics: tuple[Topic, ...]

    def topic(self, item: int) -> Topic:
        return next(topic for topic in self.topics if topic.item == item)


@cache
def phrases() -> Phrases:
    return Phrases.model_validate(tomllib.loads(files("benchmark").joinpath("phrases.toml").read_text("utf-8")))


class _HowOften(NamedTuple):
    adverbials: tuple[str, ...]
    counts: tuple[str, ...]


@cache
def _true_of(days: int, unit: Unit) -> _HowOften:
    banks = (phrases().adverbials, phrases().counts)
    return _HowOften(*(tuple(phrase.text for phrase in bank if phrase.fits(days, unit)) for bank in banks))


class Plan(NamedTuple):
    """What the patient has settled on for an item; the same for the answer and for a follow-up."""

    topic: Topic
    score: Score
    days: int
    unit: Unit
    mode: Mode
    own: Said | None

    @property
    def polarity(self) -> Polarity:
        return polarity_of(self.score)


class SimulatedPatient:
    def __init__(self, persona: Persona, seed: int) -> None:
        self.persona = persona
        self.seed = seed
        self.voice = phrases().styles[persona.style]

    def answer(self, item: int, *, is_follow_up: bool, question: str) -> str:  # noqa: ARG002 - a model reads it
        """The same words for the same persona, seed, item and kind of question, however that is worded."""
        rng = self._random(item, "follow-up" if is_follow_up else "answer")
        if item == self.persona.stop_at:
            return rng.choice(self.persona.stop_words)
        plan = self.plan(item)
        text = self._clarified(plan, rng) if is_follow_up else self._first(plan, rng)
        return self._spoken(text, rng)

    def _random(self, item: int, purpose: str) -> Random:
        return Random(f"{self.persona.id}/{self.seed}/{item}/{purpose}")  # noqa: S311 - variety, not secrecy

    def plan(self, item: int) -> Plan:
        """What this patient has to tell about an item, by the seed."""
        rng = self._random(item, "plan")
        topic, score = phrases().topic(item), self.persona.scores[item]
        own = rng.choice(self.persona.answers[item]) if item in self.persona.answers else None
        days = own.days[1] if own else rng.choice(days_of(score))
        (mode,) = rng.choices(list(self.voice.modes), weights=list(self.voice.modes.values()))
        straight = own or polarity_of(score) in topic.direct
        return Plan(topic, score, days, rng.choice(topic.units), "clear" if straight else mode, own)

    def _first(self, plan: Plan, rng: Random) -> str:
        if plan.mode == "off_topic":
            return expand("{off_topic}", self._banks(plan), rng)
        kind = plan.polarity if plan.mode == "clear" else f"{plan.mode}_{plan.polarity}"
        told = plan.own.text if plan.own else expand(f"{{{kind}}}", self._banks(plan), rng)
        return " ".join([told, *self._facts(plan, rng)])

    def _clarified(self, plan: Plan, rng: Random) -> str:
        kind = "clarified" if plan.mode in ("vague", "off_topic") else "repeated"
        told = expand(f"{{{kind}_{plan.polarity}}}", self._banks(plan), rng)
        return " ".join([told, *(self._facts(plan, rng) if plan.mode == "off_topic" else ())])

    def _facts(self, plan: Plan, rng: Random) -> list[str]:
        known = self.persona.facts.get(plan.topic.item, ())
        return rng.sample(known, min(len(known), 2 if plan.mode == "rambling" else 1))

    def _banks(self, plan: Plan) -> Banks:
        book, voice = phrases(), self.voice
        return {
            **book.banks,
            **book.patterns,
            "present": plan.topic.present or voice.present or book.patterns["present"],
            "absent": voice.absent or book.patterns["absent"],
            "yes": voice.yes,
            "no": voice.no,
            "freq": _true_of(plan.days, plan.unit).adverbials,
            "count": _true_of(plan.days, plan.unit).counts,
            "clause": plan.topic.presence(plan.score),
            "denial": plan.topic.denials,
            "contrast": plan.topic.contrasts,
            "n": (book.numbers[plan.days], str(plan.days)),
            "day": (plan.unit,),
            "days": (f"{plan.unit}s",),
            "a_day": (f"an {plan.unit}" if plan.unit == "evening" else f"a {plan.unit}",),
        }

    def _spoken(self, text: str, rng: Random) -> str:
        text = text.lower() if self.voice.lowercase else _SENTENCE_START.sub(lambda s: s[1] + s[2].upper(), text)
        for pattern, replacement in self.voice.rewrites:
            text = re.sub(pattern, replacement, text)
        slips = [slip for slip in self.voice.typos if slip[0] in text]
        return text.replace(*rng.choice(slips), 1) if slips and rng.random() < 0.4 else text


def expand(text: str, banks: Banks, rng: Random) -> str:
    """Replace every {slot} by an entry of its bank, and the slots in that in turn."""

    def filled(slot: re.Match[str]) -> str:
        chosen = expand(rng.choice(banks[slot[1].lower()]), banks, rng)
        return chosen[:1].upper() + chosen[1:] if slot[1][0].isupper() else chosen

    return _SLOT.sub(filled, text)
