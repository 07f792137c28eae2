"""The interview's state.

Patient text lives only inside list, dict and model channels: LangGraph stores top-level strings unencrypted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from agents.contract import Failure
from agents.interviewer import Draft
from errors import StorageError
from instruments.profile import PatientProfile, Role, Timestamp, TranscriptLine
from storage.sessions import DiagnosticMode

STATE_VERSION = 1

LineKind = Literal["intro", "question", "follow_up", "answer", "closing", "safety_script"]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Setup(_Frozen):
    """What was fixed when the session began."""

    session_id: str
    mode: DiagnosticMode = "diagnostic"
    seed: int


class Cursor(_Frozen):
    """Where the conversation stands. `turn` is the number that the patient's next message will have."""

    turn: int = 1
    item: int = 0
    awaiting: Literal["nothing", "answer", "follow_up"] = "nothing"


class Line(_Frozen):
    """One utterance. `turn` is the patient's turn it belongs to: a question and its answer share one."""

    turn: int
    role: Role
    kind: LineKind
    text: str
    item: int = 0
    at: Timestamp

    @property
    def key(self) -> tuple[int, str, str]:
        return (self.turn, self.role, self.kind)

    def transcribed(self) -> TranscriptLine:
        return TranscriptLine(role=self.role, text=self.text, timestamp=self.at)


class ScoreRecord(_Frozen):
    """How an item's score came about."""

    engine: Literal["llm", "rules"]
    model: str | None
    prompt_version: str | None
    tries: int
    failures: tuple[Failure, ...] = ()
    seconds: float = Field(ge=0)


def _extend(old: list[Line], new: list[Line]) -> list[Line]:
    """Append lines that are not there yet: a node that runs again after a crash adds nothing twice."""
    known = {line.key for line in old}
    return old + [line for line in new if line.key not in known]


def _merge_drafts(old: dict[int, Draft], new: dict[int, Draft]) -> dict[int, Draft]:
    return {**old, **new}


def _merge_records(old: dict[int, ScoreRecord], new: dict[int, ScoreRecord]) -> dict[int, ScoreRecord]:
    return {**old, **new}


class InterviewState(TypedDict):
    state_version: int
    setup: Setup
    profile: PatientProfile
    cursor: Cursor
    drafts: Annotated[dict[int, Draft], _merge_drafts]
    records: Annotated[dict[int, ScoreRecord], _merge_records]
    lines: Annotated[list[Line], _extend]


class InterviewUpdate(TypedDict, total=False):
    """What a node may write."""

    profile: PatientProfile
    cursor: Cursor
    drafts: dict[int, Draft]
    records: dict[int, ScoreRecord]
    lines: list[Line]


_STATE: TypeAdapter[InterviewState] = TypeAdapter(InterviewState)
MIGRATIONS: dict[int, Callable[[dict[str, object]], dict[str, object]]] = {}
"""From a state version to the next; a checkpoint of an older Crosscut is carried over when it is read."""


def validated(values: dict[str, object]) -> InterviewState:
    """Checkpoints load unvalidated, so check what was read; an unknown version is refused."""
    version = values.get("state_version")
    while isinstance(version, int) and version in MIGRATIONS:
        values = MIGRATIONS[version](values)
        version = values.get("state_version")
    if version != STATE_VERSION:
        raise StorageError(f"a session has state version {version}, this Crosscut reads {STATE_VERSION}: update it.")
    try:
        return _STATE.validate_python({k: values[k] for k in InterviewState.__annotations__ if k in values})
    except ValidationError as error:
        fields = sorted({str(e["loc"][0]) for e in error.errors() if e["loc"]})
        raise StorageError(f"a session's stored state is not valid in {', '.join(fields)}") from None
