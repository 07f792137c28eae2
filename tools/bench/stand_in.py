"""What the stand-in gateway answers here: a model that does its work well, after a fixed delay.

It reads its prompt as a model would and says what the rules say. So an interview takes the course that it takes
without a model, follow-ups included, and what the turns cost is all there is to see.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from agents.interviewer import QuestionBrief, word_by_rules
from agents.scorer import AnswerToScore, score_by_rules
from instruments.level1 import level1
from tests.gateway import Behaviour, delay, json_reply

DELAY_SECONDS = 0.3
_DATA = re.compile(r'<data id="(?P<id>\w+)" label="(?P<label>[a-z -]+)">\n(?P<text>.*?)\n</data id="(?P=id)">', re.S)
_ITEM_NUMBER = re.compile(r"Item (\d+) of 23 ")


def competent(body: dict[str, Any]) -> Behaviour:
    answer = _ANSWERS[body["response_format"]["json_schema"]["name"]]
    return delay(DELAY_SECONDS, json_reply(answer(str(body["messages"][-1]["content"]))))


def _worded(prompt: str) -> dict[str, Any]:
    number = _ITEM_NUMBER.search(prompt)
    if number is None:
        raise ValueError("the interviewer's prompt does not say which item it is about")
    return word_by_rules(QuestionBrief(item=int(number[1]), seed=1)).model_dump()


def _scored(prompt: str) -> dict[str, Any]:
    said = {block["label"]: block["text"] for block in _DATA.finditer(prompt)}
    item = next(item for item in level1().items if prompt.startswith(f"Item: {item.text}\n"))
    answer = AnswerToScore(
        item=item.number, question="", answer=said["answer"], follow_up_answer=said["follow-up answer"] or None
    )
    return score_by_rules(answer).to_json_dict()


def _harmless(_: str) -> dict[str, Any]:
    return {"level": "none", "suicidality": False, "selfHarm": False, "violence": False, "substance": False}


_ANSWERS: dict[str, Callable[[str], dict[str, Any]]] = {
    "Draft": _worded,
    "ItemScore": _scored,
    "ModelOpinion": _harmless,
}
