"""The scorer reads how often something happened in the past two weeks and gives 0 to 4 with verbatim evidence."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files

from pydantic import BaseModel, ConfigDict, Field

from agents.contract import Agent, Budget, json_agent
from agents.grounding import grounded_quotes
from agents.models import ChatClient
from agents.prompts import as_data
from errors import RejectedOutput
from instruments.level1 import Score, level1
from instruments.profile import Ambiguity, Confidence, RiskFlags, Wire


class AnswerToScore(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    item: int = Field(ge=1, le=23)
    question: str
    answer: str
    follow_up_question: str | None = None
    follow_up_answer: str | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.answer, self.follow_up_answer) if self.follow_up_answer is not None else (self.answer,)


class ItemScore(Wire):
    score: Score
    ambiguity: Ambiguity
    evidence_quotes: tuple[str, ...] = ()
    confidence: Confidence
    risk_flags_patch: RiskFlags = RiskFlags()


class _Anchor(BaseModel):
    score: Score
    ambiguity: Ambiguity
    phrases: tuple[str, ...]


@cache
def _anchors() -> tuple[tuple[re.Pattern[str], _Anchor], ...]:
    data = tomllib.loads(files("agents").joinpath("anchors.toml").read_text("utf-8"))
    anchors = [_Anchor.model_validate(entry) for entry in data["anchors"]]
    return tuple((_any_of(anchor.phrases), anchor) for anchor in anchors)


def _any_of(phrases: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(r"\b(?:" + "|".join(re.escape(p) for p in sorted(phrases, key=len, reverse=True)) + r")\b", re.I)


_COUNT = re.compile(
    r"\b(\d{1,2})\s*(?:days?|nights?|times?|mornings?|evenings?|out of (?:the )?(?:14|fourteen))?\b", re.I
)
_DAYS = ((0, 0), (2, 1), (7, 2), (11, 3), (14, 4))


def score_by_rules(answer: AnswerToScore) -> ItemScore:
    """The follow-up's answer was asked for how often, so it is read first."""
    for text in reversed(answer.texts):
        found = _read_count(text) or _read_anchor(text)
        if found:
            return found
    return ItemScore(score=0, ambiguity=9, confidence=0.1)


def _read_count(text: str) -> ItemScore | None:
    for match in _COUNT.finditer(text):
        days = int(match[1])
        if days <= 14:
            score = next(score for limit, score in _DAYS if days <= limit)
            return _found(score, 2, match[0].strip())
    return None


def _read_anchor(text: str) -> ItemScore | None:
    for pattern, anchor in _anchors():
        if match := pattern.search(text):
            return _found(anchor.score, anchor.ambiguity, match[0])
    return None


def _found(score: int, ambiguity: int, quote: str) -> ItemScore:
    return ItemScore.model_validate(
        {
            "score": score,
            "ambiguity": ambiguity,
            "evidence_quotes": (quote,),
            "confidence": round(1 - ambiguity / 10, 2),
        }
    )


def scorer(client: ChatClient | None, budget: Budget) -> Agent[AnswerToScore, ItemScore]:
    return json_agent(
        "scorer", score_by_rules, ItemScore, _variables, client=client, budget=budget, checks=(keep_grounded_quotes,)
    )


def _variables(answer: AnswerToScore) -> dict[str, str]:
    return {
        "item_text": level1().item(answer.item).text,
        "question": answer.question,
        "answer": as_data("answer", answer.answer),
        "follow_up_question": answer.follow_up_question or "(none was asked)",
        "follow_up_answer": as_data("follow-up answer", answer.follow_up_answer or ""),
    }


def keep_grounded_quotes(answer: AnswerToScore, score: ItemScore) -> ItemScore:
    """Quotes that the patient did not say are dropped; with none left the model is asked again."""
    kept = grounded_quotes(score.evidence_quotes, *answer.texts)
    if score.evidence_quotes and not kept:
        raise RejectedOutput("evidenceQuotes must be exact substrings of the patient's answer")
    if score.score > 0 and not kept:
        raise RejectedOutput("a score above 0 needs at least one evidence quote")
    return score.model_copy(update={"evidence_quotes": tuple(kept)})
