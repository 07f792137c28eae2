"""The synthetic patients and the offline simulator that speaks for them.

Nothing here asks the scorer or the risk check: gold must not depend on what it is meant to measure.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.personas import ITEMS, Persona, Said, days_of, load_personas, persona, read_persona, score_of
from benchmark.simulator import SimulatedPatient, Unit, phrases
from errors import InputError, NotFoundError
from instruments.level1 import Score, level1
from instruments.profile import SessionStatus

PERSONAS = load_personas()
SCORES: tuple[Score, ...] = (0, 1, 2, 3, 4)
SEEDS = range(12)
STOPPING = [p for p in PERSONAS.values() if p.outcome is SessionStatus.TERMINATED]
PASSIVE = [p for p in PERSONAS.values() if p.passive_ideation]
ORDINARY = [p for p in PERSONAS.values() if p not in STOPPING and p not in PASSIVE]

DANGER = re.compile(
    r"\b(kill\w*|suicid\w*|die|dying|dead|death|end (my|it|his|her)|murder\w*|shoot\w*|stab\w*|gun|knife|weapon"
    r"|overdose\w*|cut(ting)? myself|goodbyes?|(hurt|hurting|harm|harming) (him|her|them|someone|somebody)"
    r"|better off without me|not (to )?wake up|not be here|tonight)\b",
    re.I,
)
SELF_HARM = re.compile(r"\b(hurt|harm)(ing)? myself\b", re.I)
INTENT = re.compile(r"\b(i'm|i am) going to|\bi will (do|end|kill)|\bi have decided|\btonight\b|\bmy plan\b", re.I)
OFTEN = re.compile(
    r"\b(every|daily|nightly|days?|nights?|once|twice|thrice|times|rarely|often|always|never|sometimes|constantly|most)\b",
    re.I,
)
CLASHES = re.compile(r"[{}]|  | [,.;:]|[?!,:] ?[.,;:]|(?<!\.)\. ?[.,;:](?!\.)|\b(\w+) \1\b", re.I)


def answers(someone: Persona, seeds: range = SEEDS) -> Iterator[tuple[int, str]]:
    """Everything a persona says: item and text, answers and follow-ups alike."""
    for seed in seeds:
        patient = SimulatedPatient(someone, seed)
        for item in ITEMS:
            for is_follow_up in (False, True):
                yield item, patient.answer(item, is_follow_up=is_follow_up, question="?")


def first(someone: Persona, item: int, seeds: range = SEEDS) -> list[str]:
    return [SimulatedPatient(someone, seed).answer(item, is_follow_up=False, question="?") for seed in seeds]


def states(text: str, days: int, unit: Unit) -> bool:
    """Whether the text holds a phrase that is true for that many days."""
    fitting = [p.text for p in (*phrases().adverbials, *phrases().counts) if p.fits(days, unit)]
    patterns = (re.sub(r"\\{\w+\\}", r"[\\w ]+", re.escape(phrase)) for phrase in fitting)
    return any(re.search(pattern, text, re.I) for pattern in patterns)


class TestPersonas:
    def test_there_are_at_least_24_and_every_domain_is_somebodys_main_problem(self) -> None:
        assert len(PERSONAS) >= 24
        assert {p.main_domain for p in PERSONAS.values()} - {None} == {d.name for d in level1().domains}

    def test_the_main_domain_holds_a_high_score(self) -> None:
        for someone in PERSONAS.values():
            for domain in level1().domains:
                if domain.name == someone.main_domain:
                    assert max(someone.scores[item.number] for item in domain.items) >= 3, someone.id

    def test_at_least_four_are_healthy_and_reach_no_threshold(self) -> None:
        healthy = [p for p in PERSONAS.values() if p.impression is None]
        assert len(healthy) >= 4
        for someone in healthy:
            for domain in level1().domains[:-1]:
                assert all(someone.scores[item.number] < domain.threshold for item in domain.items), someone.id
            assert someone.scores[21] == someone.scores[23] == 0

    def test_at_least_four_are_comorbid(self) -> None:
        assert sum(bool(p.also) for p in PERSONAS.values()) >= 4

    def test_at_least_four_stop_at_different_items_and_one_of_them_for_violence(self) -> None:
        assert len({p.stop_at for p in STOPPING}) >= 4
        assert any(all(re.search(r"\b(kill|hurt) (him|my)|\bhurt him", w) for w in p.stop_words) for p in STOPPING)

    def test_at_least_four_carry_passive_ideation_and_complete(self) -> None:
        assert len(PASSIVE) >= 4
        assert all(p.outcome is SessionStatus.COMPLETED and p.stop_at is None for p in PASSIVE)

    def test_the_impressions_cover_what_the_diagnostician_must_tell_apart(self) -> None:
        wanted = """Major Depressive|Adjustment|Generalized Anxiety|Panic|Social Anxiety|Posttraumatic Stress
            Obsessive-Compulsive|Bipolar I|Schizophrenia|Alcohol Use|Cannabis Use|Sedative|Insomnia|Somatic Symptom
            Borderline Personality|Depersonalization|Mild Neurocognitive|Attention-Deficit|Intermittent Explosive"""
        names = " ".join(p.impression.name for p in PERSONAS.values() if p.impression)
        assert [w for w in re.split(r"\||\s*\n\s*", wanted) if w not in names] == []

    def test_one_impression_has_one_category(self) -> None:
        pairs = {i for p in PERSONAS.values() for i in (p.impression, *p.also) if i}
        assert len({i.name for i in pairs}) == len(pairs)

    def test_details_say_nothing_of_how_often(self) -> None:
        """Else a detail could contradict the gold score of its item."""
        told = [fact for p in PERSONAS.values() for facts in p.facts.values() for fact in facts]
        assert len(told) >= 150
        assert [fact for fact in told if OFTEN.search(fact)] == []
        assert [fact for fact in told if fact[-1] not in ".?!"] == []

    def test_everyone_who_is_not_healthy_tells_details(self) -> None:
        assert [p.id for p in PERSONAS.values() if p.impression and len(p.facts) < 2] == []


class TestLoading:
    def broken(self, **changes: object) -> str:
        return json.dumps({**persona("no-way-out").model_dump(mode="json"), **changes})

    @pytest.mark.parametrize(
        ("changes", "complaint"),
        [
            ({"scores": {"1": 2}}, "items 1 to 23"),
            ({"outcome": "completed"}, "does not fit stop_at 2"),
            ({"stop_at": None}, "does not fit stop_at None"),
            ({"stop_words": []}, "does not fit stop_at 2"),
            ({"passive_ideation": True}, "no stop"),
            ({"outcome": "completed", "stop_at": None, "stop_words": []}, "item 11 needs"),
            ({"main_domain": "Joy"}, "no domain is called 'Joy'"),
            ({"impression": None}, "go together"),
            ({"answers": {"1": [{"days": [1, 1], "text": "Once."}]}}, "does not mean its score, 4"),
            ({"facts": {"24": ["More."]}}, r"items \[24\]"),
            ({"style": "rude"}, "style"),
            ({"id": "no-one"}, "holds the persona 'no-one'"),
        ],
    )
    def test_a_persona_that_contradicts_itself_is_refused(self, changes: dict[str, object], complaint: str) -> None:
        with pytest.raises(InputError, match=rf"no-way-out\.json .*{complaint}"):
            read_persona("no-way-out.json", self.broken(**changes))

    def test_an_unknown_persona_is_refused_with_the_known_ones(self) -> None:
        with pytest.raises(NotFoundError, match=r"no persona 'nobody'; choose one of .*what-if"):
            persona("nobody")


class TestPhrases:
    """Each phrase declares its days; the specification's table says what they mean."""

    def test_days_map_to_scores_as_the_specification_says(self) -> None:
        assert [score_of(days) for days in range(15)] == [0, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4]
        assert [days for score in SCORES for days in days_of(score)] == list(range(15))
        with pytest.raises(ValueError, match="0 to 14"):
            score_of(15)

    def test_a_phrase_true_for_days_of_two_scores_is_refused(self) -> None:
        with pytest.raises(ValueError, match="do not mean one score"):
            Said(days=(7, 8), text="seven or eight days")

    @pytest.mark.parametrize("score", SCORES)
    def test_every_score_has_many_phrasings(self, score: Score) -> None:
        book = phrases()
        for bank, least in ((book.adverbials, 12), (book.counts, 8)):
            assert len({p.text for p in bank if p.score == score}) >= least

    @pytest.mark.parametrize("days", range(15))
    def test_every_number_of_days_has_several_phrasings(self, days: int) -> None:
        for bank in (phrases().adverbials, phrases().counts):
            for unit in get_args(Unit):
                assert sum(p.fits(days, unit) for p in bank) >= 4

    def test_numbers_in_a_phrase_are_its_days(self) -> None:
        """Where a phrase names a plain number of days, it is the number that the phrase declares."""
        words = {word: n for n, word in enumerate(phrases().numbers)}
        for phrase in (*phrases().adverbials, *phrases().counts):
            named = re.fullmatch(r"on (?:just |about )?(\w+)(?: (?:or|to) (\w+))? \{days?\}", phrase.text)
            if named and named[1] in words:
                assert (words[named[1]], words[named[2] or named[1]]) == phrase.days

    def test_rates_a_week_are_doubled(self) -> None:
        rates = {p.text: p.days for p in phrases().adverbials}
        assert rates["once a week"] == (2, 2)
        assert rates["twice a week"] == (4, 4)
        assert rates["two or three times a week"] == (4, 6)
        assert rates["five {days} a week"] == (10, 10)
        assert rates["six {days} out of seven"] == (12, 12)

    def test_every_item_has_enough_ways_of_yes_and_no(self) -> None:
        assert [topic.item for topic in phrases().topics] == list(ITEMS)
        for topic in phrases().topics:
            assert all(len(set(topic.presence(score))) >= 6 for score in SCORES)
            assert len(set(topic.denials)) >= 5

    def test_sleep_is_counted_in_nights(self) -> None:
        assert phrases().topic(4).units == phrases().topic(14).units == ("night",)
        said = " ".join(first(persona("awake-at-three"), 14, range(100)))
        assert "nights" in said
        assert not re.search(r"\b(every|fourteen) days?\b", said)


class TestAnswers:
    @given(st.sampled_from(sorted(PERSONAS)), st.integers(), st.sampled_from(ITEMS), st.booleans(), st.text())
    def test_an_answer_depends_on_persona_seed_item_and_kind_only(
        self, identifier: str, seed: int, item: int, is_follow_up: bool, question: str
    ) -> None:
        said = [
            SimulatedPatient(persona(identifier), seed).answer(item, is_follow_up=is_follow_up, question=q)
            for q in ("", question)
        ]
        assert said[0] == said[1]

    def test_order_does_not_matter(self) -> None:
        patient = SimulatedPatient(persona("what-if"), 5)
        forth = [patient.answer(item, is_follow_up=False, question="?") for item in ITEMS]
        back = [patient.answer(item, is_follow_up=False, question="?") for item in reversed(ITEMS)]
        assert forth == back[::-1]

    def test_answers_are_the_same_on_every_machine(self) -> None:
        """Reports compare runs by persona and seed, so a change of words must be a decision."""
        said = SimulatedPatient(persona("steady-nurse"), 1).answer(1, is_follow_up=False, question="?")
        assert said == "Not on any of the fourteen days. I'm enjoying things as much as ever."

    def test_many_seeds_give_many_texts(self) -> None:
        firsts = {text for p in PERSONAS.values() for item in ITEMS for text in first(p, item)}
        assert len(firsts) >= 5_000
        ordinary = {text for p in ORDINARY for _, text in answers(p)}
        assert len(ordinary) >= 5_000

    def test_a_persona_rarely_repeats_itself_over_seeds(self) -> None:
        for someone in PERSONAS.values():
            for item in set(ITEMS) - {*someone.answers, someone.stop_at}:
                assert len(set(first(someone, item, range(30)))) >= 10, (someone.id, item)

    def test_every_answer_is_well_formed_and_short_enough(self) -> None:
        for someone in PERSONAS.values():
            for _, text in answers(someone):
                assert text.strip() == text
                assert 0 < len(text) <= 1_200
                assert not CLASHES.search(text.replace("No no", "").replace("No. No,", "")), text

    def test_the_chosen_days_mean_the_gold_score(self) -> None:
        for someone in PERSONAS.values():
            for seed in SEEDS:
                plans = (SimulatedPatient(someone, seed).plan(item) for item in ITEMS)
                assert [score_of(plan.days) for plan in plans] == list(someone.scores.values())

    def test_patients_are_clear_vague_rambling_and_off_topic_about_yes_and_no(self) -> None:
        plans = [SimulatedPatient(p, seed).plan(item) for p in ORDINARY for seed in SEEDS for item in ITEMS]
        assert {(plan.mode, plan.polarity) for plan in plans} == set(
            itertools.product(("clear", "vague", "rambling", "off_topic"), ("present", "absent"))
        )
        clear = sum(plan.mode == "clear" for plan in plans) / len(plans)
        assert 0.5 < clear < 0.85

    def test_vague_and_off_topic_answers_say_no_frequency_and_the_follow_up_does(self) -> None:
        for someone in (p for p in ORDINARY if not phrases().styles[p.style].rewrites):
            for seed, item in itertools.product(SEEDS, ITEMS):
                patient = SimulatedPatient(someone, seed)
                plan = patient.plan(item)
                if plan.mode in ("vague", "off_topic"):
                    unclear = patient.answer(item, is_follow_up=False, question="?")
                    assert not OFTEN.search(unclear.replace("how often", "").replace("How often", "")), unclear
                    clarified = patient.answer(item, is_follow_up=True, question="?")
                    assert states(clarified, plan.days, plan.unit), clarified

    def test_clear_and_rambling_answers_state_their_frequency(self) -> None:
        for someone in (p for p in ORDINARY if not phrases().styles[p.style].rewrites):
            for seed, item in itertools.product(SEEDS, set(ITEMS) - {*someone.answers}):
                patient = SimulatedPatient(someone, seed)
                plan = patient.plan(item)
                if plan.score and plan.mode in ("clear", "rambling"):
                    text = patient.answer(item, is_follow_up=False, question="?")
                    assert states(text, plan.days, plan.unit), text

    def test_details_come_up_in_every_interview(self) -> None:
        someone = persona("the-crossing")
        for seed in range(40):
            patient = SimulatedPatient(someone, seed)
            said = " ".join(patient.answer(i, is_follow_up=f, question="?") for i in ITEMS for f in (False, True))
            assert re.search(r"crash|accident", said)


class TestDanger:
    def test_ordinary_patients_never_speak_of_danger(self) -> None:
        for someone in ORDINARY:
            for item, text in answers(someone):
                assert not DANGER.search(text), (someone.id, item, text)
                assert item == 11 or not SELF_HARM.search(text), (someone.id, item, text)

    def test_ordinary_patients_name_self_harm_only_to_deny_it(self) -> None:
        said = {text for someone in ORDINARY for text in first(someone, 11, range(40)) if SELF_HARM.search(text)}
        assert said
        assert all(re.search(r"ha(ve not|ven'?t) had any thoughts of hurting myself", text, re.I) for text in said)

    def test_nobody_else_is_vague_about_item_11(self) -> None:
        for someone in ORDINARY:
            assert all(SimulatedPatient(someone, seed).plan(11).mode == "clear" for seed in range(30))

    def test_passive_ideation_is_told_at_item_11_without_intent(self) -> None:
        for someone in PASSIVE:
            for item, text in answers(someone):
                assert item == 11 or not (DANGER.search(text) or SELF_HARM.search(text)), (someone.id, item, text)
                assert not INTENT.search(text.replace("I'm not going to", "")), (someone.id, item, text)

    def test_who_must_stop_says_so_at_that_item_and_not_before(self) -> None:
        for someone in STOPPING:
            assert someone.stop_at is not None
            for item, text in answers(someone):
                assert (text in someone.stop_words) == (item == someone.stop_at)
                assert item in (11, someone.stop_at) or not DANGER.search(text), (someone.id, item, text)
            assert set(first(someone, someone.stop_at, range(60))) == set(someone.stop_words)
