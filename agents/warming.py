"""What every turn needs, loaded and compiled before a patient waits for it."""

from __future__ import annotations

from agents import risk
from agents.replies import read_reply
from agents.scorer import AnswerToScore, score_by_rules

_ANSWER = "My brother came to see me, and it was well."


def warm_up() -> None:
    risk.warm_up()
    read_reply(_ANSWER, item=1)
    score_by_rules(AnswerToScore(item=1, question="", answer=_ANSWER))
