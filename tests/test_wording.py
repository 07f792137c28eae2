"""The rules interviewer's words: each passes what a model's must pass, and they do not sound like a machine."""

from __future__ import annotations

from itertools import accumulate, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.interviewer import QuestionBrief, check_draft, word_by_rules
from agents.questions import check_follow_up, check_question, keeps_concepts, questions_in, quotes_item, rules_broken
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
    for text in (*words.questions, *words.follow_ups, *words.explained):
        assert keeps_concepts(canonical, text), text


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
    "empty", "wordless", "unreadable", "request", "earlier", "complaint", "refusal", "question", "ready",
)  # fmt: skip


def test_every_reply_that_is_no_answer_has_its_way_of_asking_again() -> None:
    assert {kind for kind, _ in ways_to_ask_again()} == set(NO_ANSWER)


def test_leads_can_be_told_apart_by_how_they_begin() -> None:
    for way in wordings().again:
        begins = [lead.partition("{")[0] for lead in way.leads]
        assert len(set(begins)) == len(begins) >= 4
        assert not [one for one in begins for other in begins if one != other and one in other]


def _lead(text: str) -> str:
    """Of a question that was put again: the sentence before it, whatever its number is."""
    leads = [lead for way in wordings().again for lead in way.leads]
    return next(lead for lead in leads if text.startswith(lead.partition("{")[0]))


@settings(max_examples=50)
@given(seeds, st.sets(st.sampled_from(ITEMS), min_size=2))
def test_no_lead_comes_twice_in_a_row_whichever_items_are_asked_again(seed: int, items: set[int]) -> None:
    for kind, topic in ways_to_ask_again():
        said: list[str] = []
        for item in sorted(items):
            said.append(asked_again(QuestionBrief(item=item, seed=seed), Reply(kind, topic=topic), "How often?", said))
            said.append("In the past two weeks, how often was the next thing so?")
        assert all(before != after for before, after in pairwise(map(_lead, said[::2])))


def test_all_leads_are_used() -> None:
    for kind, topic in ways_to_ask_again():
        briefs = [QuestionBrief(item=item, seed=3) for item in ITEMS]
        used = {_lead(asked_again(brief, Reply(kind, topic=topic), "How often?")) for brief in briefs}
        assert used == set(ways_to_ask_again()[kind, topic].leads)


@given(seeds, st.sets(st.sampled_from(ITEMS), min_size=2), st.booleans())
def test_no_lead_of_a_follow_up_comes_twice_in_a_row(seed: int, items: set[int], elsewhere: bool) -> None:
    said: list[str] = []
    for item in sorted(items):
        said.append(follow_up_lead(QuestionBrief(item=item, seed=seed), elsewhere=elsewhere, said=said))
    heard = [lead for lead in said if lead]
    assert all(before != after for before, after in pairwise(heard))


@given(seeds, st.lists(st.integers(1, 4), min_size=2, max_size=8))
def test_no_pause_and_no_welcome_comes_twice_in_a_row(seed: int, steps: list[int]) -> None:
    for again in (False, True):
        pauses: list[str] = []
        welcomes: list[str] = []
        for turn in accumulate(steps):
            pauses.append(pause_text(seed, turn, again=again, said=pauses))
            welcomes.append(welcome_text(seed, turn, "How often?", welcomes))
        assert all(before != after for said in (pauses, welcomes) for before, after in pairwise(said))


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


CLERICAL = (
    "noted",
    "i have that",
    "for your answer",
    "here is the question",
    "close this page",
    "recorded",
    "registered",
)


def test_nothing_that_is_said_sounds_like_a_counter() -> None:
    spoken = [phrase for phrases in wordings().acknowledgements.values() for phrase in phrases]
    spoken += [lead for way in wordings().again for lead in way.leads]
    spoken += [closing_text(), *(phrase for _, phrases in wordings().pause for phrase in phrases)]
    assert not [text for text in spoken if any(word in text.lower() for word in CLERICAL)]


def test_distress_gets_another_pause_than_a_wish_to_stop() -> None:
    for seed in range(4):
        kind = pause_text(seed, 1, again=False, distressed=True)
        assert kind != pause_text(seed, 1, again=False)
        assert "therapist" in kind
        assert "?" not in kind


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


@pytest.mark.parametrize(
    ("item", "text", "reason"),
    [
        (21, "On how many of the past fourteen days did you drink?", "follow_up must keep the idea of: four"),
        (9, "On how many of the past fourteen days did you have pain?", "follow_up must keep the idea of: unexplained"),
        (5, "How many days in the two weeks did you start projects or take risks?", "follow_up must keep .* usual"),
        (3, "On how many days of the past two weeks were you angry?", "follow_up must keep the idea of: usual"),
        (
            23,
            "On how many days of the past two weeks did you take medicine?",
            "follow_up must keep the idea of: not prescri",
        ),
    ],
)
def test_a_follow_up_asks_for_the_same_thing_as_the_question(item: int, text: str, reason: str) -> None:
    with pytest.raises(RejectedOutput, match=reason):
        check_follow_up(level1().item(item), text)


SECOND_QUESTIONS = [
    "In the past two weeks, how often did you feel low and how often were you angry?",
    "In the past two weeks, did you feel low often, and were you angry as well?",
    "In the past two weeks, have you felt low, and if so, how often?",
    "Have you felt low in the past two weeks, or has your sleep been bad?",
    "How has your mood been these two weeks: were there days when you felt low?",
    "How often did you feel low in the past two weeks and how bad was it?",
    "How often have you felt down in the past two weeks, and why?",
    "How often have you felt down in the past two weeks, and when?",
    "How often have you felt down in the past two weeks, and what about?",
    "Have you felt down in the past two weeks, and what brought it on?",
]


@pytest.mark.parametrize("text", SECOND_QUESTIONS)
def test_one_question_mark_covers_one_question(text: str) -> None:
    assert questions_in(text) == 2
    with pytest.raises(RejectedOutput, match="asks a second one"):
        check_question(level1().item(2), text)


def test_our_own_questions_ask_one_thing() -> None:
    texts = [t for words in all_item_words() for t in (*words.questions, *words.follow_ups, *words.explained)]
    assert {questions_in(text) for text in texts} <= {0, 1}
    assert sum(questions_in(text) for text in texts) > 0.9 * len(texts), "questions are recognised at all"


@pytest.mark.parametrize(
    ("item", "text"),
    [
        (21, "In the past two weeks, how often did you have fewer than four drinks in a day?"),
        (21, "On how many days of the past two weeks did you not have four drinks?"),
        (9, "In the past two weeks, have you had explained pain?"),
        (9, "In the past two weeks, have you had pain that a doctor could explain?"),
        (1, "In the past two weeks, how often did you enjoy things?"),
        (4, "In the past two weeks, have you slept more than usual and had less energy?"),
        (5, "In the past two weeks, did you start fewer projects and take less risk than usual?"),
        (6, "In the past two weeks, how often were you free of worry?"),
        (7, "In the past two weeks, on how many days did you not feel any panic?"),
        (10, "How often in the past two weeks was your health taken seriously?"),
        (11, "In the past two weeks, how often did you not think of hurting yourself?"),
        (14, "In the past two weeks, how often did you sleep well?"),
        (15, "In the past two weeks, how often could you remember things and find your way with no problem?"),
        (19, "In the past two weeks, how often did you know who you are and what you want?"),
        (20, "How often in the past two weeks did you feel close to people?"),
        (23, "In the past two weeks, how often did you take medicine exactly as prescribed?"),
        (23, "How often in the past two weeks did you take prescribed medicine?"),
        (23, "How often in the past two weeks did you not take your prescribed medicine?"),
        (23, "Did you take unprescribed drugs, or more medicine than prescribed, no more than twice in the two weeks?"),
        (21, "In the past two weeks, have you had four soft drinks in one day?"),
        (21, "On how many days of the past two weeks did you have four non-alcoholic drinks?"),
    ],
)
def test_a_question_must_not_turn_its_item_round(item: int, text: str) -> None:
    with pytest.raises(
        RejectedOutput, match=r"turn the item round|keep the idea|not how often it was not|days without"
    ):
        check_question(level1().item(item), text)


@pytest.mark.parametrize(
    ("item", "text", "lost"),
    [
        (21, "In the past two weeks, have you had four drinks in one day?", "alcohol"),
        (21, "On how many days of the past two weeks did you have four cups of coffee?", "alcohol"),
        (21, "In the past fourteen days, have you had four alcoholic drinks?", "one day"),
        (23, "In the past two weeks, have you taken medicine that was not prescribed to you?", "more ... than"),
        (23, "In the past two weeks, have you taken more of a medicine than was prescribed?", "not prescri"),
        (23, "In the past two weeks, have you taken no medicine without a prescription, or less?", "more ... than"),
    ],
)
def test_an_item_keeps_all_of_its_concepts(item: int, text: str, lost: str) -> None:
    with pytest.raises(RejectedOutput, match=f"keep the idea of: {lost}"):
        check_question(level1().item(item), text)


@pytest.mark.parametrize(
    ("item", "text"),
    [
        (21, "How often in the past two weeks did you have four glasses of wine or beer, or more, in a single day?"),
        (21, "Have there been any days in the past two weeks with four or more drinks of alcohol?"),
        (23, "How often in the two weeks did you use drugs, medicine that wasn't prescribed, or more than prescribed?"),
        (23, "In the past two weeks, did you use any drugs, or medicines in ways other than prescribed?"),
        (2, "As for your mood, how often have you felt down in the past two weeks?"),
        (2, "Next, I'd like to ask about your mood. In the past two weeks, how often did you feel low?"),
        (2, "When you think back over the past two weeks, on how many days were you sad?"),
        (8, "In the past two weeks, how often did you avoid something because you were anxious?"),
    ],
)
def test_other_good_words_pass(item: int, text: str) -> None:
    check_question(level1().item(item), text)


@pytest.mark.parametrize(
    "text",
    [
        "Why have you felt down in the past two weeks?",
        "What made you feel low in the past two weeks?",
        "When were you low in the past two weeks?",
        "What were you feeling low about in the past two weeks?",
        "How did you cope with feeling low in the past two weeks?",
        "How deeply did you feel low in the past two weeks?",
    ],
)
def test_a_question_asks_how_often_or_whether_and_nothing_else(text: str) -> None:
    with pytest.raises(RejectedOutput, match="how often it was so"):
        check_question(level1().item(2), text)


@pytest.mark.parametrize(
    "text",
    [
        "You clearly are feeling down a lot, so how often was it in the past two weeks?",
        "You are feeling down, and how often was it in the past two weeks?",
        "Well, you've been low in the past two weeks?",
        "Given how sad you are, how often were you low in the past two weeks?",
        "How often were you low in the past two weeks, considering how sad you look?",
        "Since you feel so sad, how often were you low in the past two weeks?",
        "Now that you're on your own, how often were you low in the past two weeks?",
        "Winter is a sad time, so how often were you low in the past two weeks?",
        "In the past two weeks, how often did your sadness come, or how low you were?",
    ],
)
def test_a_question_tells_patients_nothing_of_how_they_are(text: str) -> None:
    with pytest.raises(RejectedOutput, match="must not lead towards an answer"):
        check_question(level1().item(2), text)


@pytest.mark.parametrize(
    "before",
    [
        "Exercise lifts the mood.",
        "Fresh air works wonders.",
        "Low moods pass;",
        "Nobody is sad for ever:",
        "A walk in the morning is a fine thing –",
        "You have had a bad time!",
    ],
)
def test_before_a_question_nothing_but_an_introduction_is_said(before: str) -> None:
    question = "How often were you low in the past two weeks?"
    check_question(level1().item(2), question)
    check_question(level1().item(2), f"The next one is about your mood. {question}")
    with pytest.raises(RejectedOutput, match=r"must not tell anything|must not advise"):
        check_question(level1().item(2), f"{before} {question}")


@pytest.mark.parametrize(
    "text",
    [
        "In the past two weeks, have you thought of hurting or killing yourself?",
        "In the past two weeks, have you had thoughts of harming yourself with pills?",
        "In the past two weeks, have you thought of hurting yourself, for example by cutting?",
        "In the past two weeks, have you felt suicidal or thought of harming yourself?",
    ],
)
def test_the_self_harm_item_names_neither_death_nor_a_way(text: str) -> None:
    assert rules_broken(text, 11) == ["name death, or a way of hurting oneself"]
    assert rules_broken(text, 2) == []
    with pytest.raises(RejectedOutput, match="must not name death"):
        check_question(level1().item(11), text)


@pytest.mark.parametrize(
    ("item", "text"),
    [
        (1, "In the past two weeks, have you had little interest or any pleasure in doing things?"),
        (2, "Over the past two weeks, have you felt down, depressed, or hopeless?"),
        (3, "In the past two weeks, have you felt more irritated, grouchy, or angry than you usually are?"),
        (6, "In the past two weeks, have you felt nervous, anxious, worried, or on edge?"),
        (11, "In the past two weeks, have you had thoughts of actually harming or hurting yourself?"),
        (21, "In the past two weeks, did you drink at least 4 drinks of any alcohol in a single day?"),
    ],
)
def test_a_few_changed_words_are_no_paraphrase(item: int, text: str) -> None:
    assert quotes_item(level1().item(item), text)
    with pytest.raises(RejectedOutput, match="not quote it"):
        check_question(level1().item(item), text)
