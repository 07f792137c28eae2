"""Metrics on their own: each figure by an example worked out by hand, and each rule by a snapshot that breaks it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cosine

from agents.report.tags import quote
from agents.wording import all_item_words, wordings
from benchmark.card import item_rows
from benchmark.metrics import Metric, deterministic
from benchmark.metrics.accuracy import (
    NOTHING,
    Gold,
    exact,
    gold_of,
    hits,
    impression_accuracy,
    item_accuracy,
    item_pairs,
    macro_f1,
    mean_error,
    per_class_f1,
    quadratic_kappa,
    set_f1,
)
from benchmark.metrics.bertscore import EmbeddedScorer, bertscore, pairs_of, scorer
from benchmark.metrics.calibration import brier, item_confidences, reliability
from benchmark.metrics.conversation import coherence, interviewer_words, readability, spoken
from benchmark.metrics.cost import pace, spent
from benchmark.metrics.explainability import explainability
from benchmark.metrics.protocol import oversteps_in, protocol
from benchmark.snapshot import FrozenCall, FrozenLine, Snapshot
from errors import SettingsError
from instruments.level1 import level1
from instruments.tools import Impression, Removed, ReportSection
from minilm import network
from settings import Settings
from storage.crypto import Vault
from tests.benchmarked import frozen, hold


@pytest.fixture(scope="module")
def snapshot(template: Callable[[], str], settings: Settings, vault: Vault) -> Snapshot:
    return frozen(hold(template(), settings, vault), settings, vault)


def _by_name(metrics: Sequence[Metric]) -> dict[str, Metric]:
    return {metric.name.split(".", 1)[1]: metric for metric in metrics}


def _changed(snapshot: Snapshot, **changes: Any) -> Snapshot:
    return snapshot.model_copy(update=changes)


def _said(snapshot: Snapshot, item: int, kind: str, text: str, *, more: int = 0) -> Snapshot:
    """Another text where the item's line of this kind was, and `more` such lines after it."""
    lines: list[FrozenLine] = []
    for line in snapshot.lines:
        hit = line.item_id == level1().item(item).id and line.kind == kind
        lines.append(line.model_copy(update={"text": text}) if hit else line)
        lines += [lines[-1].model_copy(update={"text": f"{text} ({n})"}) for n in range(more)] if hit else []
    return _changed(snapshot, lines=tuple(lines))


# ---- readability ----


@pytest.mark.parametrize(
    ("text", "words", "sentences", "hard"),
    [
        ("The cat sat down. It was an extraordinary situation.", 9, 2, 2),
        ("We walked home in the rain.", 6, 1, 0),
        ("Considerable deterioration was immediately visible everywhere today.", 7, 1, 4),
    ],
)
def test_the_fog_index_is_the_standard_formula(text: str, words: int, sentences: int, hard: int) -> None:
    """Hard words enter as a percentage: dividing their share by 100 once more would leave next to nothing of them."""
    fog = _by_name(readability(text))["gfi"]
    assert fog.value == pytest.approx(0.4 * (words / sentences + 100 * hard / words), abs=1e-3)
    assert fog.metadata == {"by": "textstat 0.7.8", "words": words, "sentences": sentences}


def test_grade_and_ease_are_the_standard_formulas() -> None:
    """Twelve words in two sentences, with fourteen syllables."""
    found = _by_name(readability("We took the dog to the park. He ran after the table."))
    words, sentences, syllables = 12, 2, 14
    assert found["fkg"].value == pytest.approx(0.39 * words / sentences + 11.8 * syllables / words - 15.59, abs=1e-3)
    assert found["fre"].value == pytest.approx(206.835 - 1.015 * words / sentences - 84.6 * syllables / words, abs=1e-3)
    assert [one.value for one in readability("  ")] == [None, None, None]


# ---- coherence and BERTScore ----


def test_coherence_is_the_mean_cosine_of_neighbours_and_to_the_whole(snapshot: Snapshot) -> None:
    lines = spoken(snapshot)
    vectors = [network.embed([network.pieces_of(line.text)])[0] for line in lines]
    adjacent, whole = coherence(snapshot)
    neighbours = [1 - cosine(one, other) for one, other in pairwise(vectors)]
    centre = np.mean(vectors, axis=0)
    assert adjacent.value == pytest.approx(np.mean(neighbours), abs=1e-3)
    assert whole.value == pytest.approx(np.mean([1 - cosine(one, centre) for one in vectors]), abs=1e-3)
    assert adjacent.metadata == {"model": "embedded/minilm-l6-v2", "turns": len(lines)}


def test_a_conversation_that_jumps_about_is_less_coherent(snapshot: Snapshot) -> None:
    answers = [line.text for line in snapshot.lines if line.kind == "answer"]
    moved = iter(answers[11:] + answers[:11])
    lines = tuple(
        line.model_copy(update={"text": next(moved)}) if line.kind == "answer" else line for line in snapshot.lines
    )
    was, now = coherence(snapshot)[0].value, coherence(_changed(snapshot, lines=lines))[0].value
    assert was is not None
    assert now is not None
    assert was > now + 0.02


def test_bertscore_tells_what_is_alike(snapshot: Snapshot) -> None:
    same, near, far = EmbeddedScorer().score(
        [
            ("I slept badly on most nights.", "I slept badly on most nights."),
            ("I slept badly on most nights.", "How well did you sleep at night?"),
            ("I slept badly on most nights.", "The invoice is due in March."),
        ]
    )
    assert same == pytest.approx((1, 1, 1), abs=1e-5)
    assert same.f1 > near.f1 > far.f1
    assert near.f1 == pytest.approx(2 * near.precision * near.recall / (near.precision + near.recall))
    swapped = EmbeddedScorer().score([("The invoice is due in March.", "I slept badly on most nights.")])[0]
    assert (swapped.precision, swapped.recall) == pytest.approx((far.recall, far.precision))


def test_bertscore_is_of_questions_with_answers_and_of_neighbours(snapshot: Snapshot) -> None:
    answered, adjacent = pairs_of(snapshot)
    by_role = {line.text: line.role for line in snapshot.lines}
    assert {(by_role[later], by_role[earlier]) for later, earlier in answered} == {("patient", "interviewer")}
    assert len(answered) == len([line for line in snapshot.lines if line.role == "patient"])
    assert len(adjacent) == len(spoken(snapshot)) - 1
    found = bertscore(snapshot, EmbeddedScorer())
    assert [one.name for one in found] == [
        f"bertscore.{pairs}_{part}" for pairs in ("answer", "adjacent") for part in ("precision", "recall", "f1")
    ]
    assert {one.metadata["model"] for one in found} == {"embedded/minilm-l6-v2"}
    assert all(one.value is not None and 0 < one.value < 1 for one in found)


def test_without_the_library_another_model_is_refused(settings: Settings) -> None:
    assert isinstance(scorer(library=False), EmbeddedScorer)
    with pytest.raises(SettingsError, match="extra"):
        scorer(settings.crosscut_home, library=False)
    with pytest.raises(SettingsError, match="no folder"):
        scorer(settings.crosscut_home / "nothing", library=True)


# ---- protocol ----


def test_an_interview_by_the_rules_breaks_none(snapshot: Snapshot) -> None:
    found = _by_name(protocol(snapshot))
    assert {name: one.value for name, one in found.items()} == {
        "coverage": 1.0,
        "unanswered": 0,
        "follow_up_violations": 0,
        "double_questions": 0,
        "verbatim_items": 0,
        "repeated_questions": 0,
        "oversteps": 0,
        "risk_checks": 1.0,
    }


ITEM = level1().item(14)
BROKEN = {
    "double_questions": "How did you sleep in the past two weeks? And how do you feel?",
    "verbatim_items": f"In the past two weeks: {ITEM.text}",
    "oversteps": "It sounds like insomnia: how often was it so in the past two weeks?",
}


@pytest.mark.parametrize("rule", BROKEN)
def test_a_broken_rule_of_wording_is_found_with_its_turn(snapshot: Snapshot, rule: str) -> None:
    found = _by_name(protocol(_said(snapshot, ITEM.number, "question", BROKEN[rule])))
    turn = next(line.turn for line in snapshot.lines if line.item_id == ITEM.id)
    assert (found[rule].value, found[rule].metadata) == (1, {"turns": [turn]})
    assert [name for name, one in found.items() if one.value not in (0, 1.0)] == []
    assert sum(one.value or 0 for name, one in found.items() if name in BROKEN) == 1, "no other rule is"


@pytest.mark.parametrize("kind", ["intro", "question", "follow_up", "pause", "resumed", "closing"])
def test_whatever_the_interviewer_says_must_neither_diagnose_nor_advise(snapshot: Snapshot, kind: Any) -> None:
    """Greetings, acknowledgements, pauses and closing words too; to say what one does not do is not to do it."""
    known = next((line for line in snapshot.lines if line.kind == kind), None)
    line = known or FrozenLine(turn=1, role="interviewer", kind=kind, text="", at=snapshot.lines[0].at)
    others = tuple(one for one in snapshot.lines if one is not known)
    statements = sum(one.role == "interviewer" for one in others) + 1
    for text, count in {
        "This is not a diagnosis. I can’t judge or advise here.": 0,
        "This is not a diagnosis, but it sounds like a disorder.": 1,
        "Thank you. You should see a doctor about that.": 1,
    }.items():
        said = _changed(snapshot, lines=(line.model_copy(update={"text": text}), *others))
        found = _by_name(protocol(said))["oversteps"]
        assert (found.value, found.n, found.n_of) == (count, statements, "statements"), (kind, text)
    assert "see a doctor" in interviewer_words(said), "and its words are read for how hard they are"


def _sentences(found: object) -> Iterator[str]:
    if isinstance(found, str):
        yield found
    elif isinstance(found, Mapping):
        yield from (text for one in found.values() for text in _sentences(one))
    elif isinstance(found, list | tuple):
        yield from (text for one in found for text in _sentences(one))


def test_none_of_the_prepared_sentences_oversteps() -> None:
    prepared = [*_sentences(wordings().model_dump()), *_sentences([one.model_dump() for one in all_item_words()])]
    assert len(prepared) > 200
    assert [text for text in prepared if oversteps_in(text)] == []


def test_a_patients_words_are_no_overstep(snapshot: Snapshot) -> None:
    lines = tuple(
        line.model_copy(update={"text": "My doctor says you should seek help for depression."})
        if line.role == "patient"
        else line
        for line in snapshot.lines
    )
    assert _by_name(protocol(_changed(snapshot, lines=lines)))["oversteps"].value == 0


def test_a_second_follow_up_a_repetition_a_gap_and_an_unchecked_turn_are_found(snapshot: Snapshot) -> None:
    followed = next(line for line in snapshot.lines if line.kind == "follow_up")
    item = int((followed.item_id or "")[-2:])
    twice = _by_name(protocol(_said(snapshot, item, "follow_up", "How many days was it?", more=1)))
    assert twice["follow_up_violations"].metadata == {"items": [followed.item_id]}
    again = _by_name(protocol(_said(snapshot, 5, "question", "How often was it so?", more=1)))
    assert again["repeated_questions"].value == 1
    short = _changed(snapshot, responses=snapshot.responses[:-2], checked_turns=snapshot.checked_turns[1:])
    found = _by_name(protocol(short))
    assert found["coverage"].value == pytest.approx(21 / 23, abs=1e-4)
    assert found["coverage"].metadata == {"missing": ["L1-22", "L1-23"]}
    assert found["risk_checks"].metadata == {"uncheckedTurns": [1]}


# ---- explainability ----


def test_a_report_by_our_own_code_is_explained(snapshot: Snapshot) -> None:
    found = _by_name(explainability(snapshot))
    shares = ("step_lists", "verbatim_quotes", "grounded_impressions", "real_citations", "rag_usage")
    assert {found[name].value for name in shares} == {1.0}
    assert found["quote_tags"].value == snapshot.markdown.count("<quote>")
    assert found["sym_tags"].value == snapshot.markdown.count("<sym>")
    assert found["med_tags"].value == len(snapshot.diagnosis.diagnoses)
    assert found["clause_references"].value == 1


def test_what_is_not_so_is_found(snapshot: Snapshot) -> None:
    bad = Impression(name="Gout", confidence=0.5, item_ids=(), citations=("[A Book That Is Not There, p. 1]",))
    good = snapshot.diagnosis.diagnoses[0]
    named = good.model_copy(update={"steps": ("Criteria A, B and D are met, criterion C is not.",)})
    own = len(set(good.quotes))
    assert 0 < own < snapshot.markdown.count("<quote>"), "the report has more, the scorer's"
    diagnosis = snapshot.diagnosis.model_copy(update={"diagnoses": (named, bad), "rag_used": False})
    invented = ReportSection(title="Limitations", markdown=quote("I never said this."))
    changed = _changed(snapshot, diagnosis=diagnosis, sections=(*snapshot.sections, invented))
    found = _by_name(explainability(changed))
    assert found["verbatim_quotes"].value == pytest.approx(own / (own + 1), abs=1e-4)
    assert (found["grounded_impressions"].value, found["step_lists"].value) == (0.5, 0.5)
    assert found["real_citations"].value == 0.5
    assert found["real_citations"].metadata == {"removedByCode": 0, "falseInReport": 1}
    assert found["rag_usage"].metadata == {"reported": False, "used": True, "retrieved": 1, "removedByCode": 0}
    assert found["rag_usage"].value == 0
    assert found["clause_references"].value == 2 + 4, "two citations, four letters"


def test_what_code_took_out_was_offered_all_the_same(snapshot: Snapshot) -> None:
    """Of what is left everything is true; whoever made some of it up is to be known by it."""
    kept = snapshot.diagnosis
    quotes = sum(len(one.quotes) for one in kept.diagnoses)
    removed = kept.model_copy(update={"rag_claimed": True, "removed": Removed(quotes=2, citations=3, impressions=1)})
    found = _by_name(explainability(_changed(snapshot, diagnosis=removed)))
    assert found["verbatim_quotes"].n == quotes + 2, "not the scorer's, which code has checked"
    assert found["verbatim_quotes"].value == pytest.approx(quotes / (quotes + 2), abs=1e-4)
    assert (found["real_citations"].value, found["real_citations"].n) == (0.25, 4)
    named = len(kept.diagnoses)
    assert found["grounded_impressions"].value == pytest.approx(named / (named + 1), abs=1e-4)
    assert found["rag_usage"].value == 1, "one of the citations was real"
    emptied = removed.model_copy(update={"diagnoses": (), "citations": (), "rag_used": False})
    found = _by_name(explainability(_changed(snapshot, diagnosis=emptied, sections=())))
    shares = ("verbatim_quotes", "grounded_impressions", "real_citations", "rag_usage")
    assert [found[name].value for name in shares] == [0, 0, 0, 0]
    assert found["verbatim_quotes"].explanation == (
        "0 of 2 quotes offered are the patient's words letter for letter; taken out before the report was written: 2"
    )


def test_quotes_in_steps_and_summary_are_the_diagnosticians_too(snapshot: Snapshot) -> None:
    said = next(line.text for line in snapshot.lines if line.role == "patient")
    one = snapshot.diagnosis.diagnoses[0].model_copy(
        update={"quotes": (said,), "steps": (quote(said), quote("Made up."))}
    )
    made = snapshot.diagnosis.model_copy(update={"diagnoses": (one,), "summary": f"It was {quote('made up, too')}."})
    found = _by_name(explainability(_changed(snapshot, diagnosis=made, sections=())))["verbatim_quotes"]
    assert found.n == 3, "what an impression quotes twice counts once"
    assert found.value == pytest.approx(1 / 3, abs=1e-4)


@pytest.mark.parametrize(
    ("engine", "claimed", "found", "value"),
    [
        ("rules", None, True, 1.0),
        ("a/b", True, True, 1.0),
        ("a/b", False, True, 0.0),
        ("a/b", True, False, 0.0),
        ("a/b", None, True, None),
    ],
)
def test_the_engines_own_word_on_passages_is_held_against_their_use(
    snapshot: Snapshot, engine: str, claimed: bool | None, found: bool, value: float | None
) -> None:
    """What code noted in the engine's place would always be so; older snapshots hold nothing else of a model."""
    made = snapshot.diagnosis.model_copy(update={"rag_claimed": claimed, "rag_used": found})
    passages = snapshot.passages if found else ()
    engines = {**snapshot.engines, "diagnostician": engine}
    metric = _by_name(explainability(_changed(snapshot, diagnosis=made, passages=passages, engines=engines)))[
        "rag_usage"
    ]
    assert metric.value == value


def test_what_does_not_apply_has_no_figure(snapshot: Snapshot) -> None:
    empty = snapshot.diagnosis.model_copy(update={"diagnoses": (), "citations": (), "rag_used": False})
    found = _by_name(explainability(_changed(snapshot, diagnosis=empty, sections=(), mode="screening")))
    without = ("clause_references", "step_lists", "verbatim_quotes", "grounded_impressions", "real_citations")
    assert [found[name].value for name in without] == [None] * 5
    assert all(found[name].explanation for name in without)


# ---- accuracy ----


def test_agreement_with_gold_by_hand() -> None:
    pairs = [(0, 0), (1, 1), (2, 2), (4, 3)]
    assert exact(pairs) == 0.75
    assert mean_error(pairs) == 0.25
    # Observed: 1. By chance, a quarter of each gold against each given: (0+1+4+9 + 1+0+1+4 + 4+1+0+1 + 16+9+4+1) / 4.
    assert quadratic_kappa(pairs) == pytest.approx(1 - 1 / (56 / 4))
    assert quadratic_kappa([(0, 0)] * 23) is None
    assert quadratic_kappa([]) is None
    assert quadratic_kappa([(0, 4), (4, 0)]) == pytest.approx(-1)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=60))
def test_kappa_is_symmetric_and_one_only_for_what_agrees(pairs: list[tuple[int, int]]) -> None:
    kappa = quadratic_kappa(pairs)
    swapped = quadratic_kappa([(given_score, gold) for gold, given_score in pairs])
    if kappa is None:
        assert swapped is None
        assert len(set(pairs)) == 1, "all alike"
    else:
        assert swapped == pytest.approx(kappa)
        assert kappa <= 1
        assert (kappa == 1) == all(gold == given_score for gold, given_score in pairs)


def test_classes_by_hand() -> None:
    pairs = [("A", "A"), ("A", "B"), ("B", "B"), ("C", "A")]
    assert per_class_f1(pairs) == {"A": 0.5, "B": pytest.approx(2 / 3), "C": 0.0}
    assert macro_f1(pairs) == pytest.approx((0.5 + 2 / 3) / 3)
    assert macro_f1([]) is None
    assert set_f1({"A", "B"}, {"A"}) == pytest.approx(2 / 3)
    assert (set_f1(set(), set()), set_f1(set(), {"A"})) == (1.0, 0.0)


def test_top_k_knows_the_healthy_and_the_order() -> None:
    assert [hits(["A", "B", "C", "D"], "D", k) for k in (1, 3, 4)] == [False, False, True]
    assert hits([], NOTHING, 1)
    assert not hits(["A"], NOTHING, 3)
    screening = impression_accuracy(["A"], Gold({}, None, "x"))
    assert [one.value for one in screening] == [None, None, None]
    found = _by_name(impression_accuracy(["B", "A"], Gold({}, ("A", "C"), "x")))
    assert (found["top1"].value, found["top3"].value, found["impression_f1"].value) == (0, 1, 0.5)


def test_gold_is_the_personas_and_corrections_change_no_accuracy(snapshot: Snapshot) -> None:
    gold = gold_of(snapshot)
    assert gold is not None
    assert gold.impressions == ("Major Depressive Disorder",)
    by_category = gold_of(_changed(snapshot, mode="categorical"))
    assert by_category is not None
    assert by_category.impressions == ("Depressive Disorders",)
    pairs = item_pairs(snapshot, gold)
    assert [score for score, _ in pairs] == list(gold.scores.values())
    assert [score for _, score in pairs] == [response.score for response in snapshot.responses]
    nobody = _changed(snapshot, persona_id=None)
    groups = {metric.group for metric in deterministic(nobody)}
    assert groups == {"conversation", "protocol", "explainability", "cost"}, "without gold nothing is made up"


def test_what_nobody_answered_is_counted_and_is_neither_a_score_nor_a_confidence(snapshot: Snapshot) -> None:
    """A silence stands in the profile as 0 with ambiguity 10 and confidence 0, which would pass for a healthy score."""
    gold = gold_of(snapshot)
    assert gold is not None
    silent = {"unanswered": True, "score": 0, "ambiguity": 10, "confidence": 0.0}
    first, *rest = snapshot.responses
    skipped = _changed(snapshot, responses=(first.model_copy(update=silent), *rest))
    dropped = _changed(snapshot, responses=tuple(rest))
    assert item_pairs(skipped, gold) == item_pairs(dropped, gold) == item_pairs(snapshot, gold)[1:]
    assert item_confidences(skipped, gold) == item_confidences(snapshot, gold)[1:]
    was, found = _by_name(deterministic(snapshot)), _by_name(deterministic(skipped))
    assert (was["unanswered"].value, found["unanswered"].value) == (0, 1)
    assert found["unanswered"].metadata == {"items": ["L1-01"]}
    assert found["coverage"].value == 1.0, "it was asked"
    assert found["item_coverage"].value == pytest.approx(22 / 23, abs=1e-4)
    assert (found["item_exact"].n, found["item_brier"].n) == (22, 22)
    nothing = item_accuracy([], gold)[0]
    assert (nothing.value, nothing.explanation) == (None, "no item with gold was answered")
    row = item_rows(skipped)[0]
    assert (row.score, row.ambiguity, row.confidence, row.engine) == (None, None, None, "nobody")


# ---- calibration and cost ----


def test_calibration_by_hand() -> None:
    sure = [(1.0, True), (0.9, False), (0.5, True), (0.1, False)]
    assert brier(sure) == pytest.approx((0 + 0.81 + 0.25 + 0.01) / 4)
    assert brier([]) is None
    found = [(one.low, one.high, one.count, one.mean_confidence, one.accuracy) for one in reliability(sure)]
    assert found == [(0.0, 0.2, 1, 0.1, 0.0), (0.4, 0.6, 1, 0.5, 1.0), (0.8, 1.0, 2, 0.95, 0.5)]


def _call(**changes: Any) -> FrozenCall:
    made = {"agent": "scorer", "turn": 1, "attempt": 1, "model": "m", "outcome": "ok", "seconds": 0.5}
    return FrozenCall(**{**made, "prompt_version": "1", "prompt_sha256": "0", **changes})


def test_an_unknown_cost_is_no_sum() -> None:
    known = _call(prompt_tokens=100, completion_tokens=10, cost_usd=0.001)
    found = _by_name(spent([known, known]))
    assert [found[name].value for name in ("calls", "prompt_tokens", "completion_tokens", "usd")] == [2, 200, 20, 0.002]
    found = _by_name(spent([known, _call(outcome="timeout")]))
    assert [found[name].value for name in ("calls", "prompt_tokens", "usd")] == [2, None, None]
    assert found["calls"].metadata == {"byModel": {"m": 2}, "failed": 1}
    assert [one.value for one in pace([float(n) for n in range(1, 102)])] == [51, 96]
    assert [one.value for one in pace([])] == [None, None]
