"""The interviewer words an item's question and its possible follow-up; code checks both before anybody sees them."""

from __future__ import annotations

from agents.contract import Agent, Budget, json_agent
from agents.models import ChatClient
from agents.prompts import Prompt
from agents.questions import Draft, QuestionBrief, check_draft
from agents.wording import acknowledgement, closing_text, intro_text, word_by_rules
from instruments.level1 import Item, level1

__all__ = [
    "Draft",
    "QuestionBrief",
    "acknowledgement",
    "check_draft",
    "closing_text",
    "concepts_told",
    "interviewer",
    "intro_text",
    "word_by_rules",
]

_WORDINGS_TOLD = 4


def interviewer(client: ChatClient | None, budget: Budget, prompt: Prompt | None = None) -> Agent[QuestionBrief, Draft]:
    return json_agent(
        "interviewer",
        word_by_rules,
        Draft,
        _variables,
        client=client,
        budget=budget,
        checks=(check_draft,),
        prompt=prompt,
    )


def _variables(brief: QuestionBrief) -> dict[str, str]:
    item = level1().item(brief.item)
    return {
        "item_number": str(item.number),
        "item_text": item.text,
        "concepts": concepts_told(item),
    }


def concepts_told(item: Item) -> str:
    """The first wordings of each concept: what a question may say besides, the model is told when it is sent back."""
    return "; ".join(" or ".join(group[:_WORDINGS_TOLD]) for group in item.concepts)
