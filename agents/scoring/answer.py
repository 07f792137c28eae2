"""An answer taken apart into clauses, each with its marks and its expressions of frequency."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby, pairwise

from agents.language import BOUNDARY, Clause, Found, Reading, Words, clauses, read
from agents.language.frequency import Frequency, read_frequencies
from agents.language.tagging import Token, tagged, vocabulary, words_of
from agents.language.typos import Speller
from agents.scoring.keeping import kept
from agents.scoring.parts import WORD, Part
from agents.scoring.tables import cue_scanner, cues, topic_scanner, topics

_LONG = 7  # the short ones are too near to others: thin and thing, brought and bought
_HEAD = 6  # characters: "and the …", "then …"
_ODD_SIGNS = frozenset("{}[]\\.")


@dataclass(frozen=True)
class Answer:
    """One text of the patient's, read for one item."""

    reading: Reading
    parts: tuple[Part, ...]
    sentences: dict[int, tuple[Part, ...]]
    tokens: tuple[Token, ...]
    item: int

    @property
    def tells_of_others_or_before(self) -> bool:
        """Whether other people or another time are spoken of: a count may then be theirs."""
        return any(part.who == "other" or part.has("person", "past", "quit") for part in self.parts)

    @kept
    def denied_questions(self) -> set[int]:
        """'Every day? No, two days.': numbers of the clauses that ask oneself how often, and say no to that."""
        asked = (p for p, no in pairwise(self.parts) if p.asks_how_often and no.is_mere_no)
        return {at for part in asked for at in (part.index, part.index + 1)}

    def sentence(self, part: Part) -> tuple[Part, ...]:
        return self.sentences[part.sentence]

    def before(self, part: Part) -> Part | None:
        """The clause before this one in its sentence."""
        earlier = self.parts[part.index - 1] if part.index else None
        return earlier if earlier and earlier.sentence == part.sentence else None

    def after(self, part: Part) -> Part | None:
        later = self.parts[part.index + 1] if part.index + 1 < len(self.parts) else None
        return later if later and later.sentence == part.sentence else None


def take_apart(text: str, item: int) -> Answer:
    reading = _mended(read(text))
    found = clauses(reading.text)
    parts = [_part(reading.text, index, clause, item) for index, clause in enumerate(found)]
    tokens = tagged(reading.text)
    if parts:
        words = Words(_marked(reading.text, found))
        weeks = [token for token in tokens if token.tag == "LASTWEEK"]
        _place(parts, [*cue_scanner().scan(words), *topic_scanner(item).scan(words)], read_frequencies(tokens))
        _give_weeks(parts, weeks)
    sentences = {number: tuple(group) for number, group in groupby(parts, key=lambda part: part.sentence)}
    return Answer(reading, tuple(parts), sentences, tuple(tokens), item)


def _part(text: str, index: int, clause: Clause, item: int) -> Part:
    ending = text[clause.end : clause.end + 1]
    return Part(index, clause.start, clause.end, clause.sentence, clause.of(text), ending, item)


def _place(parts: list[Part], marks: Iterable[Found], often: Iterable[Frequency]) -> None:
    starts = [part.start for part in parts]
    for found in marks:
        part = parts[max(0, bisect_right(starts, found.start) - 1)]
        part.marks.setdefault(found.label, []).append(found)
    for frequency in often:
        at = max(0, bisect_right(starts, frequency.start) - 1)
        parts[at].frequencies.append(frequency)
        for part in parts[at + 1 : bisect_right(starts, frequency.end)]:
            part.covered = frequency.end


def _give_weeks(parts: list[Part], weeks: list[Token]) -> None:
    """'The second week I was low every day': a week that begins a clause is that of what it counts."""
    if len(weeks) < 2:
        return
    for part in parts:
        head = next((w for w in weeks if part.start <= w.start < min(part.end, part.start + _HEAD)), None)
        if head:
            told = [f.week is not None and f.week in part.text for f in part.frequencies]
            part.frequencies[:] = [
                f if own else _of_week(f, head.text) for f, own in zip(part.frequencies, told, strict=True)
            ]


def _of_week(frequency: Frequency, week: str) -> Frequency:
    counts = frequency.form in ("count", "universal", "dates", "bare", "said") and not frequency.negated
    return replace(frequency, week=week) if counts else frequency


def _marked(text: str, found: list[Clause]) -> str:
    """The text with a boundary between clauses, so that patterns stop there."""
    chars = list(text)
    for previous, current in pairwise(found):
        begin = previous.end if previous.end < current.start else current.start - 1
        chars[begin : current.start] = BOUNDARY * (current.start - begin)
    for at in range(found[-1].end, len(chars)):
        chars[at] = BOUNDARY
    return "".join(chars)


def _mended(reading: Reading) -> Reading:
    changes = _speller().changes(reading.text)
    return reading.replaced(changes) if changes else reading


@cache
def _speller() -> Speller:
    """Typing errors are mended in the words of frequency, and in the longer ones that items are made of."""
    words: set[str] = set()
    tables = [p for topic in topics().items.values() for p in (*topic.present, *topic.absent)]
    others = [p for topic in topics().items.values() for p in (*topic.explained, *topic.unexplained)]
    tables += [p for patterns in cues().tables.values() for p in patterns]
    for pattern in tables:
        if _ODD_SIGNS.isdisjoint(pattern):
            words.update(word for said in words_of(pattern) for word in WORD.findall(said))
    long = {word for word in words if len(word) >= _LONG}
    also = {word for pattern in others for word in WORD.findall(pattern)}  # "strange" is no "strangle"
    return Speller((word for word in vocabulary() | long if word.isalpha()), also_known=words | also)
