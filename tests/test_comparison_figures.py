"""How far two columns agree, on pairs made by hand; and what one report says that another does not."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.comparison.figures import (
    agreement,
    agreements,
    aligned,
    confidence_drift,
    overlap,
    rank_agreement,
)
from benchmark.comparison.types import Run
from benchmark.comparison.words import section_diffs, word_diff
from errors import InputError
from instruments.tools import Impression, ReportSection

MDD, GAD, PTSD, OCD, PANIC = (
    "Major Depressive Disorder",
    "Generalized Anxiety Disorder",
    "Posttraumatic Stress Disorder",
    "Obsessive-Compulsive Disorder",
    "Panic Disorder",
)


def ranked(*named: tuple[str, float]) -> tuple[Impression, ...]:
    return tuple(
        Impression(name=name, confidence=confidence, item_ids=("L1-01",), citations=(f"[Book, p. {rank}]",))
        for rank, (name, confidence) in enumerate(named, start=1)
    )


ONE = ranked((MDD, 0.6), (GAD, 0.3), (PTSD, 0.1))
OTHER = ranked((GAD, 0.5), (MDD, 0.4), (OCD, 0.2), (PTSD, 0.15))


@pytest.mark.parametrize(
    ("k", "share"),
    [(1, 0.0), (2, 1.0), (3, 2 / 4), (4, 3 / 4), (5, 3 / 4)],
)
def test_overlap_is_jaccard_over_the_first_k(k: int, share: float) -> None:
    assert overlap(ONE, OTHER, k) == pytest.approx(share)
    assert overlap(OTHER, ONE, k) == overlap(ONE, OTHER, k)


def test_overlap_with_nothing_is_none_and_of_nothing_with_nothing_unknown() -> None:
    assert overlap(ONE, (), 3) == 0
    assert overlap((), (), 3) is None
    with pytest.raises(InputError, match="not 0"):
        overlap(ONE, OTHER, 0)


def test_rank_agreement_is_spearman_over_what_both_name() -> None:
    assert rank_agreement(ONE, ONE) == pytest.approx(1)
    # shared MDD, GAD, PTSD: ranks 1 2 3 against 2 1 4, so 1 - 6 * (1 + 1 + 0) / (3 * 8)
    assert rank_agreement(ONE, OTHER) == pytest.approx(0.5)
    assert rank_agreement(ONE, ranked((PTSD, 0.5), (GAD, 0.4), (MDD, 0.3))) == pytest.approx(-1)


def test_rank_agreement_is_unknown_below_two_shared_names() -> None:
    assert rank_agreement(ONE, ranked((MDD, 0.9), (PANIC, 0.1))) is None
    assert rank_agreement(ONE, ()) is None
    assert rank_agreement(ranked((MDD, 0.9)), ranked((MDD, 0.9))) is None


def test_confidence_drift_is_the_mean_difference_over_what_both_name() -> None:
    assert confidence_drift(ONE, OTHER) == pytest.approx((0.2 + 0.2 + 0.05) / 3)
    assert confidence_drift(ONE, ONE) == 0
    assert confidence_drift(ONE, ranked((PANIC, 0.9))) is None


def test_names_are_aligned_whatever_their_spelling_with_a_cell_a_column() -> None:
    spelt = ranked(("generalized anxiety disorder", 0.7), ("Obsessive Compulsive Disorder", 0.2))
    rows = aligned([ONE, None, spelt, ranked((OCD, 1.0))])
    assert [row.name for row in rows] == [MDD, GAD, PTSD, "Obsessive Compulsive Disorder"]
    assert [[cell and cell.rank for cell in row.cells] for row in rows] == [
        [1, None, None, None],
        [2, None, 1, None],
        [3, None, None, None],
        [None, None, 2, 1],
    ]
    first, second = rows[1].cells[0], rows[1].cells[2]
    assert first is not None
    assert second is not None
    assert (first.confidence, first.citations) == (0.3, ("[Book, p. 2]",))
    assert (second.confidence, second.citations) == (0.7, ("[Book, p. 1]",))


def test_who_names_something_twice_is_taken_at_the_first_word() -> None:
    twice = ranked((MDD, 0.6), (MDD.upper(), 0.5), (GAD, 0.4))
    assert [[cell and (cell.rank, cell.confidence) for cell in row.cells] for row in aligned([twice])] == [
        [(1, 0.6)],
        [(2, 0.4)],
    ]
    assert overlap(twice, ranked((MDD, 0.1), (GAD, 0.1)), 2) == 1


def test_every_pair_of_columns_with_an_answer_has_its_figures() -> None:
    pairs = agreements([("a", ONE), ("b", None), ("c", OTHER), ("d", ())])
    assert [(pair.left, pair.right) for pair in pairs] == [("a", "c"), ("a", "d"), ("c", "d")]
    assert pairs[0] == agreement("a", ONE, "c", OTHER)
    assert (pairs[0].shared, [one.jaccard for one in pairs[0].overlaps]) == (3, [0, 0.5, 0.75])
    assert (pairs[1].shared, pairs[1].rank_agreement, pairs[1].confidence_drift) == (0, None, None)


names = st.lists(st.sampled_from([MDD, GAD, PTSD, OCD, PANIC]), unique=True)
columns = names.flatmap(
    lambda found: st.lists(st.floats(0, 1), min_size=len(found), max_size=len(found)).map(
        lambda confidences: ranked(*zip(found, confidences, strict=True))
    )
)


@given(columns, columns, st.integers(1, 6))
def test_figures_are_symmetric_and_within_their_bounds(
    one: tuple[Impression, ...], other: tuple[Impression, ...], k: int
) -> None:
    for figure, least, most in (
        (overlap(one, other, k), 0, 1),
        (rank_agreement(one, other), -1, 1),
        (confidence_drift(one, other), 0, 1),
    ):
        assert figure is None or least - 1e-9 <= figure <= most + 1e-9
    assert overlap(one, other, k) == overlap(other, one, k)
    assert confidence_drift(one, other) == pytest.approx(confidence_drift(other, one))
    assert rank_agreement(one, other) == pytest.approx(rank_agreement(other, one))


# ---- words ----


def test_a_word_diff_says_what_stayed_came_and_went() -> None:
    assert word_diff("in line with Panic Disorder alone", "in line with Major Depressive Disorder alone") == (
        Run(kind="same", text="in line with"),
        Run(kind="removed", text="Panic"),
        Run(kind="added", text="Major Depressive"),
        Run(kind="same", text="Disorder alone"),
    )
    assert word_diff("", "") == ()
    assert word_diff("same  words", "same words") == (Run(kind="same", text="same words"),)


texts = st.lists(st.sampled_from(["low", "mood", "sleep", "|", "**1.**", "\n", "\n\n"]), max_size=30).map(" ".join)


@given(texts, texts)
def test_both_texts_can_be_read_out_of_their_diff(before: str, after: str) -> None:
    runs = word_diff(before, after)
    for text, gone in ((before, "added"), (after, "removed")):
        read = [word for run in runs if run.kind != gone for word in re.findall(r"\n+|\S+", run.text)]
        assert "".join(read) == "".join(re.findall(r"\n+|\S+", text))
    if before == after:
        assert {run.kind for run in runs} <= {"same"}


def test_reports_are_told_apart_section_by_section() -> None:
    def report(summary: str) -> list[ReportSection]:
        return [
            ReportSection(title="Executive Summary", markdown=summary),
            ReportSection(title="Limitations", markdown="- one\n- two"),
        ]

    first, second = section_diffs(report("a b"), report("a c"))
    assert [run.kind for run in first.runs] == ["same", "removed", "added"]
    assert second.runs == (Run(kind="same", text="- one\n- two"),)
