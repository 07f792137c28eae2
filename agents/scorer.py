"""The scorer reads how often something happened in the past two weeks and gives 0 to 4 with verbatim evidence."""

from __future__ import annotations

from agents.contract import Agent, Budget, json_agent
from agents.grounding import grounded_quotes
from agents.models import ChatClient
from agents.prompts import as_data
from agents.scoring.contract import AnswerToScore, ItemScore
from agents.scoring.rules import score_by_rules
from errors import RejectedOutput
from instruments.level1 import level1

__all__ = ["AnswerToScore", "ItemScore", "keep_grounded_quotes", "score_by_rules", "scorer"]


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
