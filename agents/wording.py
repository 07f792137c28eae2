"""The rules interviewer's words: which of the prepared sentences is said, by the session's seed.

All choices of a session follow from its seed and from what the interviewer has said so far (`said`), so that a turn
that runs again says the same. Two questions in a row do not begin alike, no lead comes twice in a row, and "in that
time" is only said after a question that named the two weeks.
"""

from __future__ import annotations

import random
import tomllib
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import Literal, NamedTuple, get_args

from pydantic import BaseModel, ConfigDict, Field

from agents.questions import Draft, QuestionBrief
from agents.replies import Reply, ReplyKind, Topic

Tone = Literal["plain", "gentle", "open", "kept"]
TONES: tuple[Tone, ...] = get_args(Tone)
_SILENT_EVERY = 4  # nobody gives thanks for every answer
_BACK_REFERENCE = "that time"


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ItemWords(_Frozen):
    number: int
    questions: tuple[str, ...] = Field(min_length=4)
    follow_ups: tuple[str, ...] = Field(min_length=2)
    explained: tuple[str, ...] = Field(min_length=2)


class Again(_Frozen):
    """How a question is put again after a reply of this kind."""

    kind: ReplyKind
    topic: Topic = "meaning"
    then: Literal["explained", "how_often"]
    leads: tuple[str, ...] = Field(min_length=4)


class Pause(_Frozen):
    first: tuple[str, ...] = Field(min_length=2)
    distress: tuple[str, ...] = Field(min_length=2)
    again: tuple[str, ...] = Field(min_length=2)
    back: tuple[str, ...] = Field(min_length=2)
    repeated: tuple[str, ...] = Field(min_length=2)


class Wordings(_Frozen):
    intro: str
    closing: str
    acknowledgements: dict[Tone, tuple[str, ...]]
    follow_up_leads: dict[Literal["unclear", "elsewhere"], tuple[str, ...]]
    again: tuple[Again, ...]
    pause: Pause


def intro_text() -> str:
    return wordings().intro.strip()


def closing_text() -> str:
    return wordings().closing


def acknowledgement(seed: int, item: int, tone: Tone = "plain") -> str:
    """A short neutral phrase before an item's question, or none; never the same one twice in a row."""
    choice = _random(seed, tone)
    phrases = _shuffled(wordings().acknowledgements[tone], choice)
    silent = tone == "plain" and (item + choice.randrange(_SILENT_EVERY)) % _SILENT_EVERY == 0
    return "" if silent else phrases[item % len(phrases)]


def word_by_rules(brief: QuestionBrief) -> Draft:
    plan = _plan(brief.seed)[brief.item - 1]
    return Draft(question=plan.question, follow_up=plan.follow_up)


def follow_up_lead(brief: QuestionBrief, *, elsewhere: bool, said: Sequence[str] = ()) -> str:
    """What goes before a follow-up, if anything; `elsewhere` after an answer that said nothing of the item."""
    phrases = wordings().follow_up_leads["elsewhere" if elsewhere else "unclear"]
    return _not_the_last(_shuffled(phrases, _random(brief.seed, "lead")), brief.item, said)


def asked_again(brief: QuestionBrief, reply: Reply, how_often: str, said: Sequence[str] = ()) -> str:
    """The one repeat that a reply which was no answer gets; `how_often` is the item's follow-up."""
    way = ways_to_ask_again()[reply.kind, reply.topic if reply.kind == "question" else "meaning"]
    leads = _shuffled(way.leads, _random(brief.seed, f"again {way.kind} {way.topic}"))
    lead = _not_the_last(leads, brief.item, said).format(number=brief.item)
    explained = _random(brief.seed, f"again {brief.item}").choice(item_words(brief.item).explained)
    return f"{lead} {explained if way.then == 'explained' else how_often}"


def pause_text(seed: int, turn: int, *, again: bool, distressed: bool = False, said: Sequence[str] = ()) -> str:
    pause = wordings().pause
    return _not_the_last(pause.again if again else pause.distress if distressed else pause.first, seed + turn, said)


def welcome_text(seed: int, turn: int, question: str = "", said: Sequence[str] = ()) -> str:
    """After a pause; with the question that was open, if one was."""
    back = _not_the_last(wordings().pause.back, seed + turn, said)
    return f"{back} {_not_the_last(wordings().pause.repeated, seed + turn, said)} {question}" if question else back


class _Planned(NamedTuple):
    question: str
    follow_up: str


@lru_cache(maxsize=256)
def _plan(seed: int) -> tuple[_Planned, ...]:
    choice = _random(seed, "questions")
    planned: list[_Planned] = []
    for words in all_item_words():
        before = planned[-1].question if planned else None
        planned.append(_Planned(choice.choice(_fitting(words.questions, before)), choice.choice(words.follow_ups)))
    return tuple(planned)


def _fitting(questions: Sequence[str], before: str | None) -> Sequence[str]:
    """Those that may follow the question before."""
    if before is None or _BACK_REFERENCE in before:
        questions = [q for q in questions if _BACK_REFERENCE not in q]
    other = [q for q in questions if before is None or _opening(q) != _opening(before)]
    return other or questions


def _opening(question: str) -> str:
    return question.split()[0].lower().rstrip(",:")


def _not_the_last(phrases: Sequence[str], at: int, said: Sequence[str]) -> str:
    """The phrase whose turn it is, or the one after it if it was the last of these that was said."""
    spoken = [phrase for phrase in phrases if phrase]
    heard = (phrase for text in reversed(said) for phrase in spoken if _before_number(phrase) in text)
    due = phrases[at % len(phrases)]
    return due if not due or due != next(heard, None) else phrases[(at + 1) % len(phrases)]


def _before_number(phrase: str) -> str:
    """What a phrase with a number in it says alike each time."""
    return phrase.partition("{")[0]


def _shuffled(phrases: Sequence[str], choice: random.Random) -> list[str]:
    return choice.sample(phrases, len(phrases))


def _random(seed: int, purpose: str) -> random.Random:
    return random.Random(f"{seed}:{purpose}")  # noqa: S311  # wording, not secrets


def item_words(item: int) -> ItemWords:
    return all_item_words()[item - 1]


@cache
def wordings() -> Wordings:
    return Wordings.model_validate(tomllib.loads(files("agents").joinpath("wordings.toml").read_text("utf-8")))


@cache
def ways_to_ask_again() -> dict[tuple[ReplyKind, Topic], Again]:
    return {(way.kind, way.topic): way for way in wordings().again}


@cache
def all_item_words() -> tuple[ItemWords, ...]:
    entries = tomllib.loads(files("agents").joinpath("questions.toml").read_text("utf-8"))["items"]
    found = tuple(ItemWords.model_validate(entry) for entry in entries)
    if [words.number for words in found] != list(range(1, 24)):
        raise ValueError("questions.toml must have items 1 to 23 in order")
    return found
