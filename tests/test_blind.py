"""A blind report says nothing of who made it, and leaves everything else as it is."""

from __future__ import annotations

import pytest

from agents.diagnostician import diagnose_by_rules
from agents.report.tags import found_in, unescaped
from benchmark.comparison.blind import blinded
from benchmark.comparison.replay import Case
from instruments.tools import Diagnosis, Impression
from tests.screenings import LOW, call_of, profile_of

HIDDEN = "an engine that is not shown"
MODELS = ("openai/gpt-4.1", "rules", "mistral/small")
SAID = "I asked ChatGPT about it, every single day."
PROFILE = profile_of({**LOW, 1: (4, SAID)})
CASE = Case(call_of(PROFILE), PROFILE, (), {"interviewer": "openai/gpt-4.1", "scorer": "rules"})


def diagnosis(summary: str, *steps: str) -> Diagnosis:
    one = Impression(name="Major Depressive Disorder", confidence=0.5, item_ids=("L1-01",), quotes=(SAID,), steps=steps)
    return Diagnosis(
        summary=summary,
        diagnoses=(one,),
        reasoning=(),
        citations=(),
        limitations=("Said by GPT alone.",),
        rag_used=False,
    )


@pytest.mark.parametrize(
    "named",
    [
        "openai/gpt-4.1",
        "OpenAI",
        "GPT-4.1",
        "gpt 4.1 mini",
        "ChatGPT",
        "GPT‑4o",
        "Claude 3.5 Sonnet",
        "claude-sonnet-4",
        "Gemini 2.5 Pro",
        "Mistral/small",
        "a large language model",
        "the rules engine",
        "an LLM",
        "Cohere",
        "cohere-3",
        "Sonnet 4.5",
        "sonnet 4.5",
        "Perplexity",
        "Opus",
    ],
)
def test_names_of_engines_are_taken_out_of_prose(named: str) -> None:
    bare = named.removeprefix("a ").removeprefix("an ").removeprefix("the ")
    sections = blinded(CASE, diagnosis(f"By {named}: low mood.", f"Weighed ({named})."), MODELS)
    summary, impressions = unescaped(sections[0].markdown), unescaped(sections[3].markdown)
    assert bare not in summary
    assert summary.endswith(f"{named.removesuffix(bare)}{HIDDEN}: low mood.")
    assert f"({named.removesuffix(bare)}{HIDDEN})." in impressions


def test_everyday_words_and_the_patients_own_stay() -> None:
    words = (
        "A small part of the rules of the house, the twins of Gemini apart; the illness was egpted. Items 1 and 2 "
        "cohere with it, the bedrock is perplexity 3 days a week, and a sonnet was read."
    )
    kept = words.replace("Gemini", HIDDEN)
    sections = blinded(CASE, diagnosis(f"{words} <quote>{SAID}</quote>"), MODELS)
    assert sections[0].markdown.endswith(f"{kept} <quote>{SAID}</quote>")
    assert SAID in found_in(sections[3].markdown, "quote")


def test_nothing_around_the_impressions_tells_rules_from_models() -> None:
    by_rules = blinded(CASE, diagnose_by_rules(CASE.call), MODELS)
    by_model = blinded(CASE, diagnosis("Low mood."), MODELS)
    assert by_rules[1:3] == by_model[1:3]
    assert by_rules[4] == by_model[4]
    assert f"worded by {HIDDEN}, answers scored by {HIDDEN}, impressions formed by {HIDDEN}." in by_rules[4].markdown
    assert "GPT" not in by_model[4].markdown
