"""The rules interviewer's words: each passes what a model's must pass, and they do not sound like a machine."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.interviewer import QuestionBrief, check_draft, word_by_rules
from agents.questions import check_follow_up, check_question
from agents.replies import Reply, ReplyKind
from agents.wording import (
    TONES,
    acknowledgement,
    all_item_words,
    asked_again,
    closing_text,
    follow_up_lead,
    intro_text,
    pause_text,
    ways_to_ask_again,
    welcome_text,
    wordings,
)
from errors import RejectedOutput
from instruments.level1 import level1

ITEMS = range(1, 24)
seeds = st.integers(0, 2**32)


@pytest.mark.parametrize("item", ITEMS)
def test_every_wording_of_an_item_passes_the_checks_of_a_models_question(item: int) -> None:
    words, canonical = all_item_words()[item - 1], level1().item(item)
    for question in words.questions:
        check_question(canonical, question)
    for follow_up in (*words.follow_ups, *words.explained):
        check_follow_up(canonical, follow_up)


@pytest.mark.parametrize("item", ITEMS)
def test_an_item_has_four_paraphrases_and_two_follow_ups_in_its_own_terms(item: int) -> None:
    words, canonical = all_item_words()[item - 1], level1().item(item)
    assert len(set(words.questions)) >= 4
    assert len({question.split()[0] for question in words.questions}) >= 3, "openings vary"
    assert len(set(words.follow_ups)) >= 2
    for text in (*words.follow_ups, *words.explained):
        assert any(word in text.lower() for group in canonical.concepts for word in group), text


@given(seeds, st.sampled_from(ITEMS))
def test_whatever_the_seed_the_draft_keeps_the_rules_and_stays_the_same(seed: int, item: int) -> None:
    brief = QuestionBrief(item=item, seed=seed)
    assert check_draft(brief, word_by_rules(brief)) == word_by_rules(brief)


@settings(max_examples=50)
@given(seeds)
def test_neighbouring_questions_begin_differently_and_the_two_weeks_stay_clear(seed: int) -> None:
    questions = [word_by_rules(QuestionBrief(item=item, seed=seed)).question for item in ITEMS]
    for before, after in pairwise(questions):
        assert before.split()[0] != after.split()[0]
        assert not ("that time" in before and "that time" in after), "nobody knows any more what time is meant"
    assert "that time" not in questions[0]
    usual = [q for q in questions if q.startswith(("Over the past two weeks", "In the past two weeks"))]
    assert len(usual) <= 12


def test_seeds_make_different_interviews() -> None:
    asked = {tuple(word_by_rules(QuestionBrief(item=i, seed=seed)).question for i in ITEMS) for seed in range(50)}
    assert len(asked) == 50


@given(seeds)
def test_no_acknowledgement_comes_twice_in_a_row_and_some_are_left_out(seed: int) -> None:
    for tone in TONES:
        said = [acknowledgement(seed, item, tone) for item in ITEMS]
        assert all(before != after for before, after in pairwise(said))
        heard = [text for text in said if text]
        assert all(before != after for before, after in pairwise(heard))
        assert ("" in said) == (tone == "plain")


def test_no_acknowledgement_comments_on_an_answer_or_asks_something() -> None:
    comments = ("sorry", "great", "good", "bad", "hard", "sounds", "understand", "see", "glad", "must", "normal", "wow")
    for tone in TONES:
        phrases = wordings().acknowledgements[tone]
        assert len(set(phrases)) == len(phrases)
        for phrase in phrases:
            assert "?" not in phrase
            assert len(phrase.split()) <= 10
            assert not any(word in phrase.lower().replace(".", " ").split() for word in comments), phrase
    assert len(wordings().acknowledgements["plain"]) >= 8


NO_ANSWER: tuple[ReplyKind, ...] = (
    "empty", "wordless", "unreadable", "request", "earlier", "refusal", "question", "ready",
)  # fmt: skip


def test_every_reply_that_is_no_answer_has_its_way_of_asking_again() -> None:
    assert {kind for kind, _ in ways_to_ask_again()} == set(NO_ANSWER)


@pytest.mark.parametrize("item", ITEMS)
def test_what_is_asked_again_is_one_question_of_at_most_sixty_words(item: int) -> None:
    for kind, topic in ways_to_ask_again():
        for seed in range(8):
            brief = QuestionBrief(item=item, seed=seed)
            text = asked_again(brief, Reply(kind, topic=topic), word_by_rules(brief).follow_up)
            assert (text.count("?"), text[-1]) == (1, "?")
            assert len(text.split()) <= 60
            assert "{" not in text


def test_a_lead_never_makes_a_follow_up_break_the_rules() -> None:
    for seed in range(12):
        for item in ITEMS:
            brief = QuestionBrief(item=item, seed=seed)
            for elsewhere in (False, True):
                lead = follow_up_lead(brief, elsewhere=elsewhere)
                check_follow_up(level1().item(item), f"{lead} {word_by_rules(brief).follow_up}".strip())


def test_the_introduction_says_what_the_prd_asks_for() -> None:
    intro = intro_text()
    assert all(part in intro for part in ("DSM-5 Level-1 Cross-Cutting Symptom Measure", "screening", "past two weeks"))
    for anchor in (
        "0 is not at all",
        "1 is rarely",
        "2 is several days",
        "3 is more than half",
        "4 is nearly every day",
    ):
        assert anchor in intro
    assert "?" not in intro


def test_closing_and_pause_neither_ask_nor_judge() -> None:
    for seed in range(4):
        for text in (closing_text(), pause_text(seed, 1, again=False), pause_text(seed, 1, again=True)):
            assert "?" not in text
        assert "saved" in pause_text(seed, 1, again=False)
        assert welcome_text(seed, 1, "How often?").endswith(" How often?")


@pytest.mark.parametrize(
    ("item", "text", "reason"),
    [
        (17, "Have you always felt close to things over the past two weeks?", "keep the idea"),
        (15, "Has your memory always been good these two weeks?", "keep the idea"),
        (4, "Have you had a lot of energy and good sleep in the past two weeks?", "less"),
        (5, "Have you started new projects in the past two weeks?", "risk"),
    ],
)
def test_a_concept_is_a_word_and_not_some_letters(item: int, text: str, reason: str) -> None:
    with pytest.raises(RejectedOutput, match=reason):
        check_question(level1().item(item), text)
