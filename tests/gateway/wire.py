"""The payloads of the protocol: completions, stream chunks, embeddings, errors."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import random
import struct
from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]
CREATED = 1_700_000_000


def encode(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def tokens(text: str) -> int:
    """A plausible count, not a tokenizer's: four characters a token."""
    return max(1, math.ceil(len(text) / 4))


def usage(body: Json, message: Json) -> Json:
    asked = sum(tokens(str(m.get("content") or "")) for m in body.get("messages", []))
    answered = tokens(json.dumps(message, ensure_ascii=False))
    return {"prompt_tokens": asked, "completion_tokens": answered, "total_tokens": asked + answered}


def completion(body: Json, message: Json, finish: str) -> Json:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish, "logprobs": None}
    return _envelope(body, "chat.completion") | {"choices": [choice], "usage": usage(body, message)}


def chunks(body: Json, message: Json, finish: str) -> Iterator[Json]:
    """The same answer as stream events: text goes word by word, anything else in one delta."""
    deltas: list[Json] = [{"role": "assistant", "content": ""}]
    for key, value in message.items():
        deltas += _deltas(key, value)
    for delta in deltas:
        yield _chunk(body, [{"index": 0, "delta": delta, "finish_reason": None}])
    yield _chunk(body, [{"index": 0, "delta": {}, "finish_reason": finish}])
    if (body.get("stream_options") or {}).get("include_usage"):
        yield _chunk(body, []) | {"usage": usage(body, message)}


def embeddings(body: Json) -> Json:
    given = body["input"]
    texts = [given] if isinstance(given, str) else given
    size = body.get("dimensions") or 1536
    encoded = body.get("encoding_format") == "base64"
    data = [
        {"object": "embedding", "index": i, "embedding": _packed(v) if encoded else v}
        for i, v in enumerate(vector(str(text), size) for text in texts)
    ]
    spent = sum(tokens(str(text)) for text in texts)
    spending = {"prompt_tokens": spent, "total_tokens": spent}
    return {"object": "list", "model": body.get("model"), "data": data, "usage": spending}


def vector(text: str, size: int = 1536) -> list[float]:
    """A unit vector that depends on the text alone."""
    rng = random.Random(hashlib.sha256(text.encode()).digest())
    raw = [rng.gauss(0, 1) for _ in range(size)]
    norm = math.sqrt(sum(x * x for x in raw))
    return [x / norm for x in raw]


def models(ids: tuple[str, ...]) -> Json:
    return {"object": "list", "data": [_model(model) for model in ids]}


def error(message: str, kind: str) -> Json:
    return {"error": {"message": message, "type": kind, "param": None, "code": kind}}


def example(schema: Json, root: Json | None = None) -> Any:
    """The smallest value that a JSON schema of pydantic's making allows."""
    root = root or schema
    if "$ref" in schema:
        return example(root["$defs"][schema["$ref"].rsplit("/", 1)[-1]], root)
    if options := schema.get("anyOf") or schema.get("allOf"):
        return example(options[0], root)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    return _example_of_type(schema, root)


def _example_of_type(schema: Json, root: Json) -> Any:
    match schema.get("type"):
        case "object":
            return {name: example(part, root) for name, part in schema.get("properties", {}).items()}
        case "array":
            return [example(schema["items"], root) for _ in range(schema.get("minItems", 0))]
        case "integer" | "number":
            return schema.get("minimum", 0)
        case "boolean":
            return False
        case "string":
            return "x" * max(1, schema.get("minLength", 1))
    return None


def _model(model: str) -> Json:
    return {"id": model, "object": "model", "created": CREATED, "owned_by": "stand-in"}


def _envelope(body: Json, kind: str) -> Json:
    return {"id": "chatcmpl-stand-in", "object": kind, "created": CREATED, "model": body.get("model", "")}


def _chunk(body: Json, choices: list[Json]) -> Json:
    return _envelope(body, "chat.completion.chunk") | {"choices": choices}


def _deltas(key: str, value: Any) -> list[Json]:
    if value is None:
        return []
    if key == "content":
        return [{key: word} for word in value.replace(" ", " \0").split("\0")]
    if key == "tool_calls":
        return [{key: [{"index": i, **call} for i, call in enumerate(value)]}]
    return [{key: value}]


def _packed(values: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(values)}f", *values)).decode()
