"""What a model must answer: a JSON object of a pydantic type, or plain text with XML tags."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from pydantic import BaseModel, ValidationError

from agents.failures import UnusableAnswer

Out = TypeVar("Out")
Out_co = TypeVar("Out_co", covariant=True)
Model = TypeVar("Model", bound=BaseModel)

# Nothing that strict mode refuses, and nothing that only bloats the request.
DROPPED_KEYWORDS = frozenset({"default", "title", "examples"})
NAMED_ERRORS = 5


class Output(Protocol[Out_co]):
    @property
    def name(self) -> str: ...

    @property
    def schema(self) -> Mapping[str, Any] | None: ...

    @property
    def strict(self) -> bool: ...

    def read(self, text: str) -> Out_co:
        """The typed value, or UnusableAnswer with what to tell the model."""


@dataclass(frozen=True)
class JsonOutput(Generic[Model]):
    """The model sees the type's JSON schema; what it answers is validated by the type itself."""

    model_type: type[Model]

    @property
    def name(self) -> str:
        return self.model_type.__name__

    @cached_property
    def schema(self) -> dict[str, Any]:
        made: dict[str, Any] = _tidy(self.model_type.model_json_schema())
        return _closed(made) if self.strict else made

    @cached_property
    def strict(self) -> bool:
        """Strict mode takes closed objects only: one free-form mapping anywhere and it is off."""
        return not any(_is_mapping(part) for part in _parts(self.model_type.model_json_schema()))

    @cached_property
    def field_names(self) -> frozenset[str]:
        parts = _parts(self.model_type.model_json_schema())
        return frozenset(name for part in parts for name in part.get("properties", {}))

    def read(self, text: str) -> Model:
        try:
            return self.model_type.model_validate_json(_unfenced(text))
        except ValidationError as error:
            raise self._explained(error) from None

    def _explained(self, error: ValidationError) -> UnusableAnswer:
        """Field paths and error types only. A key that is no field of ours is the model's own text, so it stays out."""
        found = error.errors(include_url=False, include_context=False, include_input=False)
        if any(e["type"] == "json_invalid" for e in found):
            return UnusableAnswer("invalid_json", "the answer is not one valid JSON object and nothing else")
        named = [f"{self._path(e['loc'])}: {e['type']}" for e in found[:NAMED_ERRORS]]
        return UnusableAnswer("schema", "the JSON does not match the schema: " + "; ".join(named))

    def _path(self, loc: tuple[int | str, ...]) -> str:
        return ".".join(str(p) if isinstance(p, int) or p in self.field_names else "?" for p in loc) or "object"


@dataclass(frozen=True)
class TaggedOutput(Generic[Out]):
    """Plain text with XML tags. `parse` gets each required tag's text; a ValueError of it is the model's mistake."""

    parse: Callable[[Mapping[str, str]], Out]
    required_tags: tuple[str, ...]
    name: ClassVar[str] = "text"
    schema: ClassVar[None] = None
    strict: ClassVar[bool] = False

    def read(self, text: str) -> Out:
        found = {tag: _inside(tag, text) for tag in self.required_tags}
        if missing := [tag for tag, inside in found.items() if inside is None]:
            raise UnusableAnswer("tags", f"missing or unclosed tags: {_listed(missing)}")
        if void := [tag for tag, inside in found.items() if not inside]:
            raise UnusableAnswer("tags", f"empty tags: {_listed(void)}")
        try:
            return self.parse({tag: inside or "" for tag, inside in found.items()})
        except ValueError:
            raise UnusableAnswer("schema", f"the text inside {_listed(list(found))} has the wrong form") from None


def _unfenced(text: str) -> str:
    """Without the ```json fence that many models put around an answer; any other wrapping stays, and fails."""
    first, _, rest = text.strip().partition("\n")
    fenced = first.strip().lower() in ("```", "```json") and rest.endswith("```")
    return rest.removesuffix("```") if fenced else text


def _inside(tag: str, text: str) -> str | None:
    """The last such element: a model that thinks aloud names its tags before it fills them."""
    end = text.rfind(f"</{tag}>")
    start = text.rfind(f"<{tag}>", 0, end) if end >= 0 else -1
    return text[start + len(tag) + 2 : end].strip() if start >= 0 else None


def _listed(tags: list[str]) -> str:
    return ", ".join(f"<{tag}>" for tag in tags)


def _parts(schema: Any) -> Iterator[dict[str, Any]]:
    """Every subschema. Property names are not keywords, so a field called `default` is not mistaken for one."""
    if isinstance(schema, list):
        for item in schema:
            yield from _parts(item)
    elif isinstance(schema, dict):
        yield schema
        for key, value in schema.items():
            yield from _parts(list(value.values()) if key in ("properties", "$defs") else value)


def _is_mapping(part: dict[str, Any]) -> bool:
    return part.get("type") == "object" and (
        "properties" not in part or part.get("additionalProperties") not in (None, False)
    )


def _tidy(schema: Any) -> Any:
    return _rewritten(schema, lambda part: {k: v for k, v in part.items() if k not in DROPPED_KEYWORDS})


def _closed(schema: dict[str, Any]) -> dict[str, Any]:
    def close(part: dict[str, Any]) -> dict[str, Any]:
        if part.get("type") != "object":
            return part
        return part | {"additionalProperties": False, "required": list(part["properties"])}

    return dict(_rewritten(schema, close))


def _rewritten(schema: Any, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
    if isinstance(schema, list):
        return [_rewritten(item, change) for item in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {
        key: {name: _rewritten(part, change) for name, part in value.items()}
        if key in ("properties", "$defs")
        else _rewritten(value, change)
        for key, value in schema.items()
    }
    return change(inner)
