"""A message as the rules see it: sentences with their clauses, idioms covered, modifiers marked."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from agents.language import BOUNDARY, Clause, Found, Reading, Words, clauses
from agents.risk.tables import Cue, apart_scanner, cues, meaning_scanner, panic_scanner, small_words, support_scanner
from agents.risk.verdict import Level

_MASK = "•"
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Hit:
    """A cue found in a sentence, with the level that is left of it and the modifiers that were applied."""

    cue: Cue
    start: int
    end: int
    sentence: Sentence
    level: Level
    applied: tuple[str, ...] = ()

    @property
    def affirmed(self) -> bool:
        return self.level != "none"

    @property
    def words(self) -> str:
        return self.sentence.text[self.start : self.end]

    @property
    def clause(self) -> Clause:
        return self.sentence.clauses[self.sentence.clause_index(self.start)]


class Sentence:
    """One sentence; positions count from its own beginning."""

    def __init__(self, message: Message, number: int, parts: list[Clause]) -> None:
        text = message.reading.text
        self.message = message
        self.number = number
        self.offset, end = parts[0].start, parts[-1].end
        self.plain = text[self.offset : end]
        self.ending = text[end : end + 3].strip()
        self.clauses = [Clause(c.start - self.offset, c.end - self.offset, c.sentence) for c in parts]
        self.marked = _marked(self.plain, self.clauses)
        self._starts = [c.start for c in self.clauses]

    def clause_index(self, position: int) -> int:
        return max(0, bisect_right(self._starts, position) - 1)

    @cached_property
    def text(self) -> str:
        """With a boundary between clauses, and what is said but not meant covered."""
        unmeant = self.said("idioms", "leaving", *(("parting",) if self.message.only_parts else ()))
        covered = _covered(self.marked, unmeant)
        if not panic_scanner().may_match(self._marked_words):
            return covered
        unbroken = _covered(self.plain, unmeant).replace(",", " ")  # panic runs on over commas
        return _covered(covered, panic_scanner().scan(Words(unbroken)))

    @cached_property
    def _marked_words(self) -> Words:
        return Words(self.marked)

    @cached_property
    def _apart(self) -> dict[str, list[Found]]:
        return _by_label(apart_scanner().scan(self._marked_words))

    def said(self, *names: str) -> list[Found]:
        return [found for name in names for found in self._apart.get(name, ())]

    @cached_property
    def words(self) -> Words:
        return self._marked_words if self.text == self.marked else Words(self.text)

    @cached_property
    def _meaning(self) -> tuple[list[Found], list[Found]]:
        """The cues, and what changes their meaning."""
        found = meaning_scanner().scan(self.words)
        known = cues()
        return [one for one in found if one.label in known], [one for one in found if one.label not in known]

    def cues(self) -> list[Hit]:
        """The cues that are read in the sentence."""
        return [self.hit(place) for place in self._meaning[0]]

    @cached_property
    def supports(self) -> list[Hit]:
        return [self.hit(place) for place in support_scanner().scan(self.words)]

    def hit(self, place: Found) -> Hit:
        cue = cues()[place.label]
        level: Level = cue.level if cue.level == "stop" or cue.level == "flag" else "none"
        return Hit(cue, place.start, place.end, self, level)

    @cached_property
    def _marks(self) -> dict[str, list[Found]]:
        marks = _by_label(self._meaning[1])
        unread = marks.get("pseudo_negation", [])
        for name in ("negators", "thought"):
            marks[name] = _outside(marks.get(name, []), unread)
        marks["conditions"] = _outside(marks.get("conditions", []), marks.get("asides", []))
        return marks

    @cached_property
    def leaves_off(self) -> bool:
        """Whether it asks to stop the conversation, and says nothing else."""
        return self.message.only_parts or self.says_only("leaving")

    @cached_property
    def only_refuses(self) -> bool:
        """Whether it says of some act that it will not be done, and nothing else."""
        return self.has_apart("refusing") and self.says_only("refusing", "assuring")

    @cached_property
    def is_everyday(self) -> bool:
        """Whether it says of something kind or ordinary that it will be done, and nothing else."""
        return self.has_apart("everyday") and self.says_only("everyday", "ordinary_when")

    def has_apart(self, name: str) -> bool:
        """As `has`, of a table that is read before anything is covered."""
        return name in self._apart

    def says_only(self, *names: str) -> bool:
        """Whether it is covered by these tables of the idioms but for small words."""
        said = self.said(*names)
        rest = _WORD.findall(_covered(self.marked, said)) if said else [""]
        return all(word in small_words() for word in rest)

    @cached_property
    def is_safe(self) -> bool:
        return bool(_outside(self.marks("safety"), self.marks("pseudo_negation")))

    def marks(self, name: str, start: int = 0, end: int | None = None) -> list[Found]:
        """The marks of a modifier that begin in a stretch, in order. Negation within pseudo-negation does not count."""
        found = self._marks.get(name, [])
        if start <= 0 and end is None:
            return found
        first = bisect_left(found, start, key=lambda mark: mark.start)
        last = len(found) if end is None else bisect_left(found, end, key=lambda mark: mark.start)
        return found[first:last]

    def has(self, name: str) -> bool:
        return bool(self._marks.get(name))

    @cached_property
    def _fresh(self) -> list[int]:
        """Where somebody begins to speak of themselves anew: 'no I don't care | I'm going to …'."""
        held = {mark.end for mark in self.marks("holding")}
        return [m.start for m in self.marks("selves_first") if not _follows(self.text, m.start, held)]

    def scope(self, hit: Hit) -> tuple[int, int]:
        """From the last fresh start before a hit to the next one after it, within its clause."""
        clause = hit.clause
        at = bisect_right(self._fresh, hit.start)
        begin = self._fresh[at - 1] if at else 0
        end = self._fresh[at] if at < len(self._fresh) else clause.end
        return max(clause.start, begin), min(clause.end, max(end, hit.end))

    @property
    def following(self) -> Sentence | None:
        sentences = self.message.sentences
        return sentences[self.number + 1] if self.number + 1 < len(sentences) else None


class Message:
    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        by_sentence: dict[int, list[Clause]] = {}
        for clause in clauses(reading.text):
            by_sentence.setdefault(clause.sentence, []).append(clause)
        self.sentences = [Sentence(self, number, parts) for number, parts in enumerate(by_sentence.values())]
        self._met: dict[re.Pattern[str], frozenset[int]] = {}

    @cached_property
    def only_parts(self) -> bool:
        """Whether all of it greets, takes leave or puts off; beside anything else such words may be the answer."""
        return all(sentence.says_only("leaving", "parting") for sentence in self.sentences)

    def questions_met_with(self, answer: re.Pattern[str]) -> frozenset[int]:
        """The numbers of the questions after which, perhaps behind more questions, a sentence begins with `answer`.

        Told for all of them at once: a message may be nothing but questions.
        """
        if answer not in self._met:
            met: set[int] = set()
            for sentence, following in reversed(list(pairwise(self.sentences))):
                if "?" in sentence.ending and (following.number in met or answer.match(following.text)):
                    met.add(sentence.number)
            self._met[answer] = frozenset(met)
        return self._met[answer]

    @cached_property
    def safe_until(self) -> int:
        """The number of the last sentence in which the patient says that they are safe or held back; -1 for none."""
        return max((sentence.number for sentence in self.sentences if sentence.is_safe), default=-1)


def _by_label(found: list[Found]) -> dict[str, list[Found]]:
    by_label: dict[str, list[Found]] = {}
    for place in found:
        by_label.setdefault(place.label, []).append(place)
    return by_label


def _follows(text: str, start: int, ends: set[int]) -> bool:
    """Whether one of the places that `ends` names is just before `start`, but for the space between."""
    return len(text[:start].rstrip()) in ends if start < 2 else (start - 1 in ends or start - 2 in ends)


def _outside(marks: list[Found], unread: list[Found]) -> list[Found]:
    """The marks that lie in no stretch of `unread`; both are in order of their beginnings."""
    kept, at, reach = [], 0, -1
    for mark in marks:
        while at < len(unread) and unread[at].start <= mark.start:
            reach = max(reach, unread[at].end)
            at += 1
        if mark.start >= reach:
            kept.append(mark)
    return kept


def _marked(text: str, parts: list[Clause]) -> str:
    """The same text with a boundary character between clauses, so that patterns stop there."""
    if len(parts) < 2:
        return text
    chars = list(text)
    for previous, current in pairwise(parts):
        begin = previous.end if previous.end < current.start else current.start - 1
        for position in range(begin, current.start):
            chars[position] = BOUNDARY
    return "".join(chars)


def _covered(text: str, found: list[Found]) -> str:
    if not found:
        return text
    chars = list(text)
    for place in found:
        chars[place.start : place.end] = _MASK * (place.end - place.start)
    return "".join(chars)
