"""Classes of language that the scorer reads by rule: each with several wordings, at several items."""

from __future__ import annotations

import pytest

from agents.scorer import AnswerToScore, ItemScore, score_by_rules

HARM = 11


def score(text: str, item: int = 6, question: str = "Have you been on edge in the past two weeks?") -> ItemScore:
    return score_by_rules(AnswerToScore(item=item, question=question, answer=text))


def followed_up(first: str, second: str, item: int = 6) -> ItemScore:
    asked = "On roughly how many of the past fourteen days was that so?"
    return score_by_rules(
        AnswerToScore(
            item=item, question="How has it been?", answer=first, follow_up_question=asked, follow_up_answer=second
        )
    )


# --- two negations that affirm ---


@pytest.mark.parametrize("item", [HARM, 1, 6, 14, 21])
@pytest.mark.parametrize(
    "text",
    [
        "I wouldn't say never",
        "wouldnt say never",
        "I can't say it never crosses my mind.",
        "I couldn't say that I never do.",
        "I'd be lying if I said no.",
        "I would be lying if I told you it never happened.",
        "To say never would be a lie.",
        "Never is a strong word.",
        "Not never.",
        "It's not nothing.",
        "It isn't zero.",
        "I wouldn't put it at zero.",
        "I wouldn't say never, no.",
        "No, I wouldn't say never.",
        "I wouldn't go so far as to say never.",
        "I won't claim I never do.",
        "I can't honestly say no.",
    ],
)
def test_two_negations_that_affirm_are_asked_about(item: int, text: str) -> None:
    found = score(text, item)
    assert (found.score > 0, 5 <= found.ambiguity < 8) == (True, True)
    assert found.evidence_quotes


@pytest.mark.parametrize(
    ("item", "text", "expected"),
    [
        (6, "I wouldn't say never, but two days at most.", 1),
        (6, "I wouldn't say never in my life, but not in these two weeks.", 0),
        (6, "It's not that I never get nervous, but these last two weeks there's been none of it.", 0),
        (HARM, "I can't say I have.", 0),
        (HARM, "I wouldn't say so, no.", 0),
        (HARM, "No, never.", 0),
        (2, "I'd be lying if I said I was never sad, about three days.", 2),
        (14, "I can't say I haven't slept well. I've slept fine.", 0),
    ],
)
def test_what_is_said_beside_them_still_counts(item: int, text: str, expected: int) -> None:
    found = score(text, item)
    assert (found.score, found.ambiguity <= 4) == (expected, True)


# --- a hedge negates no number ---


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("i dont know maybe two days", 1),
        ("not sure maybe 2 days", 1),
        ("idk like 2 days", 1),
        ("10 days idk", 3),
        ("two days I'm not sure", 1),
        ("every day idk why", 4),
        ("idk every day", 4),
        ("dunno three nights", 2),
        ("most days i guess not sure", 3),
        ("I don't really know nearly every day I suppose", 4),
        ("can't say exactly maybe five days", 2),
        ("I can't say for sure maybe two days", 1),
        ("hard to say like 9 days", 3),
        ("no idea maybe 4 days", 2),
        ("haven't counted maybe 5 days", 2),
        ("I really don't know maybe once or twice", 1),
        ("idk a day or two", 1),
    ],
)
@pytest.mark.parametrize("item", [6, HARM])
def test_a_hedge_negates_no_number(item: int, text: str, expected: int) -> None:
    found = score(text, item)
    assert (found.score, 3 <= found.ambiguity <= 4) == (expected, True)
    assert followed_up("Yes.", text, item).score == expected


@pytest.mark.parametrize("text", ["I don't know.", "idk", "not sure", "hard to say", "no idea"])
def test_a_hedge_alone_says_nothing(text: str) -> None:
    found = score(text)
    assert (found.score, found.ambiguity >= 8, found.evidence_quotes) == (0, True, ())


@pytest.mark.parametrize(
    ("item", "text", "expected"),
    [
        (14, "I don't know a single night without waking.", 4),
        (19, "I don't know who I am most days.", 3),
        (1, "I don't know how to enjoy anything, every day.", 4),
        (9, "My back hurts every day no idea why.", 4),
        (15, "I can't remember things most days", 3),
    ],
)
def test_what_only_looks_like_a_hedge_is_read_as_it_stands(item: int, text: str, expected: int) -> None:
    assert score(text, item).score == expected


# --- a denial, and then of all the days ---

DENIALS = [
    (1, "I haven't lost interest in things."),
    (3, "I haven't lost my temper."),
    (5, "I haven't started anything out of the ordinary."),
    (6, "I haven't worried."),
    (10, "I've had no illness to be taken seriously or not."),
    (HARM, "I haven't thought of hurting myself."),
    (14, "I haven't lain awake."),
    (15, "I haven't had problems with my memory."),
    (16, "I haven't relived anything."),
    (18, "I haven't felt detached."),
    (21, "I haven't had four drinks in a day."),
    (22, "I haven't smoked."),
]


@pytest.mark.parametrize(("item", "denial"), DENIALS)
@pytest.mark.parametrize(
    "days",
    [
        "Not on any of the fourteen days.",
        "Not on one of the fourteen days.",
        "Not one day out of fourteen.",
        "Not on a single one of the fourteen days.",
        "None of the fourteen days.",
    ],
)
def test_not_on_any_of_the_days_repeats_a_denial(item: int, denial: str, days: str) -> None:
    found = score(f"{denial} {days}", item)
    assert (found.score, found.ambiguity <= 4) == (0, True)


@pytest.mark.parametrize(
    ("item", "text"),
    [
        (20, "I haven't felt close to anyone. Not on one of the fourteen days."),
        (1, "I haven't enjoyed anything. Not on any of the fourteen days."),
        (14, "I haven't slept well. Not on one of the fourteen nights."),
        (HARM, "Not a single one of the fourteen days was without a thought of hurting myself."),
        (HARM, "None of the fourteen days was without the thought of hurting myself."),
        (6, "On none of the fourteen days was I calm."),
    ],
)
def test_what_is_well_on_no_day_is_there_every_day(item: int, text: str) -> None:
    found = score(text, item)
    assert (found.score, found.ambiguity <= 4) == (4, True)


# --- what the second reader does not overrule ---


@pytest.mark.parametrize(
    ("item", "text", "expected"),
    [
        (15, "I couldn't remember where I had put something. Every day? No, two days out of the fourteen.", 1),
        (14, "I lay awake for hours. Most nights? No, nearly all of them. I get nightmares and wake up soaked.", 4),
        (2, "I felt low. Some days? No, every day. It started when I lost the job and it drains me.", 4),
        (12, "I heard a voice. Every night? Nah, twice. It was a man's voice, quite loud.", 1),
        (6, "Most days? No. Every day.", 4),
        (14, "There was one night like that; the other thirteen weren't. My sleep was broken and I got up tired.", 1),
        (14, "Three nights were like that; the other eleven weren't. My sleep was broken and I got up tired.", 2),
        (3, "One day like that, the other thirteen weren't. I shouted at my kids over nothing.", 1),
        (8, "I would not say never, but a day or two is all. I found an excuse because it makes me nervous.", 1),
        (HARM, "I can't say never, but it was one night. I thought about taking all the pills.", 1),
    ],
)
def test_a_number_after_a_correction_and_days_left_over_stand(item: int, text: str, expected: int) -> None:
    found = score(text, item)
    assert (found.score, found.ambiguity <= 4) == (expected, True)


@pytest.mark.parametrize("text", ["Every day? No.", "Daily? Not really.", "I'm nervous. Every day? No."])
def test_not_so_often_is_asked_about(text: str) -> None:
    found = score(text)
    assert (found.score, 5 <= found.ambiguity < 8) == (2, True)


def test_a_question_to_oneself_and_a_plain_no_is_a_denial() -> None:
    assert score("Every day? No, not at all.").score == 0


# --- what affirms by negating a pause, or what is well ---


@pytest.mark.parametrize(
    ("item", "text"),
    [
        (6, "I'd like to say that it skipped a day, but it didn't."),
        (6, "I wish it had skipped a day, but it didn't."),
        (9, "I wish it had let up for a day, but it didn't."),
        (12, "I wish they had left me alone for a day, but they didn't."),
        (6, "You'd think it would take a day off, but it never did."),
        (14, "I kept hoping it would let up, but it didn't."),
        (2, "What day don't I feel like that."),
        (2, "Which day don't I feel low?"),
        (6, "What day am I not nervous?"),
    ],
)
def test_what_never_paused_was_there_every_day(item: int, text: str) -> None:
    found = score(text, item)
    assert (found.score, found.ambiguity <= 4) == (4, True)


@pytest.mark.parametrize(
    ("item", "text"),
    [
        (6, "I'm never calm."),
        (6, "I'm never relaxed."),
        (6, "I'm never at ease."),
        (2, "I'm never cheerful."),
        (14, "I never sleep well."),
        (14, "I've had insomnia for ten years, this fortnight was no different."),
        (2, "I've been depressed for years, these two weeks were no different."),
        (6, "I've been a worrier all my life, the past fortnight was no exception."),
    ],
)
def test_never_well_and_as_bad_as_before_are_no_denials(item: int, text: str) -> None:
    found = score(text, item)
    assert (found.score > 0, found.ambiguity < 8) == (True, True)


@pytest.mark.parametrize(
    ("item", "text"),
    [
        (6, "I was never nervous."),
        (6, "I've never been nervous, this fortnight was no different."),
        (3, "No different from usual."),
        (9, "I had pain for years and it stopped."),
        (3, "Oh no I have never had a temper."),
    ],
)
def test_never_ill_is_a_denial(item: int, text: str) -> None:
    found = score(text, item)
    assert (found.score, found.ambiguity <= 4) == (0, True)


# --- exceptions ---


@pytest.mark.parametrize(
    ("item", "text", "expected"),
    [
        (14, "No bad nights except Friday.", 1),
        (14, "No good nights except Friday.", 4),
        (14, "Fine except for three nights.", 2),
        (14, "Bad except for two nights.", 4),
        (14, "Good nights apart from Tuesday and Wednesday.", 1),
        (14, "Slept well except for three nights.", 2),
        (14, "Didn't sleep well except for three nights.", 3),
        (6, "No days except for the exam day.", 1),
        (6, "Not at all, apart from the exam day.", 1),
        (6, "No nerves apart from the day of the interview.", 1),
        (6, "I was fine. Except on the day of the interview.", 1),
        (6, "Calm except for four days.", 2),
        (6, "Anxious except for two days.", 4),
        (6, "All fine save for one day.", 1),
        (9, "No pain except on Monday.", 1),
        (9, "Not at all other than yesterday and the day before; don't know what caused it.", 1),
        (HARM, "Not at all, apart from one night.", 1),
        (2, "None, bar the day of the funeral.", 1),
        (2, "Terrible apart from one day.", 4),
        (5, "No more than usual, save for the two days I went mad on eBay and bought a boat.", 1),
        (22, "Chewing tobacco, there is no day without, except the one fasting day.", 4),
        (21, "Sober apart from the wedding, when I had eight pints.", 1),
    ],
)
def test_of_what_the_exceptions_are_excepted_decides(item: int, text: str, expected: int) -> None:
    found = score(text, item)
    assert (found.score, found.ambiguity <= 4) == (expected, True)


# --- shares in digits, and weeks added up ---


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2/3 of the days", 3),
        ("1/2 of the days", 2),
        ("1/4 of the days", 2),
        ("3/4 of the nights", 3),
        ("75%", 3),
        ("about 70%", 3),
        ("yes, 20%", 2),
        ("90 percent", 4),
        ("3/4 days", 2),
        ("5/14", 2),
        ("The whole first week and then three days.", 3),
        ("The first week entirely and two days of the second.", 3),
        ("The whole of last week plus two days of this one.", 3),
        ("All of last week and half of this one.", 3),
        ("All last week and then Monday.", 3),
        ("Last week every day, this week not at all.", 2),
        ("This week every day, last week never.", 2),
        ("First week every day, second week nothing.", 2),
        ("The whole first week, seven days solid.", 2),
        ("Every day of it.", 4),
        ("weeknights and weekends", 4),
        ("weekdays as well as weekends", 4),
        ("weekdays, not weekends", 3),
    ],
)
def test_shares_in_digits_and_weeks_add_up(text: str, expected: int) -> None:
    found = score(text)
    assert (found.score, found.ambiguity <= 4) == (expected, True)


@pytest.mark.parametrize("text", ["2/10", "7/10", "It was 2/10 bad.", "I feel 75%.", "100%"])
def test_how_bad_it_is_and_a_strong_yes_are_no_shares(text: str) -> None:
    assert score(text).ambiguity >= 5


def test_a_date_is_one_day() -> None:
    assert score("It was on 3/4.").score == 1


# --- the item as stated ---


@pytest.mark.parametrize(
    ("item", "text", "expected"),
    [
        (21, "Three every night, not four.", 0),
        (21, "I don't drink four. Three at most, every night.", 0),
        (21, "Never four. Three every night.", 0),
        (21, "Two every evening, never four.", 0),
        (21, "Four every night.", 4),
        (21, "Five every night, not four.", 4),
        (21, "Never three. Four every night.", 4),
        (21, "I never touch wine, it's whisky, half a bottle a day, every day.", 4),
        (9, "My legs are sore every day because I train for a marathon.", 0),
        (9, "I pulled a muscle last week, it's hurt every day since.", 0),
        (9, "I twisted my ankle and it hurts every day.", 0),
        (9, "Sunburn. Two days of that.", 0),
        (9, "A bruise. Four days.", 0),
        (9, "My back hurts every day, and I don't know why.", 4),
        (19, "I know who I am. I wonder every day what's for dinner.", 0),
        (19, "I wonder every day who I am.", 4),
        (17, "I wash my hands over and over every day.", 4),
    ],
)
def test_what_is_counted_is_what_the_item_asks_for(item: int, text: str, expected: int) -> None:
    found = score(text, item)
    assert (found.score, found.ambiguity <= 4) == (expected, True)


@pytest.mark.parametrize(
    "text",
    [
        "I wash my hands before eating every day, like everyone.",
        "I count the till every evening, that's my job.",
        "I check the locks every night, it's part of my job.",
    ],
)
def test_what_everybody_does_or_is_paid_for_is_no_clear_ritual(text: str) -> None:
    found = score(text, 17)
    assert found.score == 0 or found.ambiguity >= 5


# --- off topic ---


@pytest.mark.parametrize("item", [1, 3, 6, 8, 9, 12, 14, 18, 20])
@pytest.mark.parametrize(
    "text",
    [
        "That reminds me of the form I had to fill in at the bank.",
        "The weather has been awful.",
        "The traffic was terrible.",
        "Did you see the match?",
    ],
)
def test_what_is_off_topic_is_no_score_and_no_quote(item: int, text: str) -> None:
    found = score(text, item)
    assert (found.score, found.ambiguity >= 8, found.evidence_quotes) == (0, True, ())


def test_a_yes_and_a_count_in_words_that_no_table_knows() -> None:
    text = "Yes, my thoughts kept running to what could go wrong, once or twice. It was a test, so nothing strange."
    found = score(text)
    assert (found.score, found.ambiguity <= 4) == (1, True)


@pytest.mark.parametrize(
    ("item", "text", "expected"),
    [
        (2, "Low? Nearly every day. Hopeless? Never.", 4),
        (12, "Voices? Every night. Music? No.", 4),
        (23, "Weed? Every night. Coke? No.", 4),
    ],
)
def test_a_no_to_ones_own_later_question_is_of_that_part_alone(item: int, text: str, expected: int) -> None:
    assert score(text, item).score == expected


@pytest.mark.parametrize(
    ("item", "text"),
    [
        (11, "I have thought about hurting myself most days. I haven't done it."),
        (12, "A voice, most evenings. No commands."),
        (22, "Cigarettes every day. No cigars."),
    ],
)
def test_a_count_that_a_later_denial_takes_back_in_doubt_is_asked_about(item: int, text: str) -> None:
    found = score(text, item)
    assert found.ambiguity >= 5
    assert found.score >= 2
