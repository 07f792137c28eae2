"""What is asked of a model as JSON, and how its mistakes are put into words that quote nobody."""

from __future__ import annotations

from typing import Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from agents.failures import UnusableAnswer
from agents.outputs import JsonOutput


class Flags(BaseModel):
    self_harm: bool = False


class Verdict(BaseModel):
    model_config = ConfigDict(extra="forbid", alias_generator=to_camel)

    score: Literal[0, 1, 2, 3, 4]
    evidence_quotes: list[str] = []
    confidence: float | None = Field(None, ge=0, le=1)
    risk_flags: Flags = Flags()
    default: str = "x"


class Free(BaseModel):
    notes: dict[str, str]


def test_a_strict_schema_is_closed_and_complete_all_the_way_down() -> None:
    output = JsonOutput(Verdict)
    assert output.strict
    schema = output.schema
    names = ["score", "evidenceQuotes", "confidence", "riskFlags", "default"]
    assert (schema["required"], schema["additionalProperties"]) == (names, False)
    flags = schema["$defs"]["Flags"]
    assert (flags["required"], flags["additionalProperties"]) == (["self_harm"], False)
    assert schema["properties"]["default"] == {"type": "string"}
    assert "default" not in schema["properties"]["evidenceQuotes"]


def test_a_free_mapping_cannot_be_strict_and_keeps_its_schema() -> None:
    output = JsonOutput(Free)
    assert not output.strict
    assert output.schema["properties"]["notes"] == {"type": "object", "additionalProperties": {"type": "string"}}


@pytest.mark.parametrize(
    "text", ['{"score": 3}', ' {"score": 3}\n', '```json\n{"score": 3}\n```', '```\n{"score": 3}```']
)
def test_json_bare_or_in_one_fence_is_read(text: str) -> None:
    assert JsonOutput(Verdict).read(text).score == 3


@pytest.mark.parametrize(
    ("text", "kind", "reason"),
    [
        ('Here: {"score": 3}', "invalid_json", "the answer is not one valid JSON object and nothing else"),
        ('{"score": 3} Hope it helps', "invalid_json", "the answer is not one valid JSON object and nothing else"),
        (
            'text\n```json\n{"score": 3}\n```',
            "invalid_json",
            "the answer is not one valid JSON object and nothing else",
        ),
        ("[]", "schema", "the JSON does not match the schema: object: model_type"),
        ('{"score": "Waldo"}', "schema", "the JSON does not match the schema: score: literal_error"),
        ('{"score": 1, "Waldo": 1}', "schema", "the JSON does not match the schema: ?: extra_forbidden"),
        (
            '{"score": 1, "evidenceQuotes": ["a", 5], "riskFlags": {"self_harm": "Waldo"}}',
            "schema",
            "the JSON does not match the schema: evidenceQuotes.1: string_type; riskFlags.self_harm: bool_parsing",
        ),
    ],
)
def test_mistakes_are_named_by_field_and_type_only(text: str, kind: str, reason: str) -> None:
    with pytest.raises(UnusableAnswer) as caught:
        JsonOutput(Verdict).read(text)
    assert (caught.value.kind, caught.value.reason) == (kind, reason)
    assert caught.value.__cause__ is None


def test_keys_of_a_free_mapping_are_the_models_words() -> None:
    with pytest.raises(UnusableAnswer, match=r"notes\.\?: string_type"):
        JsonOutput(Free).read('{"notes": {"Waldo": 1}}')


def test_a_thousand_mistakes_are_summed_up() -> None:
    with pytest.raises(UnusableAnswer) as caught:
        JsonOutput(Verdict).read('{"score": 1, "evidenceQuotes": [' + ",".join(["1"] * 1000) + "]}")
    assert len(caught.value.reason) < 300
