"""Of whom, of when and of which days each clause speaks, where it does not say so itself."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from agents.scoring.answer import Answer
from agents.scoring.parts import Part

TURNS = ("but ", "though ", "although ", "however ", "yet ", "now ", "whereas ", "instead ", "otherwise ", "except ")
_ASIDES = ("when ", "because ", "cos ", "where ", "if ", "who ", "which ", "while ", "as ", "whenever ", "since ")
_SINCE_THEN = re.compile(r"(?:since|before)(?: then| that)?\W*$")
_NOT_SINCE = re.compile(r"(?:and )?(?:then )?(?:not|none|nothing|never)\W*$")
_BACKWARD = (
    "that was ",
    "it was ",
    "they were ",
    "that's from ",
    "that includes ",
    "those were ",
    "those two were ",
    "those three were ",
)


@dataclass
class Scopes:
    """Numbers of clauses: about others, about a time before, about the days left over, mere circumstances."""

    others: set[int] = field(default_factory=set)
    past: set[int] = field(default_factory=set)
    rest: set[int] = field(default_factory=set)
    asides: set[int] = field(default_factory=set)
    """Circumstances: what they deny is not the matter."""

    def is_relevant(self, part: Part) -> bool:
        elsewhere = part.index in self.others or part.index in self.past
        return not elsewhere and not part.has("maybe_so") and not part.is_off_topic


def scopes(answer: Answer) -> Scopes:
    found = Scopes()
    before: tuple[Part, ...] = ()
    for sentence in answer.sentences.values():
        _mark_others(sentence, found)
        _mark_past(sentence, before, found)
        _mark_rest(sentence, found)
        before = sentence
    return found


def _mark_others(sentence: Iterable[Part], found: Scopes) -> None:
    """A clause with no subject of its own goes on about the one before it."""
    about_others = False
    for part in sentence:
        if part.who == "other":
            about_others = True
        elif part.who == "self" or part.begins_with(*TURNS) or part.matters or part.frequencies:
            about_others = about_others and part.who in ("unsaid", "thing") and not part.begins_with(*TURNS)
        if about_others:
            found.others.add(part.index)


def _mark_past(sentence: tuple[Part, ...], before: tuple[Part, ...], found: Scopes) -> None:
    for stretch in _stretches(sentence):
        if not any(_is_past(part) for part in stretch):
            continue
        found.past.update(part.index for part in stretch if not part.has("now", "quit"))
        if stretch[0] is sentence[0] and _looks_back(sentence):
            found.past.update(part.index for part in before if not part.has("now"))


def _looks_back(sentence: tuple[Part, ...]) -> bool:
    """'That was in spring'; 'no wait, those two were last month'."""
    opening = next((at for at, part in enumerate(sentence) if not part.is_bare), 0)
    return any(part.begins_with(*_BACKWARD) for part in (sentence[0], sentence[opening]))


def _is_past(part: Part) -> bool:
    return part.has("past") and not part.has("now", "compared", "begun") and "since" not in part.text


def _stretches(sentence: Iterable[Part]) -> list[list[Part]]:
    """The sentence, cut where it turns to something else."""
    stretches: list[list[Part]] = []
    for part in sentence:
        if not stretches or part.begins_with(*TURNS) or part.has("now"):
            stretches.append([])
        stretches[-1].append(part)
    return stretches


def _mark_rest(sentence: tuple[Part, ...], found: Scopes) -> None:
    """'Apart from that day, no'; 'I haven't had it | since'; and circumstances: 'when I'm not working'."""
    opened = False
    aside = False
    for part in sentence:
        aside = part.begins_with(*_ASIDES) or (aside and part.begins_with("and ", "or "))
        if aside:
            found.asides.add(part.index)
        marked = part.has("rest") or part.begins_with("before ")
        if opened or marked:
            found.rest.add(part.index)
        if part is not sentence[0] and _is_since_then(sentence[part.index - sentence[0].index - 1], part):
            found.rest.add(part.index - 1)
        opened = (marked or part.has("partly")) and not part.frequencies and not part.matters


def _is_since_then(part: Part, following: Part) -> bool:
    """'I haven't had it | since', 'not | since the fall'; but 'I've been clean | since 2015' says it of today."""
    if _SINCE_THEN.match(following.first_words):
        return True
    return following.begins_with("since ") and bool(_NOT_SINCE.match(part.first_words))
