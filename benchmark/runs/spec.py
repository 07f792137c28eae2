"""The file that says what a batch run is to do: who is interviewed, by which models, in which modes, how often."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    ValidationError,
    field_validator,
    model_validator,
)

from benchmark.personas import load_personas
from errors import InputError
from instruments.tools import DiagnosticMode
from settings import RULES, ModelId
from storage.runs import CellKey

Role = Literal["interviewer", "scorer", "diagnostician", "risk"]
DEFAULT_ROLES: tuple[Role, ...] = ("interviewer", "scorer", "diagnostician")
ALL = "all"
MOST_CELLS = 10_000_000

T = TypeVar("T", bound=Hashable)


def _refuse_repeats(what: str, values: Iterable[T]) -> None:
    seen: set[T] = set()
    for value in values:
        if value in seen:
            raise ValueError(f"{what} {value!r} is named twice")
        seen.add(value)


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ModelEntry(_Strict):
    """A model and the roles that it plays; the rules play the others."""

    model: ModelId
    roles: tuple[Role, ...] = Field(DEFAULT_ROLES, min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _from_id(cls, value: Any) -> Any:
        return {"model": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _sensible(self) -> ModelEntry:
        _refuse_repeats("role", self.roles)
        if self.model == RULES and self.roles != DEFAULT_ROLES:
            raise ValueError(f"{RULES!r} plays every role that no model plays: leave out its roles")
        return self

    @property
    def label(self) -> str:
        """What tables call it: the id, with the roles where they are not the usual ones."""
        return self.model if set(self.roles) == set(DEFAULT_ROLES) else f"{self.model} ({', '.join(self.roles)})"

    @property
    def settings(self) -> dict[str, str]:
        """By name of the setting; roles that the model does not play are the rules'."""
        roles: tuple[Role, ...] = (*DEFAULT_ROLES, "risk")
        return {f"model_{role}": self.model if role in self.roles else RULES for role in roles}


class RunSpec(_Strict):
    """`answers` is a file of lines as `crosscut replay-answers` takes them; with `scores` and `impression` in a line,
    what comes out is compared with them."""

    name: Annotated[str, Field(min_length=1, max_length=80, pattern=r"^\S(.*\S)?$")]
    personas: Literal["all"] | tuple[str, ...] | None = None
    answers: Path | None = None
    patient: ModelId | None = None
    """Who plays the personas; `rules` is their script, and so is none in a run that has begun."""
    models: tuple[ModelEntry, ...] = Field((ModelEntry(model=RULES),), min_length=1)
    modes: tuple[DiagnosticMode, ...] = Field(("diagnostic",), min_length=1)
    repeats: Annotated[StrictInt, Field(ge=1, le=1000)] = 1
    seed: Annotated[StrictInt, Field(ge=0, lt=2**32)] = 0
    judge: StrictBool = False
    keep: StrictBool = False

    @field_validator("personas", mode="before")
    @classmethod
    def _all_or_some(cls, value: Any) -> Any:
        if isinstance(value, str) and value != ALL:
            raise ValueError(f"must be {ALL!r} or a list of ids")
        return value

    @field_validator("personas")
    @classmethod
    def _known(cls, value: Literal["all"] | tuple[str, ...] | None) -> Literal["all"] | tuple[str, ...] | None:
        if isinstance(value, tuple):
            _refuse_repeats("persona", value)
            if not value:
                raise ValueError(f"names nobody: list some, or say {ALL!r}")
            if unknown := sorted(set(value) - set(load_personas())):
                raise ValueError(f"there is no persona {unknown[0]!r}; choose from {', '.join(load_personas())}")
        return value

    @model_validator(mode="after")
    def _consistent(self) -> RunSpec:
        if (self.personas is None) == (self.answers is None):
            raise ValueError("say who is interviewed, by `personas` or by `answers`, not by both")
        if self.answers is not None and self.patient is not None:
            raise ValueError("`patient` says who plays personas; prepared `answers` speak for themselves")
        _refuse_repeats("model", [entry.label for entry in self.models])
        _refuse_repeats("mode", self.modes)
        return self

    @property
    def persona_ids(self) -> tuple[str, ...]:
        if self.personas == ALL:
            return tuple(load_personas())
        return self.personas if isinstance(self.personas, tuple) else ()

    @property
    def needs_gateway(self) -> bool:
        return self.judge or self.is_played or any(entry.model != RULES for entry in self.models)

    @property
    def is_played(self) -> bool:
        """Whether a model plays the personas."""
        return self.patient not in (None, RULES)

    def entry(self, label: str) -> ModelEntry:
        return next(entry for entry in self.models if entry.label == label)

    def cells(self, patients: Iterable[str]) -> Iterator[CellKey]:
        """Patient by patient, so that a run that is cut short has compared what it has."""
        repeats = range(1, self.repeats + 1)
        labels = [entry.label for entry in self.models]
        for patient, repeat, mode, model in product(patients, repeats, self.modes, labels):
            yield CellKey(patient, model, mode, repeat)

    def to_json_dict(self) -> dict[str, Any]:
        """As it is kept with the run; of the file of answers its name alone."""
        content = self.model_dump(mode="json")
        return {**content, "answers": self.answers.name if self.answers else None}


def read_spec(path: Path) -> RunSpec:
    """The file's content, checked whole; paths in it are relative to it."""
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not a text in UTF-8.") from None
    spec = spec_in(text, str(path))
    return spec.model_copy(update={"answers": path.parent / spec.answers}) if spec.answers else spec


def spec_in(text: str, source: str = "the spec") -> RunSpec:
    """What the text says; a path in it is as it stands there."""
    try:
        content = yaml.load(text, _Loader)  # noqa: S506  # a SafeLoader, only stricter
    except yaml.YAMLError as error:
        raise InputError(f"{source} is not YAML: {_first_line(error)}") from None
    if not isinstance(content, dict):
        raise InputError(f"{source} must be a mapping with `name`, `personas` or `answers`, `models` and so on.")
    return parse_spec(content, source)


def parse_spec(content: dict[str, Any], source: str = "the spec") -> RunSpec:
    try:
        return RunSpec.model_validate(content)
    except ValidationError as error:
        raise InputError("\n".join(f"{source}: {line}" for line in _problems(error))) from None


def _problems(error: ValidationError) -> Iterator[str]:
    """Each with its place and the value that was there; a spec holds nothing secret."""
    seen = set()
    places = [problem["loc"] for problem in error.errors()]
    for problem in error.errors():
        depth = len(problem["loc"])
        if any(other[:depth] == problem["loc"] and len(other) > depth for other in places):
            continue  # a list is not empty because something in it is wrong
        place = ".".join(str(part) for part in problem["loc"] if not _is_type_name(part)) or "the whole"
        message = problem["msg"].removeprefix("Value error, ")
        if problem["type"] == "extra_forbidden":
            known = ", ".join(RunSpec.model_fields if len(problem["loc"]) == 1 else ModelEntry.model_fields)
            message = f"there is no such entry; there are {known}"
        given = "" if problem["type"] in ("missing", "extra_forbidden") or place == "the whole" else _given(problem)
        line = f"{place}: {message}{given}."
        if line not in seen:
            seen.add(line)
            yield line


def _given(problem: Any) -> str:
    value = repr(problem["input"])
    return f" (given: {value if len(value) <= 80 else value[:77] + '…'})"


def _is_type_name(part: int | str) -> bool:
    """What pydantic adds to a place for each kind that a value might have been of."""
    return isinstance(part, str) and ("[" in part or part in ("literal", "str", "tuple"))


def _first_line(error: yaml.YAMLError) -> str:
    return " ".join(str(error).split())[:200]


class _Loader(yaml.SafeLoader):
    """YAML lets the last of two equal keys win in silence; here they are an error."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.YAMLError(f"the entry {key!r} is there twice")
        return super().construct_mapping(node, deep)
