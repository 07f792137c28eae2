"""What a patient's reply is, when it is no answer: nothing, a refusal, a question back, a wish to stop.

The cues are data (`cues.toml`). They are taken away from each sentence first; whatever then still says yes, no or
how often is an answer. So a doubtful reply goes to the scorer, which says how unclear it is.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import Literal, NamedTuple, get_args

from pydantic import BaseModel, ConfigDict

from agents.language import BOUNDARY, Clause, Found, Reading, Scanner, Words, clauses, is_readable, read
from agents.replies.naming import items_named, names

ReplyKind = Literal[
    "answer",
    "empty",
    "wordless",
    "unreadable",
    "request",
    "earlier",
    "complaint",
    "refusal",
    "question",
    "ready",
    "pause",
]
Topic = Literal["meaning", "readers", "length", "reason", "interviewer"]
TOPICS: tuple[Topic, ...] = get_args(Topic)
# Where a reply has several signs, the first of these tells what to do about it.
_ORDER: tuple[ReplyKind, ...] = ("request", "complaint", "refusal", "question", "ready")
_PUNCTUATION = re.compile(r"[^\w'\s]+|_|(?<!\w)'|'(?!\w)")
_WORD = re.compile(r"[\w']+")
_NO = frozenset({"no", "nope", "nah"})
# "Yes" after a pause says that one is here; a name goes back to an item; who is in distress needs a pause.
_ALIASES = {"here": "ready", "named": "earlier", "distress": "pause"}
_PUZZLED = frozenset({"?", "??", "???", "????", "?!", "!?"})


@dataclass(frozen=True)
class Reply:
    """`answers`: there is something in it to score, whatever else it is. `topic` is what a question is about.

    `about` is the item that a patient went back to, where they named it, and `own` what of such a message is about the
    open item. `distressed`: it is too much for the patient right now.
    """

    kind: ReplyKind
    answers: bool = False
    topic: Topic = "meaning"
    about: int = 0
    own: str = ""
    distressed: bool = False


class _Cues(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    anywhere: tuple[str, ...]
    start: tuple[str, ...]
    whole: tuple[str, ...]
    alone: tuple[str, ...] = ()
    off_topic: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    orders: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()


class _Tables(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    longest: int
    longest_echo: int
    stopping_is_the_topic: tuple[int, ...]
    fillers: tuple[str, ...]
    excuses: tuple[str, ...]
    small: str
    answering: tuple[str, ...]
    denying: tuple[str, ...]
    lasting: tuple[str, ...]
    away: tuple[str, ...]
    unwilling: tuple[str, ...]
    pointing: tuple[str, ...]
    openers: tuple[str, ...]
    statements: tuple[str, ...]
    rhetorical: tuple[str, ...]
    groups: dict[str, tuple[str, ...]]
    kinds: dict[str, _Cues]
    topics: dict[Topic, tuple[str, ...]]


def read_by_rules(text: str, *, item: int = 0, paused: bool = False) -> Reply:
    """Read a message that replies to `item`; `paused` when the conversation had been left off before it."""
    meant = read(text)
    reading = meant.text
    if not reading.strip():
        return Reply("empty")
    if _is_wordless(reading):
        return Reply("question" if set(reading.split()) <= _PUZZLED else "wordless")
    if not is_readable(text):
        return Reply("unreadable")
    parted = _sentences(reading)
    if not parted:
        return Reply("wordless")
    context = _Context(item=item, paused=paused, alone=len(parted) == 1)
    if len(reading.split()) > longest_reply():
        wants_to_stop = "pause" in _Sentence(reading, parted[-1], context).kinds
        return Reply("pause" if wants_to_stop else "answer", answers=True)
    sentences = _read(reading, parted, context)
    reply = _decided(sentences)
    if reply.kind == "earlier":
        return went_back(meant, sentences, item)
    return replace(reply, distressed=any(s.distressed for s in sentences))


def longest_reply() -> int:
    """Words; what is longer is a story."""
    return _tables().longest


def _decided(sentences: list[_Sentence]) -> Reply:
    kinds = {kind for sentence in sentences for kind in sentence.kinds}
    answers = any(sentence.answers for sentence in sentences)
    if "pause" in kinds:
        return Reply("pause", answers=any(s.says - (_NO if "pause" in s.kinds else set()) for s in sentences))
    if "earlier" in kinds:
        return Reply("earlier")
    # "No, I'd rather not say." denies nothing, no more than "No, can we stop?"
    declines = "refusal" in kinds and all(s.says and s.says <= _NO for s in sentences if s.answers)
    if declines or not answers:
        for kind in _ORDER:
            if kind in kinds:
                topic = next((s.topic for s in sentences if kind in s.kinds), TOPICS[0])
                return Reply(kind, answers=kind == "question" and any(s.tells for s in sentences), topic=topic)
    return Reply("answer", answers=True)


def topic_of(sentences: Sequence[_Sentence]) -> Topic:
    """What a question is about that only the second reader has found."""
    return next((s.topic for s in sentences if s.topic != TOPICS[0]), TOPICS[0])


def sentences_of(meant: Reading, item: int) -> list[_Sentence]:
    parted = _sentences(meant.text)
    return _read(meant.text, parted, _Context(item, paused=False, alone=len(parted) == 1))


def went_back(meant: Reading, sentences: list[_Sentence], item: int) -> Reply:
    """A message about an earlier item: which one, and what else it says of the open one.

    What comes after the turn back belongs to it ("Can I change my answer? It should be every night."), until something
    names the open item or points at it ("this one: never"); what comes before it does not.
    """
    turn = next((s for s in sentences if s.turns_back(item)), None)
    if turn is None:
        return Reply("earlier", about=_named(meant.text, item))
    at = sentences.index(turn)
    own = [s.span for s in sentences[:at] if s.says]
    own += [span for span in (turn.said_first, turn.said_last) if span]
    told, of_open = turn.text, turn.said_last is not None
    for sentence in sentences[at + 1 :]:
        of_open = not sentence.turns_back(item) and (of_open or sentence.is_about_the_open(item))
        if of_open and sentence.says:
            own.append(sentence.span)
        else:
            told += f" {sentence.text}"
    part = " ".join(meant.original[slice(*meant.span(*span))].strip() for span in own)
    return Reply("earlier", answers=bool(part), about=_named(told, item), own=part)


def _named(text: str, item: int) -> int:
    return next((number for number in items_named(text, before=item) if number < item), 0)


def _is_wordless(reading: str) -> bool:
    """No digit and no word; a lone letter of another script is part of a face."""
    letters = [char for char in reading if char.isalnum()]
    return not any(char.isascii() for char in letters) and len(letters) < 2


def gives_orders(text: str) -> bool:
    """Whether a text tells the program what to do, instead of the interviewer how one has been."""
    return any(sentence.orders for sentence in sentences_of(read(text), item=0))


def in_distress(text: str) -> bool:
    """Whether it is too much for the patient right now."""
    return any(sentence.distressed for sentence in sentences_of(read(text), item=0))


def lasts(reading: str) -> bool:
    """Something in it with which nobody asks for a break."""
    return any(found.label == "lasting" for found in _scanner().scan(Words(reading)))


def stays_away(reading: str) -> bool:
    """After a pause: not to go on, a leave that is taken, or a wish for help; nobody who says so is back."""
    return any(found.label == "away" for found in _scanner().scan(Words(reading)))


def denies(reading: str) -> bool:
    """A no to what was asked, with nothing in it of not wanting to be asked."""
    found = _scanner().scan(Words(reading))
    return any(f.label == "denying" and f.start == 0 for f in found) and not any(f.label == "unwilling" for f in found)


def _sentences(reading: str) -> list[list[Clause]]:
    return [list(parts) for _, parts in groupby(clauses(reading), key=lambda clause: clause.sentence)]


def _read(reading: str, parted: list[list[Clause]], context: _Context) -> list[_Sentence]:
    """Read once more, where one sentence points at the open item: some cues count only beside that."""
    sentences = [_Sentence(reading, parts, context) for parts in parted]
    if context.points or not any(sentence.points for sentence in sentences):
        return sentences
    return _read(reading, parted, context._replace(points=True))


class _Context(NamedTuple):
    """`points`: somewhere the message says that it speaks of the open item."""

    item: int
    paused: bool
    alone: bool
    points: bool = False

    def takes(self, label: str) -> bool:
        """Whether a cue counts here at all."""
        _, _, place = label.partition("/")
        if place == "off_topic":
            return self.item not in _tables().stopping_is_the_topic
        if place == "beside":
            return self.points
        return bool(place) and (self.alone or place != "alone")


class _Sentence:
    """One sentence: the kinds its cues speak for, and whether what is left of it answers or tells something."""

    def __init__(self, reading: str, parts: list[Clause], context: _Context) -> None:
        self.text = f" {BOUNDARY} ".join(_PUNCTUATION.sub(" ", clause.of(reading)).strip() for clause in parts)
        self.span = parts[0].start, parts[-1].end
        self.asks = reading[parts[-1].end : parts[-1].end + 3].lstrip().startswith("?")
        self._covered = [False] * len(self.text)
        self._label(_scanner().scan(Words(self.text)), context)
        self.said_first = self._before_turning_back(parts)
        self.said_last = self._after_turning_back(parts)

    def _label(self, found: list[Found], context: _Context) -> None:
        for filler in (f for f in found if f.label == "filler"):
            self._cover(filler)
        begins = self._clause_begins()
        returning = context.paused or any(f.label == "ready/whole" for f in found)
        cues = [f for f in found if context.takes(f.label) and (returning or not f.label.startswith("here/"))]
        sure = [f for f in cues if self._counts(f, begins) and not self._names_the_open(f, context.item)]
        for cue in sure:
            self._cover(cue)
        kinds = {cue.label.partition("/")[0] for cue in sure}
        kinds |= self._all_said([f for f in cues if f.label.endswith(("/whole", "/alone"))])
        if not kinds and self._is_question(found, begins):
            kinds = {"question"}
        if self.asks and kinds & {"question", "request"} and self._opens(found, begins):
            self._cover_all()  # what a question names, it does not claim
        self.orders = any(f.label.endswith("/orders") for f in sure)
        if self.orders:
            self._cover_all()
        rest = self._rest()
        if not kinds and not rest:
            kinds = {"ready"}
        self.kinds = frozenset(_ALIASES.get(kind, kind) for kind in kinds)
        self.distressed = "distress" in kinds
        self._turn = min((f.start for f in sure if f.label.startswith(("earlier/", "named/"))), default=None)
        self._pointing = [f.start for f in found if f.label == "pointing" and f.start in begins]
        self.points = bool(self._pointing)
        signs = [f for f in found if f.label == "answering" and self._is_free(f)]
        self._signs = [f.start for f in signs]
        self.says = frozenset(self.text[f.start : f.end] for f in signs)
        self.answers = bool(signs) or (not kinds and (bool(rest) or self._is_rhetorical(found)))
        self.tells = any(word not in _small_words() for word in rest)
        self.topic = next((name for name in TOPICS if any(f.label == f"topic {name}" for f in found)), TOPICS[0])

    def turns_back(self, item: int) -> bool:
        """Whether it goes back to an earlier item: by a cue, or by the name of one."""
        named = items_named(self.text, before=item)
        return "earlier" in self.kinds or bool(named and named[0] < item)

    def _before_turning_back(self, parts: list[Clause]) -> tuple[int, int] | None:
        """The clauses before the turn, if they say something. "No, about the last one" denies nothing."""
        if self._turn is None:
            return None
        at = self.text.count(BOUNDARY, 0, self._turn)
        first = [start for start in self._signs if self.text.count(BOUNDARY, 0, start) < at]
        says = {word for start in first for word in _WORD.findall(self.text[start:])[:1]}
        return (parts[0].start, parts[at - 1].end) if says - _NO else None

    def _after_turning_back(self, parts: list[Clause]) -> tuple[int, int] | None:
        """The clauses that come to the open item, once something was said of the other."""
        if self._turn is None:
            return None
        first = min((start for start in self._signs if start > self._turn), default=len(self.text))
        at = next((start for start in self._pointing if start > first), None)
        if at is None or not any(start > at for start in self._signs):
            return None
        return parts[self.text.count(BOUNDARY, 0, at)].start, parts[-1].end

    def is_about_the_open(self, item: int) -> bool:
        return self.points or items_named(self.text, before=item)[:1] == [item]

    def _names_the_open(self, cue: Found, item: int) -> bool:
        """ "About the mood one" goes back, unless mood is what was just asked about."""
        if not cue.label.startswith("named/"):
            return False
        named = items_named(self.text[cue.start : cue.end], before=item)
        return item in named or not named

    def _counts(self, cue: Found, begins: set[int]) -> bool:
        place = cue.label.partition("/")[2]
        if place in ("start", "off_topic", "beside"):
            return cue.start in begins
        return place in ("anywhere", "orders") or (place == "asked" and self.asks)

    def _all_said(self, whole: list[Found]) -> set[str]:
        """The kinds of cues that leave nothing but fillers over."""
        kept = list(self._covered)
        for cue in whole:
            self._cover(cue)
        if self._rest():
            self._covered = kept
            return set()
        return {cue.label.partition("/")[0] for cue in whole}

    def _is_question(self, found: list[Found], begins: set[int]) -> bool:
        if not self.asks or self._is_rhetorical(found):
            return False
        claims = any(self._is_free(f) for f in found if f.label == "answering")
        if self._opens(found, begins):
            return not (claims and self.text.startswith("like"))
        short = len(_WORD.findall(self.text)) <= _tables().longest_echo
        return short and not claims and not any(f.label == "statement" and f.start in begins for f in found)

    def _opens(self, found: list[Found], begins: set[int]) -> bool:
        first = min(begins, default=-1)
        return any(f.label == "opener" and f.start == first for f in found) and not self._is_rhetorical(found)

    @staticmethod
    def _is_rhetorical(found: list[Found]) -> bool:
        return any(f.label == "rhetorical" for f in found)

    def _clause_begins(self) -> set[int]:
        """Where the first word of each clause stands that is no filler."""
        begins, waiting = set(), True
        for match in re.finditer(rf"{BOUNDARY}|[\w']+", self.text):
            if match[0] == BOUNDARY:
                waiting = True
            elif waiting and not self._covered[match.start()]:
                begins.add(match.start())
                waiting = False
        return begins

    def _cover(self, found: Found) -> None:
        for at in range(found.start, found.end):
            self._covered[at] = True

    def _cover_all(self) -> None:
        self._covered = [True] * len(self.text)

    def _is_free(self, found: Found) -> bool:
        return not any(self._covered[found.start : found.end])

    def _rest(self) -> list[str]:
        return [match[0] for match in _WORD.finditer(self.text) if not self._covered[match.start()]]


@cache
def _tables() -> _Tables:
    return _Tables.model_validate(tomllib.loads(files("agents.replies").joinpath("cues.toml").read_text("utf-8")))


@cache
def _small_words() -> frozenset[str]:
    return frozenset(_tables().small.split())


@cache
def _scanner() -> Scanner:
    tables = _tables()
    labelled: dict[str, tuple[str, ...]] = {
        "filler": (*tables.fillers, *tables.excuses),
        "answering": tables.answering,
        "denying": tables.denying,
        "lasting": tables.lasting,
        "away": tables.away,
        "unwilling": tables.unwilling,
        "pointing": tables.pointing,
        "opener": tables.openers,
        "statement": tables.statements,
        "rhetorical": tables.rhetorical,
        **{f"topic {name}": patterns for name, patterns in tables.topics.items()},
    }
    for kind, cues in tables.kinds.items():
        labelled |= {f"{kind}/{place}": patterns for place, patterns in cues}
    return Scanner(labelled, {**tables.groups, "named": names()})
