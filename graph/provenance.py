"""What makes results: prompts, tools, models with their parameters, and the code itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from agents.models import temperature_of
from agents.patient import PATIENT
from agents.prompts import Prompt
from instruments.profile import Wire
from instruments.tools import TOOLS, ToolContract
from settings import RULES, Settings
from storage.files import digest_of
from storage.snapshots import address

_ROOT = Path(__file__).parent.parent
_PACKAGES = ("agents", "graph", "instruments", "minilm", "rag", "storage")
_MODULES = ("errors.py", "gateway.py", "settings.py")
_KINDS = frozenset({".py", ".toml", ".json", ".md", ".onnx"})


class PromptVersion(Wire):
    version: str
    sha256: str


class ModelVersion(Wire):
    """`temperature` is left out where none is sent."""

    model: str
    temperature: float | None = None
    tries: int | None = None
    seconds: float | None = None


class Provenance(Wire):
    """`tools` gives for each tool the SHA-256 of its schemas; `source_sha256` is of the files that run."""

    code_version: str
    source_sha256: str
    prompts: dict[str, PromptVersion]
    tools: dict[str, str]
    models: dict[str, ModelVersion]
    follow_up_threshold: int

    def without_patient(self) -> Provenance:
        """Of a session in which nobody was played."""
        models = {role: model for role, model in self.models.items() if role != PATIENT}
        prompts = {name: prompt for name, prompt in self.prompts.items() if name != PATIENT}
        return self.model_copy(update={"models": models, "prompts": prompts})


def provenance_of(settings: Settings, prompts: Iterable[Prompt]) -> Provenance:
    """With the patient only where a model plays personas; by their script, no entry says so."""
    models = {role: model for role, model in settings.models.items() if role != PATIENT or model != RULES}
    return Provenance(
        code_version=_code_version(),
        source_sha256=source_digest(),
        prompts={p.name: PromptVersion(version=p.version, sha256=p.sha256) for p in prompts if p.name in models},
        tools=tool_versions(),
        models={role: model_version(settings, model) for role, model in models.items()},
        follow_up_threshold=settings.follow_up_threshold,
    )


def model_version(settings: Settings, model: str) -> ModelVersion:
    if model == RULES:
        return ModelVersion(model=RULES)
    return ModelVersion(
        model=model,
        temperature=temperature_of(model),
        tries=settings.model_tries,
        seconds=settings.model_call_seconds,
    )


@cache
def tool_versions() -> dict[str, str]:
    return {name: address(_schemas(tool)) for name, tool in TOOLS.items()}


def _schemas(tool: ToolContract) -> list[object]:
    return [tool.takes.model_json_schema(), tool.gives.model_json_schema()]


@cache
def source_digest() -> str:
    """One hash of all code, data and readers that hold interviews and write reports."""
    return digest_of(_sources(), _ROOT)


def sources_in(folder: Path) -> list[Path]:
    """Its code and data, in the order of their names."""
    return sorted(path for path in folder.rglob("*") if path.suffix in _KINDS)


def _sources() -> Iterator[Path]:
    yield from (_ROOT / name for name in _MODULES)
    for package in _PACKAGES:
        yield from sources_in(_ROOT / package)


@cache
def _code_version() -> str:
    try:
        return version("crosscut")
    except PackageNotFoundError:
        return "not installed"
