"""The interview's state: typed models in the nodes, plain data in the checkpoint.

`InterviewState` and `plain` are the border between the two. So whatever is read from a checkpoint has been validated,
no class name is stored, and a renamed class breaks no old session.
Patient text lives only inside list and dict channels: LangGraph stores top-level strings unencrypted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Annotated, Any, Literal, TypeVar, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from agents.contract import Failure
from agents.interviewer import Draft
from agents.replies import Reply
from agents.risk import Level, Span
from errors import StorageError
from instruments.level1 import Score, item_id
from instruments.profile import (
    Ambiguity,
    PatientProfile,
    RiskFlags,
    Role,
    SessionStatus,
    Timestamp,
    TranscriptLine,
)
from storage.sessions import DiagnosticMode

STATE_VERSION = 2

LineKind = Literal["intro", "question", "follow_up", "answer", "aside", "pause", "resumed", "closing", "safety_script"]
"""An `aside` is what a patient says that answers nothing: "skip", "what do you mean?", "can we stop?"."""

CheckPart = Literal["rules", "reader", "model"]
"""What a risk check is made of."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Setup(_Frozen):
    """What was fixed when the session began."""

    session_id: str
    mode: DiagnosticMode = "diagnostic"
    seed: int


class Cursor(_Frozen):
    """Where the conversation stands. `turn` is the number that the patient's next message will have.

    `awaiting` is the open question of `item`; a pause leaves it as it is. `reply` is what the last message was, and
    `unread` the embedded readers that failed on it.
    """

    turn: int = 1
    item: int = 0
    awaiting: Literal["nothing", "answer", "follow_up"] = "nothing"
    paused: bool = False
    reply: Reply = Reply("answer", answers=True)
    unread: tuple[str, ...] = ()


class Line(_Frozen):
    """One utterance. `turn` is the patient's turn it belongs to: a question and its answer share one."""

    turn: int
    role: Role
    kind: LineKind
    text: str
    item: int = 0
    at: Timestamp

    def transcribed(self) -> TranscriptLine:
        about = item_id(self.item) if self.item else None
        return TranscriptLine(role=self.role, text=self.text, timestamp=self.at, item_id=about)


class RiskRecord(_Frozen):
    """What the risk check said of a turn that it did not find harmless; spans are offsets in the patient's text.

    `degraded`: part of the check failed, and `failed` says which.
    """

    level: Level
    rule: str
    spans: tuple[Span, ...] = ()
    flags: RiskFlags = RiskFlags()
    degraded: bool = False
    failed: tuple[CheckPart, ...] = ()


class AgentRecord(_Frozen):
    """Which engine made something, and what went wrong before."""

    engine: Literal["llm", "rules"]
    model: str | None
    prompt_version: str | None
    tries: int
    failures: tuple[Failure, ...] = ()
    seconds: float = Field(ge=0)


class SecondOpinion(_Frozen):
    """What the rules say of an answer that a model scored; where they disagree, the ambiguity was raised."""

    score: Score
    ambiguity: Ambiguity
    disagrees: bool


class ScoreRecord(AgentRecord):
    """How an item's score came about. `unanswered`: nobody scored it, since the reply was no answer.

    `unread` are the embedded readers that failed on the reply or its score, so that the rules had to do alone.
    """

    second_opinion: SecondOpinion | None = None
    unanswered: bool = False
    unread: tuple[str, ...] = ()


class InterviewUpdate(TypedDict, total=False):
    """What nodes may write. New drafts, records and lines join the ones there are."""

    profile: PatientProfile
    cursor: Cursor
    drafts: dict[int, Draft]
    wordings: dict[int, AgentRecord]
    records: dict[int, ScoreRecord]
    risks: dict[int, RiskRecord]
    lines: list[Line]


Plain = dict[str, Any]


def _merge(old: Plain, new: Plain) -> Plain:
    return {**old, **new}


def _extend(old: list[Plain], new: list[Plain]) -> list[Plain]:
    """Append lines that are not there yet: a node that runs again after a crash adds nothing twice."""
    known = {_key(line) for line in old}
    return old + [line for line in new if _key(line) not in known]


def _key(line: Plain) -> tuple[int, str, str]:
    return line["turn"], line["role"], line["kind"]


class StoredState(TypedDict):
    """The channels, as they are checkpointed."""

    state_version: int
    setup: Plain
    profile: Plain
    cursor: Plain
    drafts: Annotated[Plain, _merge]
    wordings: Annotated[Plain, _merge]
    records: Annotated[Plain, _merge]
    risks: Annotated[Plain, _merge]
    lines: Annotated[list[Plain], _extend]


_REDUCERS: dict[str, Callable[..., Any]] = {
    name: channel.__metadata__[0]
    for name, channel in get_type_hints(StoredState, include_extras=True).items()
    if hasattr(channel, "__metadata__")
}


def _with_wordings(values: Plain) -> Plain:
    return {"wordings": {}, **values, "state_version": 2}


MIGRATIONS: dict[int, Callable[[Plain], Plain]] = {1: _with_wordings}
"""From a state version to the next; a checkpoint of an older Crosscut is carried over when it is read."""

_UPDATE: TypeAdapter[InterviewUpdate] = TypeAdapter(InterviewUpdate)
_DRAFTS: TypeAdapter[dict[int, Draft]] = TypeAdapter(dict[int, Draft])
_WORDINGS: TypeAdapter[dict[int, AgentRecord]] = TypeAdapter(dict[int, AgentRecord])
_RECORDS: TypeAdapter[dict[int, ScoreRecord]] = TypeAdapter(dict[int, ScoreRecord])
_RISKS: TypeAdapter[dict[int, RiskRecord]] = TypeAdapter(dict[int, RiskRecord])
_LINES: TypeAdapter[list[Line]] = TypeAdapter(list[Line])
T = TypeVar("T")


class InterviewState:
    """What nodes see: each part is validated when it is first looked at, and only then."""

    def __init__(self, stored: Mapping[str, Any]) -> None:
        self._stored = _migrated({name: stored[name] for name in StoredState.__annotations__ if name in stored})

    @cached_property
    def setup(self) -> Setup:
        return self._valid("setup", Setup.model_validate)

    @cached_property
    def profile(self) -> PatientProfile:
        return self._valid("profile", PatientProfile.model_validate)

    @cached_property
    def cursor(self) -> Cursor:
        return self._valid("cursor", Cursor.model_validate)

    @cached_property
    def drafts(self) -> dict[int, Draft]:
        return self._valid("drafts", _DRAFTS.validate_python)

    @cached_property
    def wordings(self) -> dict[int, AgentRecord]:
        """Who worded each item."""
        return self._valid("wordings", _WORDINGS.validate_python)

    @cached_property
    def records(self) -> dict[int, ScoreRecord]:
        return self._valid("records", _RECORDS.validate_python)

    @cached_property
    def risks(self) -> dict[int, RiskRecord]:
        """By turn; turns that were harmless are not listed."""
        return self._valid("risks", _RISKS.validate_python)

    @cached_property
    def lines(self) -> list[Line]:
        return self._valid("lines", _LINES.validate_python)

    @property
    def is_open(self) -> bool:
        return self.profile.session_status is SessionStatus.ACTIVE

    @property
    def last_line(self) -> Line | None:
        """What was said last, without looking at the rest."""
        return self._valid("lines", lambda lines: Line.model_validate(lines[-1]) if lines else None)

    @property
    def said(self) -> list[str]:
        """What the interviewer has said so far, as bare text."""
        return self._valid("lines", lambda lines: [str(x["text"]) for x in lines if x["role"] == "interviewer"])

    def lines_of(self, item: int) -> list[Line]:
        """What was said about one item, without looking at the rest."""
        return self._valid("lines", lambda lines: _LINES.validate_python([x for x in lines if x["item"] == item]))

    def updated(self, update: InterviewUpdate) -> InterviewState:
        """As it will be when this is written."""
        new = plain(update)
        joined = {name: _REDUCERS[name](self._stored[name], new[name]) for name in new if name in _REDUCERS}
        return InterviewState({**self._stored, **new, **joined})

    def _valid(self, name: str, parse: Callable[[Any], T]) -> T:
        try:
            return parse(self._stored[name])
        except (KeyError, TypeError, ValidationError):
            raise StorageError(f"a session's stored state is not valid in {name!r}") from None


def _migrated(values: Plain) -> Plain:
    while (version := values.get("state_version")) in MIGRATIONS:
        values = MIGRATIONS[version](values)
    if version != STATE_VERSION:
        raise StorageError(f"a session has state version {version}, this Crosscut reads {STATE_VERSION}: update it.")
    return values


def plain(update: InterviewUpdate) -> Plain:
    stored: Plain = _UPDATE.dump_python(update, mode="json")
    return stored


def first_state(setup: Setup, profile: PatientProfile) -> Plain:
    begun = plain(
        InterviewUpdate(profile=profile, cursor=Cursor(), drafts={}, wordings={}, records={}, risks={}, lines=[])
    )
    return {"state_version": STATE_VERSION, "setup": setup.model_dump(mode="json"), **begun}
