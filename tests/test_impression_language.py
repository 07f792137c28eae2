"""What the words of an impression keep to: the PRD's bans in every mode, and no disorder where the mode names none."""

from __future__ import annotations

import pytest

from agents.impressions.language import check_language, names_a_disorder
from agents.impressions.rules import _wording
from errors import RejectedOutput
from instruments.disorders import Disorder, disorders
from instruments.level1 import level1
from instruments.tools import DiagnosticMode

MODES: tuple[DiagnosticMode, ...] = ("screening", "categorical", "diagnostic")
RULED_OUT, MEDICATION, ADVICE = "say what is ruled out", "speak of medication", "advise or propose treatment"
FORMULATION, CERTAINTY = "formulate the case", "claim certainty"

FORBIDDEN: list[tuple[str, str]] = [
    ("Bipolar I Disorder can be ruled out.", RULED_OUT),
    ("This rules out a psychotic picture.", RULED_OUT),
    ("RULE OUT: substance use.", RULED_OUT),
    ("Rule-out: thyroid.", RULED_OUT),
    ("R/O hypothyroidism", RULED_OUT),
    ("Panic is excluded by the course.", RULED_OUT),
    ("The scores argue against mania.", RULED_OUT),
    ("A manic picture is unlikely.", RULED_OUT),
    ("The answers are inconsistent with a trauma.", RULED_OUT),
    ("There is no Panic Disorder here.", RULED_OUT),
    ("The patient does not have Schizophrenia.", RULED_OUT),
    ("Rather this than that: Major Depressive Disorder rather than Adjustment Disorder.", RULED_OUT),
    ("Differential diagnoses were weighed.", RULED_OUT),
    ("It can be ruled\nout.", RULED_OUT),
    ("It can be <sym>ruled</sym> out.", RULED_OUT),
    ("An SSRI is the first choice.", MEDICATION),
    ("Medication may be needed.", MEDICATION),
    ("Start sertraline 50 milligrams.", MEDICATION),
    ("Antidepressants help with this.", MEDICATION),
    ("A low dose at night.", MEDICATION),
    ("Pharmacological options exist.", MEDICATION),
    ("LITHIUM", MEDICATION),
    ("Psychotherapy is indicated.", ADVICE),
    ("The patient should rest.", ADVICE),
    ("I recommend a sleep diary.", ADVICE),
    ("A referral was made.", ADVICE),
    ("They would benefit from company.", ADVICE),
    ("Next steps: call them.", ADVICE),
    ("CBT works well here.", ADVICE),
    ("It is advisable to wait.", ADVICE),
    ("The patient ought to see a doctor.", ADVICE),
    ("Better sleep hygiene.", ADVICE),
    ("The low mood stems from the divorce.", FORMULATION),
    ("It is rooted in an early loss.", FORMULATION),
    ("A predisposing factor is the family.", FORMULATION),
    ("An anxious attachment style.", FORMULATION),
    ("Unconscious conflicts play a part.", FORMULATION),
    ("Case formulation: see below.", FORMULATION),
    ("The patient definitely has a depression.", CERTAINTY),
    ("The patient has Major Depressive Disorder.", CERTAINTY),
    ("She suffers from Panic Disorder.", CERTAINTY),
    ("This meets full criteria.", CERTAINTY),
    ("The picture meets DSM-5 criteria.", CERTAINTY),
    ("It confirms the diagnosis.", CERTAINTY),
    ("The patient is diagnosed with a mood problem.", CERTAINTY),
    ("Undoubtedly a low mood.", CERTAINTY),
]
ALLOWED: list[str] = [
    "What was reported is most in line with Major Depressive Disorder, to be explored by a clinician.",
    "These are impressions from a screening, not diagnoses.",
    "Low mood on nearly every day, with little interest and poor sleep.",
    "Consider the PROMIS Depression short form.",
    "The domain Substance Use reached its threshold; medicines or drugs were taken more than prescribed.",
    "The patient told of an event months ago that still acts.",
    "<quote>my doctor should have ruled out the pills, I take sertraline and CBT did nothing</quote>",
    "Said of sleep: <quote>I was diagnosed with it, the treatment failed</quote> on several days.",
    f"Asked about: {level1().item(23).text}",
    "Exclusive use of one room, a doserate meter, and a shoulder that hurts.",
    "The referee treated them badly; a certain mood came with it.",
    "",
]
LABELS: list[str] = [
    "Major Depressive Disorder",
    "an adjustment disorder",
    "PTSD",
    "signs of OCD",
    "Schizophrenia",
    "schizoaffective features",
    "a bipolar picture",
    "major depression",
    "clinical depression",
    "a depressive episode",
    "panic attacks",
    "a panic attack",
    "social anxiety",
    "generalised anxiety",
    "alcoholism",
    "alcohol dependence",
    "agoraphobia",
    "a phobia of dogs",
    "insomnia",
    "hypomania",
    "manic spells",
    "post-traumatic stress",
    "borderline personality",
    "a provisional diagnosis of low mood",
    "burnout syndrome",
    "Major Depressive Disorders",
    "major\u00a0 depression",
    "schizo<sym></sym>phrenia",
]
NO_LABELS: list[str] = [
    "Depression, Anxiety and Mania reached their threshold.",
    "Psychosis: hearing voices on one or two days.",
    "Repetitive Thoughts and Behaviors, Dissociation, Personality Functioning and Substance Use.",
    "Further inquiry is indicated in Suicidal Ideation.",
    "PROMIS Anxiety short form; Altman Self-Rating Mania Scale; NIDA-modified ASSIST.",
    "Feeling panic or being frightened, and avoiding situations that make you anxious",
    "Feeling down, depressed, or hopeless",
    "Little interest, memory, sleep problems, panic and smoking",
    "<quote>my mother has bipolar disorder and I had major depression</quote>",
    "<sym>Low mood</sym> on most days <quote>since my PTSD came back</quote>",
    "",
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("text", "rule"), FORBIDDEN)
def test_what_no_impression_may_say(text: str, rule: str, mode: DiagnosticMode) -> None:
    with pytest.raises(RejectedOutput, match=rule):
        check_language(mode, ["Low mood.", text])


@pytest.mark.parametrize("text", ALLOWED)
def test_what_it_may_say(text: str) -> None:
    check_language("diagnostic", [text])


@pytest.mark.parametrize("mode", ["screening", "categorical"])
@pytest.mark.parametrize("text", LABELS)
def test_a_label_is_one_however_it_is_written(text: str, mode: DiagnosticMode) -> None:
    assert names_a_disorder(text, mode)
    with pytest.raises(RejectedOutput, match=f"in mode {mode} the answer must not name a disorder"):
        check_language(mode, [text])


@pytest.mark.parametrize("mode", ["screening", "categorical"])
@pytest.mark.parametrize("text", NO_LABELS)
def test_the_measures_own_names_and_the_patients_words_are_no_labels(text: str, mode: DiagnosticMode) -> None:
    assert not names_a_disorder(text, mode)
    check_language(mode, [text])


@pytest.mark.parametrize("text", LABELS[:8])
def test_a_quote_that_is_left_open_hides_nothing(text: str) -> None:
    assert names_a_disorder(f"<quote>{text}", "screening")
    assert names_a_disorder(f"<QUOTE>{text}</QUOTE>", "screening")
    assert names_a_disorder(f"<quote>my words</quote> {text} <quote>again</quote>", "screening")


@pytest.mark.parametrize("domain", [domain.name for domain in level1().domains])
def test_every_domain_and_its_items_may_be_named_in_a_screening(domain: str) -> None:
    found = next(one for one in level1().domains if one.name == domain)
    texts = [found.name, found.level2 or "", *(text for item in found.items for text in (item.text, item.topic))]
    for text in texts:
        check_language("screening", [f"Reported: {text}.", text.upper(), text.lower()])


@pytest.mark.parametrize("disorder", disorders().disorders, ids=lambda one: one.name)
def test_every_disorder_we_know_is_a_label_where_none_may_be_named(disorder: Disorder) -> None:
    name = disorder.name
    for written in (name, name.lower(), name.upper(), f"likely {name}s", f"({name})", f"<med>{name}</med>"):
        assert names_a_disorder(written, "screening"), written
        assert names_a_disorder(written, "categorical"), written
        check_language("diagnostic", [written])


def test_categories_may_be_named_where_categories_are_asked_for_and_not_in_a_screening() -> None:
    for name in disorders().categories:
        check_language("categorical", [f"In line with {name}.", name.lower(), f"<med>{name}</med>"])
        assert names_a_disorder(name, "screening"), name
    every = " and ".join(disorders().categories)
    assert not names_a_disorder(every, "categorical")
    assert names_a_disorder(f"{every}, above all Panic Disorder", "categorical")


def test_what_the_rules_engine_says_keeps_to_the_rules() -> None:
    words = _wording()
    ours = [*words.summary.values(), *words.steps.values(), *(one.description for one in disorders().features)]
    check_language("diagnostic", ours)
    check_language("screening", [words.summary["screening"], words.summary["none"], words.steps["items"]])
    check_language("categorical", [words.summary["categorical"], words.summary["unclear"], words.steps["items"]])
