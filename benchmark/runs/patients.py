"""Who is interviewed in a run: a persona, or prepared answers from a file; with gold where there is some."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from benchmark.acting import Actor, Record, reply_of
from benchmark.answer_files import Prepared, read_prepared
from benchmark.metrics import Gold
from benchmark.personas import persona
from benchmark.runs.spec import RunSpec
from benchmark.simulator import SimulatedPatient
from errors import InputError
from graph.conversation import Reply, scripted
from graph.transcripts import AnswerScript
from instruments.disorders import disorders
from instruments.level1 import Score
from instruments.profile import SessionStatus
from instruments.tools import DiagnosticMode

ItemNumber = Annotated[int, Field(ge=1, le=23)]
MANY_PROBLEMS = 5
_SAID = ("id", "answers")


class Expected(BaseModel):
    """What should come out. `stops` is None where nobody said whether the session should be stopped."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    scores: dict[ItemNumber, Score] | None = None
    impressions: tuple[str, ...] | None = None
    """The main one first; empty for the healthy."""
    categories: tuple[str, ...] | None = None
    stops: bool | None = None

    def names(self, mode: DiagnosticMode) -> tuple[str, ...] | None:
        """What impressions should be called in this mode; None where there is nothing to compare with."""
        return {"diagnostic": self.impressions, "categorical": self.categories, "screening": None}[mode]

    def gold(self, mode: DiagnosticMode, source: str) -> Gold | None:
        """As the metrics of a snapshot take it."""
        if self.scores is None and self.names(mode) is None:
            return None
        return Gold(dict(self.scores or {}), self.names(mode), source)


@dataclass(frozen=True)
class Patient:
    id: str
    expected: Expected
    persona: str | None
    _script: AnswerScript | None = None

    def reply(self, seed: int, actor: Actor | None, record: Record) -> Reply:
        """Somebody who answers; without an actor, in the same words for the same seed."""
        if self._script is not None:
            return scripted(self._script)
        return reply_of(SimulatedPatient(persona(self.id), seed), actor, record)


class _Labelled(BaseModel):
    """What a line of a labelled file says besides its answers. `impression` null: healthy.

    A slip in a name is refused: gold that is silently left out would be missed by nobody.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    scores: dict[ItemNumber, Score] | None = None
    impression: str | None = None
    also: tuple[str, ...] = ()
    stops: bool | None = None

    @model_validator(mode="after")
    def _main_one_first(self) -> _Labelled:
        if self.also and self.impression is None:
            raise ValueError("`also` names what there is besides an `impression`, and there is none")
        return self


class _Kept(BaseModel):
    """One patient of a file as it is sealed with the run."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    answers: dict[int, list[str]]
    expected: Expected


def patients_of(spec: RunSpec) -> dict[str, bytes | None]:
    """By id what is to be sealed with the run; None for personas."""
    if spec.answers is None:
        return dict.fromkeys(spec.persona_ids)
    return read_labelled(spec.answers)


def load_patient(identifier: str, kept: bytes | None) -> Patient:
    if kept is None:
        return Patient(identifier, _of_persona(identifier), persona=identifier)
    content = _Kept.model_validate_json(kept)
    return Patient(identifier, content.expected, None, AnswerScript(answers=content.answers))


def cell_seed(seed: int, patient: str, repeat: int) -> int:
    """The same patient speaks and is asked in the same words whatever the model and the mode, so cells are pairs."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{patient}/{repeat}".encode("utf-8", "surrogatepass")).digest()[:4])


def _of_persona(identifier: str) -> Expected:
    who = persona(identifier)
    known = (*((who.impression,) if who.impression else ()), *who.also)
    return Expected(
        scores=who.scores,
        impressions=tuple(one.name for one in known),
        categories=tuple(dict.fromkeys(one.category for one in known)),
        stops=who.outcome is SessionStatus.TERMINATED,
    )


def read_labelled(path: Path) -> dict[str, bytes | None]:
    """Every line of the file; a run of which a part cannot be held is refused whole."""
    entries = read_prepared(path)
    bad = [entry.error for entry in entries if not isinstance(entry, Prepared)]
    if bad or not entries:
        more = f" (and {len(bad) - MANY_PROBLEMS} more)" if len(bad) > MANY_PROBLEMS else ""
        raise InputError(f"{path}: " + ("; ".join(bad[:MANY_PROBLEMS]) + more if bad else "has no lines") + ".")
    labels = _labels(path)
    kept: dict[str, bytes | None] = {}
    for entry, expected in zip(entries, labels, strict=True):
        assert isinstance(entry, Prepared)  # noqa: S101  # the others were refused above
        if str(entry.id) in kept:
            raise InputError(f"{path}: the ids {entry.id!r} and {str(entry.id)!r} cannot be told apart.")
        kept[str(entry.id)] = _Kept(answers=entry.script.answers, expected=expected).model_dump_json().encode()
    return kept


def _labels(path: Path) -> list[Expected]:
    found = []
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        if line.strip():
            content = json.loads(line)
            try:
                label = _Labelled.model_validate({name: said for name, said in content.items() if name not in _SAID})
            except ValidationError as error:
                raise InputError(f"{path}: line {number}: {_problem(error)}.") from None
            found.append(_expected_in(path, number, label, named="impression" in content))
    return found


def _problem(error: ValidationError) -> str:
    first = error.errors(include_input=False, include_context=False)[0]
    place = ".".join(map(str, first["loc"])) or "the whole"
    if first["type"] == "extra_forbidden":
        return f"{place}: there is no such entry; there are {', '.join((*_SAID, *_Labelled.model_fields))}"
    return f"{place}: {first['msg'].removeprefix('Value error, ')}"


def _expected_in(path: Path, number: int, label: _Labelled, *, named: bool) -> Expected:
    if not named:
        return Expected(scores=label.scores, stops=label.stops)
    names = (*((label.impression,) if label.impression else ()), *label.also)
    by_name = {disorder.name: disorder.category for disorder in disorders().disorders}
    if strange := [name for name in names if name not in by_name]:
        raise InputError(f"{path}: line {number}: {strange[0]!r} is none of the disorders that impressions may name.")
    categories = tuple(dict.fromkeys(by_name[name] for name in names))
    return Expected(scores=label.scores, impressions=names, categories=categories, stops=label.stops)
