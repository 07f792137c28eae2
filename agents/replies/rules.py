"""What a patient's reply is, when it is no answer: nothing, a refusal, a question back, a wish to stop.

The cues are data (`cues.toml`). They are taken away from each sentence first; whatever then still says yes, no or
how often is an answer. So a doubtful reply goes to the scorer, which says how unclear it is.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import Literal, NamedTuple, get_args

from pydantic import BaseModel, ConfigDict

from agents.language import BOUNDARY, Clause, Found, Scanner, Words, clauses, is_readable, read

ReplyKind = Literal[
    "answer", "empty", "wordless", "unreadable", "request", "earlier", "refusal", "question", "ready", "pause"
]
Topic = Literal["meaning", "readers", "length", "reason", "interviewer"]
TOPICS: tuple[Topic, ...] = get_args(Topic)
# Where a reply has several signs, the first of these tells what to do about it.
_ORDER: tuple[ReplyKind, ...] = ("request", "refusal", "question", "ready")
_PUNCTUATION = re.compile(r"[^\w'\s]+|_|(?<!\w)'|'(?!\w)")
_WORD = re.compile(r"[\w']+")
_NO = frozenset({"no", "nope", "nah"})
_PUZZLED = frozenset({"?", "??", "???", "????", "?!", "!?"})


@dataclass(frozen=True)
class Reply:
    """`answers`: there is something in it to score, whatever else it is. `topic` is what a question is about."""

    kind: ReplyKind
    answers: bool = False
    topic: Topic = "meaning"


class _Cues(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    anywhere: tuple[str, ...]
    start: tuple[str, ...]
    whole: tuple[str, ...]
    alone: tuple[str, ...] = ()
    off_topic: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    orders: tuple[str, ...] = ()


class _Tables(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    longest: int
    longest_echo: int
    stopping_is_the_topic: tuple[int, ...]
    fillers: tuple[str, ...]
    small: str
    answering: tuple[str, ...]
    openers: tuple[str, ...]
    statements: tuple[str, ...]
    rhetorical: tuple[str, ...]
    groups: dict[str, tuple[str, ...]]
    kinds: dict[str, _Cues]
    topics: dict[Topic, tuple[str, ...]]


def read_by_rules(text: str, *, item: int = 0, paused: bool = False) -> Reply:
    """Read a message that replies to `item`; `paused` when the conversation had been left off before it."""
    reading = read(text).text
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
    return _decided([_Sentence(reading, parts, context) for parts in parted])


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


def _is_wordless(reading: str) -> bool:
    """No digit and no word; a lone letter of another script is part of a face."""
    letters = [char for char in reading if char.isalnum()]
    return not any(char.isascii() for char in letters) and len(letters) < 2


def gives_orders(text: str) -> bool:
    """Whether a text tells the program what to do, instead of the interviewer how one has been."""
    context = _Context(item=0, paused=False, alone=False)
    reading = read(text).text
    return any(_Sentence(reading, parts, context).orders for parts in _sentences(reading))


def _sentences(reading: str) -> list[list[Clause]]:
    return [list(parts) for _, parts in groupby(clauses(reading), key=lambda clause: clause.sentence)]


class _Context(NamedTuple):
    item: int
    paused: bool
    alone: bool

    def takes(self, label: str) -> bool:
        """Whether a cue counts here at all."""
        _, _, place = label.partition("/")
        if place == "off_topic":
            return self.item not in _tables().stopping_is_the_topic
        return bool(place) and (self.alone or place != "alone")


class _Sentence:
    """One sentence: the kinds its cues speak for, and whether what is left of it answers or tells something."""

    def __init__(self, reading: str, parts: list[Clause], context: _Context) -> None:
        self.text = f" {BOUNDARY} ".join(_PUNCTUATION.sub(" ", clause.of(reading)).strip() for clause in parts)
        self.asks = reading[parts[-1].end : parts[-1].end + 3].lstrip().startswith("?")
        self._covered = [False] * len(self.text)
        self._label(_scanner().scan(Words(self.text)), context)

    def _label(self, found: list[Found], context: _Context) -> None:
        for filler in (f for f in found if f.label == "filler"):
            self._cover(filler)
        begins = self._clause_begins()
        returning = context.paused or any(f.label == "ready/whole" for f in found)
        cues = [f for f in found if context.takes(f.label) and (returning or not f.label.startswith("here/"))]
        sure = [f for f in cues if self._counts(f, begins)]
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
        self.kinds = frozenset("ready" if kind == "here" else kind for kind in kinds)
        signs = [f for f in found if f.label == "answering" and self._is_free(f)]
        self.says = frozenset(self.text[f.start : f.end] for f in signs)
        self.answers = bool(signs) or (not kinds and (bool(rest) or self._is_rhetorical(found)))
        self.tells = any(word not in _small_words() for word in rest)
        self.topic = next((name for name in TOPICS if any(f.label == f"topic {name}" for f in found)), TOPICS[0])

    def _counts(self, cue: Found, begins: set[int]) -> bool:
        place = cue.label.partition("/")[2]
        if place in ("start", "off_topic"):
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
        "filler": tables.fillers,
        "answering": tables.answering,
        "opener": tables.openers,
        "statement": tables.statements,
        "rhetorical": tables.rhetorical,
        **{f"topic {name}": patterns for name, patterns in tables.topics.items()},
    }
    for kind, cues in tables.kinds.items():
        labelled |= {f"{kind}/{place}": patterns for place, patterns in cues}
    return Scanner(labelled, tables.groups)
