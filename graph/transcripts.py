"""Answers given from a file instead of a person."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from errors import InputError

NOTHING_TO_ADD = "That's all I can say."


class AnswerScript(BaseModel):
    """By item number an answer, and the answer to a follow-up if one should come."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    answers: dict[int, list[str]]

    def answer(self, item: int, *, is_follow_up: bool) -> str:
        given = self.answers.get(item, [])
        if is_follow_up:
            return given[1] if len(given) > 1 else NOTHING_TO_ADD
        if not given:
            raise InputError(f"the answers have none for item {item}")
        return given[0]


def load_answers(path: Path) -> AnswerScript:
    """Read `{"1": ["answer", "follow-up answer"?], …}`, bare or under the key "answers"."""
    try:
        content: Any = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not JSON: {error}") from None
    if isinstance(content, dict) and "answers" not in content:
        content = {"answers": content}
    try:
        return AnswerScript.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise InputError(f"{path} is not a file of answers: {place}: {first['msg']}") from None
