"""What the scorer is asked and what it answers, whichever engine does."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from instruments.level1 import Score
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
