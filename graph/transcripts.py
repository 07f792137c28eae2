"""Answers given from a file instead of a person."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from agents.risk import check_risk
from errors import InputError

NOTHING_TO_ADD = "That's all I can say."
_ITEMS = range(1, 24)


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
        script = AnswerScript.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise InputError(f"{path} is not a file of answers: {place}: {first['msg']}") from None
    _check_items(path, script)
    return script


def _check_items(path: Path, script: AnswerScript) -> None:
    """Before a session begins: nobody wants half of one because the file ended."""
    if unknown := sorted(set(script.answers) - set(_ITEMS)):
        raise InputError(f"{path} is not a file of answers: {unknown[0]} is not an item from 1 to {_ITEMS[-1]}")
    given = [item for item in _ITEMS if script.answers.get(item)]
    missing = [item for item in _ITEMS if item not in given]
    if missing and not any(_stops(script, item) for item in given if item < missing[0]):
        raise InputError(f"{path} is not a file of answers: the answers have none for item {missing[0]}")


def _stops(script: AnswerScript, item: int) -> bool:
    """After a safety stop no more answers are needed."""
    return any(check_risk(text, item).level == "stop" for text in script.answers[item])
