"""Two models behind the stand-in gateway that hold whole interviews: a good one, and one that scores too high.

They read their prompts as a model would. Both name an impression by the highest item; their mistakes are their own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from agents.interviewer import QuestionBrief, word_by_rules
from agents.scorer import AnswerToScore, score_by_rules
from benchmark.judge import CRITERIA
from instruments.level1 import level1
from tests.gateway import Behaviour, delay, json_reply, server_error

GOOD = "stand-in/good"
CARELESS = "stand-in/careless"
BROKEN = "stand-in/broken"
_DATA = re.compile(r'<data id="(?P<id>\w+)" label="(?P<label>[a-z -]+)">\n(?P<text>.*?)\n</data id="(?P=id)">', re.S)
_ITEM_NUMBER = re.compile(r"Item (\d+) of 23 ")
_SCORE = re.compile(r"^(L1-\d\d) \(.*\): score (\d)", re.M)
_LINE = re.compile(r'^patient: (".*")$', re.M)
_NAMES = {
    "L1-01": "Major Depressive Disorder", "L1-02": "Major Depressive Disorder", "L1-04": "Bipolar I Disorder",
    "L1-05": "Bipolar I Disorder", "L1-06": "Generalized Anxiety Disorder", "L1-07": "Panic Disorder",
    "L1-12": "Schizophrenia", "L1-16": "Obsessive-Compulsive Disorder", "L1-17": "Obsessive-Compulsive Disorder",
    "L1-14": "Insomnia Disorder", "L1-21": "Alcohol Use Disorder",
}  # fmt: skip


def answering(seconds: float = 0.0) -> Callable[[dict[str, Any]], Behaviour]:
    """What the gateway does with a request, by the model and the schema that it names, after so long."""

    def answer(body: dict[str, Any]) -> Behaviour:
        if body["model"] == BROKEN:
            return server_error()
        kind = body["response_format"]["json_schema"]["name"]
        reply = json_reply(_ANSWERS[kind](str(body["messages"][-1]["content"]), body["model"] == CARELESS))
        return delay(seconds, reply) if seconds else reply

    return answer


def _worded(prompt: str, _: bool) -> dict[str, Any]:
    number = _ITEM_NUMBER.search(prompt)
    assert number, "the interviewer's prompt does not say which item it is about"
    return word_by_rules(QuestionBrief(item=int(number[1]), seed=1)).model_dump()


def _scored(prompt: str, careless: bool) -> dict[str, Any]:
    said = {block["label"]: block["text"] for block in _DATA.finditer(prompt)}
    item = next(item for item in level1().items if prompt.startswith(f"Item: {item.text}\n"))
    follow_up = said["follow-up answer"] or None
    made = score_by_rules(
        AnswerToScore(item=item.number, question="", answer=said["answer"], follow_up_answer=follow_up)
    ).to_json_dict()
    if careless and item.number % 3 == 0:
        made = {**made, "score": min(4, made["score"] + 1), "evidenceQuotes": [said["answer"]], "confidence": 0.95}
    return made


def diagnosed(prompt: str, _: bool) -> dict[str, Any]:
    scores = sorted(_SCORE.findall(prompt), key=lambda found: (-int(found[1]), found[0]))
    named = [(_NAMES[item], item) for item, score in scores if item in _NAMES and int(score) >= 2][:1]
    quote = json.loads(_LINE.findall(prompt)[0])
    return {
        "summary": "An impression from a screening, no more.",
        "diagnoses": [
            {"name": name, "confidence": 0.7, "itemIds": [item], "quotes": [quote], "citations": [], "steps": []}
            for name, item in named
        ],
        "reasoning": ["The highest item decides."],
        "citations": [],
        "limitations": ["A screening."],
        "ragUsed": False,
    }


def _judged(_: str, careless: bool) -> dict[str, Any]:
    return {name: {"score": 4, "note": "It keeps to its task."} for name in CRITERIA}


_ANSWERS: dict[str, Callable[[str, bool], dict[str, Any]]] = {
    "Draft": _worded,
    "ItemScore": _scored,
    "Diagnosis": diagnosed,
    "Verdict": _judged,
}
