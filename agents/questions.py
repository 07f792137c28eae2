"""What every question must keep to, whoever worded it: the PRD's rules for the interviewer, stated as code.

A rule that is broken is named in words that a model can use to mend its question.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files

from pydantic import BaseModel, ConfigDict, Field

from agents.phrases import any_of
from errors import RejectedOutput
from instruments.level1 import Item, level1

__all__ = [
    "Draft",
    "QuestionBrief",
    "check_draft",
    "check_follow_up",
    "check_question",
    "denies_item",
    "keeps_concepts",
    "questions_in",
    "quotes_item",
    "rules_broken",
]

_WHOLE = frozenset({"no", "not", "4", "four"})  # concepts that begin other words: "normally", "notice", "fourteen"
_END = r"(?!\w)"
_ANY_WORDS = re.escape(" ... ")
_GAP = r"\s(?:[\w'-]+\s){0,4}"
_SENTENCE = re.compile(r"(?<=[.;!])\s+|\s[–—-]\s")
_CLAUSE = re.compile(r"[.,;:!]\s*|\s[–—-]\s")
_MARKUP = re.compile(r"[\n\r<>{}\[\]*#_`|\\]")


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class QuestionBrief(_Frozen):
    item: int = Field(ge=1, le=23)
    seed: int


class Draft(_Frozen):
    """An item's question, and the question that follows an unclear answer."""

    question: str
    follow_up: str


class _Forbidden(_Frozen):
    """`items`: where it is forbidden; everywhere, if none is named."""

    rule: str
    words: tuple[str, ...] = Field(min_length=1)
    items: tuple[int, ...] = ()


class _LeadIn(_Frozen):
    """What stands before a question: sentences that introduce it, and no claim about the patient."""

    introductions: tuple[str, ...]
    claims: tuple[str, ...]
    joined_by: tuple[str, ...]


class _Asking(_Frozen):
    """How a question shows in a sentence: by a question word, or by a verb that stands before its subject."""

    words: tuple[str, ...]
    tails: tuple[str, ...]
    open_words: tuple[str, ...]
    verbs: tuple[str, ...]
    subjects: tuple[str, ...]
    verbs_of_persons: tuple[str, ...]
    persons: tuple[str, ...]


class _Rules(_Frozen):
    max_words: int
    longest_run: int
    most_kept: float
    window: tuple[str, ...]
    how_often: tuple[str, ...]
    lead_in: _LeadIn
    asking: _Asking
    denying: tuple[str, ...]
    never_denied: tuple[int, ...]
    forbidden: tuple[_Forbidden, ...]


def check_draft(brief: QuestionBrief, draft: Draft) -> Draft:
    """Both questions as they are, or RejectedOutput with the rule that one of them breaks."""
    item = level1().item(brief.item)
    check_question(item, draft.question)
    check_follow_up(item, draft.follow_up)
    if _words(draft.question) == _words(draft.follow_up):
        raise RejectedOutput("follow_up must not repeat the question")
    return draft


def check_question(item: Item, text: str) -> None:
    _check_common(item, "question", text)


def check_follow_up(item: Item, text: str) -> None:
    _check_common(item, "follow_up", text)
    if not any_of(_rules().how_often).search(text):
        raise RejectedOutput("follow_up must ask on how many days it was so")


def keeps_concepts(item: Item, text: str) -> bool:
    return all(_keeps(group, text) for group in item.concepts)


def _check_common(item: Item, name: str, text: str) -> None:
    _check_shape(name, text)
    _check_verbatim(item, name, text)
    _check_concepts(item, name, text)
    if not any_of(_rules().window).search(text):
        raise RejectedOutput(f"{name} must say that it is about the past two weeks")
    for rule in rules_broken(text, item.number):
        raise RejectedOutput(f"{name} must not {rule}")
    _check_lead_in(name, text)
    if _open_question().search(text):
        raise RejectedOutput(f"{name} must ask how often it was so, or whether it was")


def _check_shape(name: str, text: str) -> None:
    if not text.strip():
        raise RejectedOutput(f"{name} must not be empty")
    if _MARKUP.search(text.strip()):
        raise RejectedOutput(f"{name} must be plain text on one line")
    if text.count("?") != 1 or not text.strip().endswith("?"):
        raise RejectedOutput(f"{name} must be exactly one question and end with its question mark")
    if questions_in(text) > 1:
        raise RejectedOutput(f"{name} must be exactly one question: it asks a second one before its question mark")
    if len(text.split()) > _rules().max_words:
        raise RejectedOutput(f"{name} must have at most {_rules().max_words} words")


def _check_lead_in(name: str, text: str) -> None:
    rules = _rules().lead_in
    *before, last = _SENTENCE.split(text.strip())
    before += last.split(":")[:-1]
    if told := [sentence for sentence in before if not _begins(rules.introductions, sentence)]:
        raise RejectedOutput(f"{name} must only ask: before its question it must not tell anything ({told[0]!r})")
    asked = _asking().search(text)
    lead = text[: asked.start()] if asked else text
    claimed = any(_begins(rules.claims, clause) for clause in _CLAUSE.split(lead.strip()))
    if claimed or (asked and _joined().search(lead)):
        raise RejectedOutput(f"{name} must not lead towards an answer: it tells the patient something before it asks")


def _check_verbatim(item: Item, name: str, text: str) -> None:
    if quotes_item(item, text):
        raise RejectedOutput(f"{name} must paraphrase the item, not quote it")


def _check_concepts(item: Item, name: str, text: str) -> None:
    if missing := [group for group in item.concepts if not _keeps(group, text)]:
        raise RejectedOutput(f"{name} must keep the idea of: {' or '.join(missing[0])}")
    if denies_item(item, text):
        raise RejectedOutput(f"{name} must ask how often it was so, not how often it was not")


def quotes_item(item: Item, text: str) -> bool:
    """Whether the item's own words stand in the text: in a long run, or nearly all of them in their order."""
    canonical, said = _words(item.text), _words(text)
    run = min(len(canonical), _rules().longest_run + 1)
    runs = (" ".join(canonical[at : at + run]) for at in range(len(canonical) - run + 1))
    if any(f" {words} " in f" {' '.join(said)} " for words in runs):
        return True
    return _kept_in_order(canonical, said) > _rules().most_kept * len(canonical)


def _kept_in_order(canonical: list[str], said: list[str]) -> int:
    """The length of the longest sequence of words that both have."""
    before = [0] * (len(said) + 1)
    for word in canonical:
        row = [0]
        for at, other in enumerate(said):
            row.append(before[at] + 1 if word == other else max(before[at + 1], row[at]))
        before = row
    return before[-1]


def questions_in(text: str) -> int:
    """How many questions a text asks, whatever its marks: "how often were you low and were you angry" asks two.

    A question word goes with the next verb that stands before its subject; each other such verb asks by itself.
    """
    found, open_word = 0, False
    for match in _asking().finditer(text.replace("’", "'")):
        found += match.lastgroup != "verb" or not open_word
        open_word = match.lastgroup == "word"
    return found


def denies_item(item: Item, text: str) -> bool:
    """Whether the question asks for the days without it. Items that are about a lack deny something themselves."""
    if item.number not in _rules().never_denied:
        return False
    denying = "|".join(map(re.escape, _rules().denying))
    named = "|".join(map(re.escape, item.concepts[0]))
    return bool(re.search(rf"(?<!\w)(?:{denying})\s(?:\w+\s){{0,3}}?(?:{named})", text.lower().replace("’", "'")))


def rules_broken(text: str, item: int = 0) -> list[str]:
    """What the text does that no question may, by the names that the rules have; `item` adds what its own may not."""
    here = [one for one in _rules().forbidden if not one.items or item in one.items]
    return [forbidden.rule for forbidden in here if any_of(forbidden.words).search(text)]


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9']+", text.lower().replace("’", "'"))


def _keeps(group: tuple[str, ...], text: str) -> bool:
    """A concept is a word or the beginning of one: `irrita` is in "irritable", `way` is not in "always".

    In one of several words, `...` stands for up to four others.
    """
    plain = text.lower().replace("’", "'")
    return any(re.search(_concept(word), plain) for word in group)


@cache
def _concept(words: str) -> str:
    return rf"(?<!\w){re.escape(words).replace(_ANY_WORDS, _GAP)}{_END if words in _WHOLE else ''}"


def _begins(phrases: tuple[str, ...], text: str) -> bool:
    return bool(any_of(phrases).match(text))


@cache
def _asking() -> re.Pattern[str]:
    asking = _rules().asking
    tail = rf"(?:and|or|but)\s{_any_word(asking.tails)}(?=\s*\?)"
    found = rf"(?<!\w)(?:(?P<word>{_any_word(asking.words)})|(?P<verb>{_verb_first()})|(?P<tail>{tail}))"
    return re.compile(found, re.IGNORECASE)


@cache
def _open_question() -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){_any_word(_rules().asking.open_words)}\s(?:{_verb_first()})", re.IGNORECASE)


@cache
def _joined() -> re.Pattern[str]:
    """A conjunction after a comma, with at most a preposition and a rounding word between it and the question."""
    return re.compile(rf"[,;]\s*{_any_word(_rules().lead_in.joined_by)}(?:\s\w+){{0,2}}\s*$", re.IGNORECASE)


def _verb_first() -> str:
    """The subject must be followed by something: "nobody was there" asks nothing."""
    asking = _rules().asking
    verb = rf"{_any_word(asking.verbs)}\s{_any_word(asking.subjects)}"
    of_persons = rf"{_any_word(asking.verbs_of_persons)}\s{_any_word(asking.persons)}"
    return rf"(?:{verb}|{of_persons})(?=\s\w)"


def _any_word(words: tuple[str, ...]) -> str:
    return rf"(?:{'|'.join(map(re.escape, words))})(?!\w)"


@cache
def _rules() -> _Rules:
    return _Rules.model_validate(tomllib.loads(files("agents").joinpath("question_rules.toml").read_text("utf-8")))
