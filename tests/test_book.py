"""Reading a book's PDF: its sections and their pages, what is left out, chunks along the criteria, and bad files."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from errors import InputError
from rag.book import Book, read_book
from rag.chunks import Chunk, chunk_sections, limits, section_units
from rag.headings import headings
from rag.pdf import Line, Page, open_pdf
from rag.running import Measure, without_running
from rag.sections import Section
from rag.text import Words, tidy
from rag.titles import kind_of
from tests import books
from tests.books import Look, Made, Press, Writer

PITCH = 12.0
ROOT = Path(__file__).parent.parent


def ignore(page: int, pages: int) -> None:
    pass


def read(made: Made) -> Book:
    return read_book(made.data, ignore)


def flat(text: str) -> str:
    return " ".join(text.split())


def places(sections: Sequence[Any]) -> list[tuple[str, int, int]]:
    return [(section.path, section.page_start, section.page_end) for section in sections]


# ---- A thousand pages ------------------------------------------------------------------------------------------------


@cache
def thousand_pages(outline: bool) -> tuple[Made, Book]:
    made = _press().made(outline=outline)
    return made, read(made)


@cache
def _press() -> Press:
    return books.typeset(295)


with_and_without_outline = pytest.mark.parametrize("outline", [True, False], ids=["outline", "headings"])


@with_and_without_outline
def test_every_section_of_a_thousand_pages_has_its_path_and_pages(outline: bool) -> None:
    made, book = thousand_pages(outline)
    assert made.page_count >= 1000
    assert (book.title, book.page_count) == (books.TITLE, made.page_count)
    assert places(book.kept) == places(made.of_kind("criteria"))
    assert len(book.kept) == 3 * 295


@with_and_without_outline
@pytest.mark.parametrize("kind", ["narrative", "unknown", "introduction"])
def test_what_is_left_out_is_listed_with_its_reason(kind: str, outline: bool) -> None:
    made, book = thousand_pages(outline)
    left_out = [section for section in book.left_out if section.reason == kind]
    assert places(left_out) == places(made.of_kind(kind))
    assert book.left_out_counts[left_out[0].reason] == len(left_out)


@with_and_without_outline
def test_title_page_and_contents_are_no_sections_of_disorders(outline: bool) -> None:
    _, book = thousand_pages(outline)
    matter = [section for section in book.left_out if section.reason == "matter"]
    assert places(matter) == [("(before the first heading)", 1, 1), ("Contents", 2, 2)]


@with_and_without_outline
def test_every_criterion_is_whole_in_one_chunk_on_its_pages(outline: bool) -> None:
    made, book = thousand_pages(outline)
    chunks = by_path(book)
    for part in made.of_kind("criteria"):
        for stretch in part.stretches:
            if len(stretch.text) > limits().maximum:
                continue
            holding = [chunk for chunk in chunks[part.path] if stretch.text in flat(chunk.text)]
            assert len(holding) == 1, (part.path, stretch.text)
            assert holding[0].page_start <= stretch.page_start <= stretch.page_end <= holding[0].page_end


@with_and_without_outline
def test_a_criterion_over_the_limit_is_cut_between_sentences(outline: bool) -> None:
    made, book = thousand_pages(outline)
    chunks = by_path(book)
    long = [(p, s) for p in made.of_kind("criteria") for s in p.stretches if len(s.text) > limits().maximum]
    assert len(long) == 59
    for part, stretch in long:
        pieces = [chunk for chunk in chunks[part.path] if flat(chunk.text) in stretch.text]
        assert " ".join(flat(piece.text) for piece in pieces) == stretch.text
        assert all(piece.text.endswith(".") for piece in pieces)
        assert (pieces[0].page_start, pieces[-1].page_end) == (stretch.page_start, stretch.page_end)


@with_and_without_outline
def test_chunks_hold_all_of_the_criteria_and_nothing_else(outline: bool) -> None:
    """So no header, footer, page number, heading or narrative is in them, and no word is broken."""
    made, book = thousand_pages(outline)
    chunks = by_path(book)
    for part in made.of_kind("criteria"):
        written = " ".join(stretch.text for stretch in part.stretches)
        assert " ".join(flat(chunk.text) for chunk in chunks[part.path]) == written
    assert set(chunks) == {part.path for part in made.of_kind("criteria")}


@with_and_without_outline
def test_chunks_are_numbered_and_within_the_limits(outline: bool) -> None:
    _, book = thousand_pages(outline)
    assert [chunk.ordinal for chunk in book.chunks] == list(range(len(book.chunks)))
    assert all(len(chunk.text) <= limits().maximum for chunk in book.chunks)
    assert all(chunk.page_start <= chunk.page_end for chunk in book.chunks)


def by_path(book: Book) -> dict[str, list[Chunk]]:
    found: dict[str, list[Chunk]] = defaultdict(list)
    for chunk in book.chunks:
        found[chunk.section_path].append(chunk)
    return found


# ---- Headings and outlines -------------------------------------------------------------------------------------------

ODD_LOOKS = {
    "names and titles alike": Look(chapter=20, name=12, title=12),
    "names and titles bold, in the text's size": Look(chapter=14, name=10, title=10),
    "titles bold, in the text's size": Look(chapter=14, name=12, title=10),
    "hardly larger": Look(chapter=13, name=12, title=11.5),
    "chapters in small print": Look(chapter=12, name=18, title=11.5),
}


@pytest.mark.parametrize("look", ODD_LOOKS.values(), ids=ODD_LOOKS)
def test_headings_are_told_by_size_and_weight(look: Look) -> None:
    made = books.typeset(6, look=look, narrative=8).made(outline=False)
    assert places(read(made).kept) == places(made.of_kind("criteria"))


@pytest.mark.parametrize("depth", [1, 2])
def test_headings_fill_in_what_an_outline_does_not_say(depth: int) -> None:
    press = books.typeset(6, narrative=8)
    press.outline = [entry for entry in press.outline if entry[0] <= depth]
    made = press.made()
    assert places(read(made).kept) == places(made.of_kind("criteria"))


def test_a_disorder_that_the_outline_forgot_does_not_lend_its_criteria_to_the_one_before() -> None:
    press = books.typeset(6, narrative=8)
    forgotten = next(place for place, entry in enumerate(press.outline) if entry[0] == 2 and entry[1].endswith(" 3"))
    following = next(place for place, entry in enumerate(press.outline) if entry[0] == 2 and entry[1].endswith(" 4"))
    del press.outline[forgotten:following]
    made = press.made()
    assert places(read(made).kept) == places(made.of_kind("criteria"))


@pytest.mark.parametrize("exact", [True, False], ids=["lines", "pages"])
def test_an_outline_may_point_at_lines_or_at_whole_pages(exact: bool) -> None:
    press, writer = Press(), Writer(5)
    for name in "PQRSTUVW":
        press.heading(1, f"Disorder {name}", kind="introduction")
        press.paragraph(writer.sentence())
        press.heading(2, books.CRITERIA, kind="criteria")
        press.paragraph(f"All of {name}.", label="A.")
    press.outline = press.outline if exact else [entry[:3] for entry in press.outline]
    made = press.made()
    assert made.page_count == 2
    book = read(made)
    assert places(book.kept) == places(made.of_kind("criteria"))
    assert [chunk.text for chunk in book.chunks] == [f"A. All of {name}." for name in "PQRSTUVW"]


def test_of_two_like_titles_on_a_page_an_outline_means_the_one_it_points_at() -> None:
    press = Press()
    press.heading(1, "Disorder P", kind="introduction")
    press.paragraph("About it.")
    press.heading(2, "Subtypes", kind="criteria")
    press.paragraph("Listed, though the outline does not say so.")
    press.heading(1, "Disorder Q", kind="introduction")
    press.paragraph("About it.")
    press.heading(2, "Subtypes", kind="criteria")
    press.paragraph("Of the second.")
    del press.outline[1]
    made = press.made()
    assert places(read(made).kept) == places(made.of_kind("criteria"))


def test_outline_titles_that_are_not_printed_begin_where_they_point() -> None:
    press, writer = Press(running=plain_pages), Writer(1)
    press.heading(1, "Mood Conditions", kind="introduction")
    press.paragraph(writer.text(10))
    for name in ("First Disorder", "Second Disorder"):
        press.point_outline(2, name)
        press.point_outline(3, books.CRITERIA)
        for letter in "ABC":
            press.paragraph(f"{name}: {writer.sentence()}", label=f"{letter}.")
    book = read(press.made())
    assert [section.path for section in book.kept] == [
        f"Mood Conditions > {name} > {books.CRITERIA}" for name in ("First Disorder", "Second Disorder")
    ]
    assert all(name in chunk.text for name, chunk in zip(("First", "Second"), book.chunks, strict=True))


def test_an_outline_entry_without_a_page_is_still_a_step_of_the_path() -> None:
    press = books.typeset(3, narrative=2)
    press.outline[0][2], press.outline[0][3] = -1, {"kind": 0}
    made = press.made()
    assert [section.path for section in read(made).kept] == [part.path for part in made.of_kind("criteria")]


def test_the_name_of_the_book_and_of_its_parts_is_no_step_of_a_path() -> None:
    press = books.typeset(3, narrative=2)
    deeper = [[entry[0] + 2, *entry[1:]] for entry in press.outline]
    press.outline = [[1, books.TITLE, 1], [2, "Section II: Diagnostic Criteria and Codes", 3], *deeper]
    made = press.made()
    assert places(read(made).kept) == places(made.of_kind("criteria"))


def plain_pages(press: Press, number: int, chapter: str, name: str) -> None:
    pass


def number_below(press: Press, number: int, chapter: str, name: str) -> None:
    press.show(300, 760, str(number))


def name_above_in_the_size_of_the_text(press: Press, number: int, chapter: str, name: str) -> None:
    press.show(books.LEFT, 50, name)
    press.show(300, 760, f"- {number} -")


def page_of_pages(press: Press, number: int, chapter: str, name: str) -> None:
    press.show(books.LEFT, 40, chapter, 9, bold=True)
    press.show(books.LEFT, 52, name, 9, bold=True)
    press.show(books.LEFT, 765, f"Page {number} of 40. Copyright 2013 by nobody. All rights reserved.", 7)


def number_right_above_the_text(press: Press, number: int, chapter: str, name: str) -> None:
    press.show(530, books.TOP - books.PITCH, str(number))


def large_name(press: Press, number: int, chapter: str, name: str) -> None:
    press.show(books.LEFT, 44, chapter, 14)


RUNNING = [
    plain_pages, number_below, name_above_in_the_size_of_the_text,
    page_of_pages, number_right_above_the_text, large_name,
]  # fmt: skip


@with_and_without_outline
@pytest.mark.parametrize("running", RUNNING)
def test_running_heads_of_many_kinds_are_cleaned_and_are_no_headings(running: books.Running, outline: bool) -> None:
    made = books.typeset(9, narrative=8, running=running).made(outline=outline)
    book = read(made)
    assert places(book.kept) == places(made.of_kind("criteria"))
    assert flat(" ".join(chunk.text for chunk in book.chunks)) == " ".join(
        stretch.text for part in made.of_kind("criteria") for stretch in part.stretches
    )


@pytest.mark.parametrize("running", [plain_pages, books.head_and_foot])
def test_a_heading_at_the_top_of_every_page_is_no_running_head(running: books.Running) -> None:
    press, writer = Press(running=running), Writer(7)
    for number in range(8):
        press.heading(1, f"Disorder {number}", kind="introduction")
        press.paragraph("About it.")
        press.break_page()
        press.heading(2, books.CRITERIA, kind="criteria")
        books.criteria(press, writer, over_limit=False)
        press.break_page()
    made = press.made(outline=False)
    assert places(read(made).kept) == places(made.of_kind("criteria"))


def test_pages_in_one_form_lose_nothing_as_a_header_or_footer() -> None:
    press = Press()
    for number in range(12):
        press.heading(1, f"Disorder {number}", kind="introduction")
        press.heading(2, books.CRITERIA, kind="criteria")
        press.paragraph("The same words on every page of this book.")
        press.paragraph("The same words on every page of this book.", label="A.")
        press.paragraph("Not explained by a substance.", label="B.")
        press.break_page()
    book = read(press.made(outline=False))
    same = "The same words on every page of this book."
    assert [flat(chunk.text) for chunk in book.chunks] == [f"{same} A. {same} B. Not explained by a substance."] * 12


def like_page(number: int) -> Page:
    rows = [
        ("The head of all pages.", 40),
        *((f"Row {n} of {number}", 84 + 12 * n) for n in range(9)),
        ("It ends.", 199),
    ]
    return Page(number, tuple(Line(text, 10, False, number, 72, 400, y) for text, y in rows))


def test_a_sentence_at_the_edge_of_like_pages_is_text_unless_it_is_far_from_it() -> None:
    left = without_running([like_page(number) for number in range(1, 9)], Measure(10, 10, 12), lambda _: False)
    assert Counter(line.text for line in left if "Row" not in line.text) == {"It ends.": 8}


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        (["The text ends.", "*A Disorder", "Another text."], ["A Disorder"]),
        (["The text goes on to", "*a phrase in bold print", "Which is no heading."], []),
        (["The text ends.", "*A bold beginning of a sentence", "that goes on below."], []),
        (["The text ends.", "*Note:", "It is no heading."], []),
        (["The text ends.", "*A. A criterion in bold", "It is no heading."], []),
        (["No full stop here", "*Specifiers", "Which are known."], ["Specifiers"]),
        (
            ["The text ends.", "*A Disorder with a Name", "*of two rows", "Text."],
            ["A Disorder with a Name of two rows"],
        ),
        (["The text ends.", "*One", "*two", "*three", "*four bold rows", "Text."], []),
        (
            ["The text ends.", "*Some Disorder", "*Diagnostic Criteria", "Text."],
            ["Some Disorder", "Diagnostic Criteria"],
        ),
        (["*Disorder ............. 12", "Text."], []),
    ],
)
def test_bold_lines_are_headings_where_no_sentence_runs_through_them(rows: list[str], found: list[str]) -> None:
    bold = [replace(line, text=line.text.lstrip("*"), bold=line.text.startswith("*")) for line in lines(*rows)]
    assert [mark.title for mark in headings(bold, Measure(10, 10, PITCH))] == found


@pytest.mark.parametrize(
    ("titles", "kind"),
    [
        (["Mood", "X Disorder", "Diagnostic Criteria"], "criteria"),
        (["Mood", "X Disorder", "DIAGNOSTIC CRITERIA (continued)"], "criteria"),
        (["Mood", "X Disorder", "Diagnostic Criteria 296.20 (F32.0)"], "criteria"),
        (["4 Mood", "4.2 X Disorder", "4.2.1 Recording Procedures"], "criteria"),
        (["4 Mood", "4.2 X Disorder", "4.2.2. Prevalence"], "narrative"),
        (["Mood", "X Disorder", "Diagnostic Criteria", "Manic Episode"], "criteria"),
        (["Mood", "X Disorder", "Diagnostic Criteria", "Prevalence"], "narrative"),
        (["Mood", "Specifiers for Depressive Disorders"], "criteria"),
        (["Mood", "X Disorder", "Coding and Recording Procedures"], "criteria"),
        (["Mood", "Other Specified Depressive Disorder"], "criteria"),
        (["Mood", "X Disorder", "Sex- and Gender-Related Diagnostic Issues"], "narrative"),
        (["Mood", "X Disorder", "Risk and Prognostic Factors", "Temperamental"], "narrative"),
        (["Mood", "X Disorder", "Functional Consequences of X Disorder"], "narrative"),
        (["Mood", "X Disorder", "Association With Suicidal Thoughts or Behavior"], "narrative"),
        (["Mood", "Gender Dysphoria"], "unknown"),
        (["Mood", "X Disorder", "Letters to the Editor"], "unknown"),
        (["Section II: Diagnostic Criteria and Codes", "Mood"], "unknown"),
        (["Use of the Manual", "Coding and Recording Procedures"], "matter"),
        (["Index"], "matter"),
    ],
)
def test_the_innermost_known_title_decides(titles: list[str], kind: str) -> None:
    assert kind_of(titles) == kind


# ---- Lines and words -------------------------------------------------------------------------------------------------


def test_ligatures_and_soft_hyphens_of_a_pdf_are_mended() -> None:
    data = books.in_unicode(
        ("Speciﬁc Disorder", 16),
        (books.CRITERIA, 12),
        ("A. The ﬁrst eﬀort of self-", 10),
        ("esteem is diﬃ\u00adcult and inter\u00ad", 10),
        ("rupted.", 10),
    )
    (chunk,) = read_book(data, ignore).chunks
    assert chunk.section_path == "Specific Disorder > Diagnostic Criteria"
    assert chunk.text == "A. The first effort of self-esteem is difficult and interrupted."


def test_stamps_along_the_edge_and_words_printed_twice_are_read_once_or_not_at_all() -> None:
    press = Press()
    press.heading(1, "Disorder P")
    press.heading(2, books.CRITERIA)
    press.show(books.LEFT, 200, "A.")
    press.show_sideways("Lent to somebody")
    press.show(books.LEFT + 18, 200, "Some bold words.")
    press.show(books.LEFT + 18.3, 200, "Some bold words.")
    assert [chunk.text for chunk in read(press.made()).chunks] == ["A. Some bold words."]


def test_columns_are_read_one_after_the_other() -> None:
    press = Press()
    press.heading(1, "Disorder P")
    press.heading(2, books.CRITERIA)
    columns = (
        ["A. This goes on at the", "top of the next one", "after two rows and it is"],
        ["now over.", "B. This is short."],
    )
    for left, column in zip((72, 320), columns, strict=True):
        for row, text in enumerate(column):
            press.show(left, 200 + 13 * row, text)
    assert [chunk.text for chunk in read(press.made()).chunks] == [
        "A. This goes on at the top of the next one after two rows and it is now over.\nB. This is short."
    ]


@pytest.mark.parametrize(
    ("left", "right", "joined"),
    [
        ("a depres-", "sive mood", "a depressive mood"),
        ("low self-", "esteem is", "low self-esteem is"),
        ("a well-", "being score", "a wellbeing score"),  # the book writes it in one word
        ("the follow-", "up visit", "the follow-up visit"),  # the book writes it with a hyphen
        ("Obsessive-", "Compulsive", "Obsessive-Compulsive"),
        ("aged 10-", "12 years", "aged 10-12 years"),
        ("pre-", "and postnatal", "pre- and postnatal"),
        ("some thous-", "and people", "some thousand people"),
        ("inter\u00ad", "Personal", "interPersonal"),
        ("mood -", "or not", "mood - or not"),
        ("two words", "more words", "two words more words"),
        ("", "more words", "more words"),
    ],
)
def test_a_word_broken_at_the_end_of_a_line_is_mended(left: str, right: str, joined: str) -> None:
    words = Words(["Wellbeing of a thousand", "A follow-up"], limits().prefixes)
    assert words.join(left, right) == joined


@settings(deadline=None, max_examples=50)
@given(st.text())
def test_tidy_text_stays_as_it_is_and_fits_a_database(text: str) -> None:
    once = tidy(text)
    assert tidy(once) == once
    assert "\0" not in once
    assert once.encode() is not None
    assert "\n" not in once


# ---- Chunks ----------------------------------------------------------------------------------------------------------


def lines(*texts: str, page: int = 1) -> tuple[Line, ...]:
    """Rows in one column; "|" begins a page. A row is as wide as its text."""
    found: list[Line] = []
    y = 72.0
    for text in texts:
        if text == "|":
            page, y = page + 1, 72.0
            continue
        indent = len(text) - len(text.lstrip())
        found.append(Line(text.strip(), 10, False, page, 72 + 5 * indent, 72 + 5 * len(text), y))
        y += PITCH
    return tuple(found)


def units(*texts: str) -> list[str]:
    return [unit.text for unit in section_units(lines(*texts), Words(()), PITCH)]


FULL = "words that fill a row of this column up to its very end and go on here"


def test_points_stay_with_their_letter() -> None:
    found = units(
        "A. At least two:", "   1. Sad mood.", "   2. Poor sleep.", "B. It causes distress.", "C. No substance."
    )
    assert found == ["A. At least two:\n1. Sad mood.\n2. Poor sleep.", "B. It causes distress.", "C. No substance."]


def test_criteria_need_no_full_stop_at_their_end() -> None:
    assert units("A. Sad mood", "B. Poor sleep", f"C. {FULL}", "D. Fatigue") == [
        "A. Sad mood",
        "B. Poor sleep",
        f"C. {FULL} D. Fatigue",  # a full row without an end goes on: this one cannot be told
    ]


@pytest.mark.parametrize(
    "second", ["B. However, this is the same sentence.", "A. However, it is the same.", "Z. Initials of somebody."]
)
def test_a_letter_that_a_sentence_carried_to_the_next_row_begins_no_criterion(second: str) -> None:
    full = f"A. {FULL} as in Criterion"
    assert units(full, second) == [f"{full} {second}"]


def test_a_letter_out_of_order_begins_no_criterion() -> None:
    assert units("A. It was described first.", "K. Somebody wrote of it.") == [
        "A. It was described first. K. Somebody wrote of it."
    ]


def test_specifiers_after_the_last_criterion_are_not_part_of_it() -> None:
    found = units(
        "A. Sad mood.", "B. Distress.", "Specify if:", "With anxiety: tense.", "Mild: few symptoms.", "C. More."
    )
    assert found == [
        "A. Sad mood.",
        "B. Distress.",
        "Specify if:\nWith anxiety: tense.\nMild: few symptoms.",
        "C. More.",
    ]


def test_a_second_list_of_criteria_begins_with_its_own_a() -> None:
    assert units("A. One.", "B. Two.", "A. Three.", "B. Four.") == ["A. One.", "B. Two.", "A. Three.", "B. Four."]


def test_a_chunk_has_the_pages_of_its_own_text() -> None:
    section = made_section(lines("A. On the first", "|", "page and the second.", "|", f"B. {'Third. ' * 190}"))
    chunks = chunk_sections([section], Words(()), PITCH)
    assert [(chunk.text[:2], chunk.page_start, chunk.page_end) for chunk in chunks] == [("A.", 1, 2), ("B.", 3, 3)]


def test_an_overlong_criterion_is_cut_between_its_points_first() -> None:
    point = "A sentence. And another one. " * 12
    rows = ["A. Five of:", *(f"   {number}. {point}" for number in range(1, 9))]
    chunks = chunk_sections([made_section(lines(*rows))], Words(()), PITCH)
    assert len(chunks) > 1
    assert all(re.match(r"A\.|\d\.", chunk.text) for chunk in chunks)


def test_chunks_never_reach_over_sections() -> None:
    sections = [made_section(lines("A. Short."), "First"), made_section(lines("A. Short."), "Second")]
    assert [chunk.section_path for chunk in chunk_sections(sections, Words(()), PITCH)] == ["First", "Second"]


def made_section(rows: tuple[Line, ...], title: str = "Diagnostic Criteria") -> Section:
    return Section((title,), rows[0].page, rows[-1].page, rows, "criteria")


sentences = st.lists(st.sampled_from(["mood", "sleep", "distress", "x" * 30]), min_size=1, max_size=60).map(
    lambda words: " ".join(words).capitalize() + "."
)
criteria_lists = st.lists(st.lists(sentences, min_size=1, max_size=9).map(" ".join), min_size=1, max_size=26)


@settings(deadline=None, max_examples=50)
@given(criteria_lists)
def test_any_criteria_are_kept_whole_in_order_and_within_the_limits(texts: list[str]) -> None:
    written = [f"{chr(ord('A') + number)}. {text}" for number, text in enumerate(texts)]
    rows = [row for text in written for row in books.broken(text, 400)]
    found = [chunk.text for chunk in chunk_sections([made_section(lines(*rows))], Words(rows), PITCH)]
    assert flat(" ".join(found)) == flat(" ".join(written))
    assert all(len(text) <= limits().maximum for text in found)
    for text in written:
        if len(text) <= limits().maximum:
            assert sum(text in flat(chunk) for chunk in found) == 1
    for first, second in pairwise(found):
        whole = all(len(text) <= limits().maximum for text in written)
        assert not whole or len(first) + 1 + len(second.split("\n")[0]) > limits().target


@settings(deadline=None, max_examples=50)
@given(st.text(alphabet=st.characters(categories=["L", "N", "P", "Zs"]), min_size=1, max_size=9000))
def test_any_text_is_chunked_within_the_limits_without_loss(text: str) -> None:
    rows = [row for start in range(0, len(text), 80) if (row := tidy(text[start : start + 80]).replace("-", "–"))]
    if rows:
        chunks = chunk_sections([made_section(lines(*rows))], Words(()), PITCH)
        assert "".join("".join(chunk.text.split()) for chunk in chunks) == "".join("".join(rows).split())
        assert all(0 < len(chunk.text) <= limits().maximum for chunk in chunks)


# ---- Progress and bad files ------------------------------------------------------------------------------------------


@cache
def small() -> bytes:
    return books.typeset(2, narrative=3).made().data


def test_pages_are_reported_one_by_one() -> None:
    seen: list[tuple[int, int]] = []
    book = read_book(small(), lambda page, pages: seen.append((page, pages)))
    assert seen == [(number, book.page_count) for number in range(1, book.page_count + 1)]


def test_pages_are_read_when_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    with open_pdf(small()) as pdf:
        loaded: list[int] = []
        load = pdf._document.load_page

        def count(number: int) -> Any:
            loaded.append(number)
            return load(number)

        monkeypatch.setattr(pdf._document, "load_page", count)
        pages = pdf.pages()
        next(pages)
        next(pages)
        assert loaded == [0, 1]


def broken_stream() -> bytes:
    """A page whose compressed text was overwritten."""
    data = bytearray(books.typeset(2, narrative=3).made().data)
    streams = [found.end() for found in re.finditer(rb"/FlateDecode[^>]*>>\s*stream\r?\n", bytes(data))]
    at = max(streams, key=lambda start: data.find(b"endstream", start) - start)
    data[at + 40 : at + 60] = b"\xff" * 20
    return bytes(data)


BAD: dict[str, tuple[Callable[[], bytes], str]] = {
    "nothing": (lambda: b"", r"empty \(0 bytes.*Choose the book's PDF"),
    "only spaces": (lambda: b" \n\0 ", r"not a PDF|empty"),
    "text": (lambda: b"Hello, I am a text file. " * 100, r"not a PDF file: it does not begin with %PDF-. Choose a PDF"),
    "word document": (lambda: b"PK\x03\x04" + b"\0" * 2000, r"not a PDF file: it does not begin with"),
    "only the header": (lambda: b"%PDF-1.7\n", r"cut off.*again, completely"),
    "header and noise": (lambda: b"%PDF-1.7\n" + bytes(range(256)) * 40, r"cut off.*again, completely"),
    "noise with an end": (lambda: b"%PDF-1.7\n" + bytes(range(256)) * 40 + b"\n%%EOF", r"broken: .*new copy"),
    "half of it": (
        lambda: small()[: len(small()) // 2],
        r"cut off: after [\d,]+ bytes its end .* is missing.*again, completely",
    ),
    "without its last bytes": (lambda: small()[:-30], r"cut off"),
    "encrypted": (
        lambda: books.encrypted(small(), "secret"),
        r"encrypted: it asks for a password.*without the password",
    ),
    "no pages": (lambda: books.blank(0), r"empty: it has no pages"),
    "blank pages": (lambda: books.blank(5), r"empty: none of its 5 pages has text"),
    "scanned": (lambda: books.scanned(3), r"only images: none of its 3 pages has text.*OCR"),
    "scanned and stamped": (lambda: books.scanned(5, "Lent to somebody."), r"repeated on its 5 pages.*a scan.*OCR"),
    "broken page": (broken_stream, r"broken: page \d+ of \d+ .*new copy"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_refused_with_its_reason_and_a_remedy(name: str) -> None:
    make, message = BAD[name]
    with pytest.raises(InputError, match=message):
        read_book(make(), ignore)


READ_ALL = """
import sys
from pathlib import Path
from errors import InputError
from rag.book import read_book
for path in sys.argv[1:]:
    try:
        read_book(Path(path).read_bytes(), lambda page, pages: None)
    except InputError:
        continue
    raise SystemExit(f"{path} was read")
"""


def test_nothing_is_printed_about_bad_files(tmp_path: Path) -> None:
    """In a process of its own, since MuPDF prints to what was the standard output when it was imported."""
    for name, (make, _) in BAD.items():
        (tmp_path / name).write_bytes(make())
    paths = [str(path) for path in sorted(tmp_path.iterdir())]
    child = subprocess.run([sys.executable, "-c", READ_ALL, *paths], capture_output=True, text=True, cwd=ROOT)
    assert (child.returncode, child.stdout, child.stderr) == (0, "", "")


def test_five_thousand_blank_pages_are_refused() -> None:
    with pytest.raises(InputError, match="none of its 5000 pages has text"):
        read_book(books.blank(5000), ignore)


def test_a_book_without_criteria_says_what_was_looked_for() -> None:
    press = Press()
    press.heading(1, "A Novel", kind="unknown")
    press.paragraph(Writer(3).text(80))
    with pytest.raises(InputError, match=r"no section of diagnostic criteria.*'A Novel'.*'Diagnostic Criteria'"):
        read(press.made())


def test_a_leaflet_without_any_heading_is_refused_in_words() -> None:
    press = Press()
    press.paragraph(Writer(3).text(80))
    with pytest.raises(InputError, match="no section of diagnostic criteria among the 1 sections"):
        read(press.made())


def test_a_pdf_that_only_its_owner_may_change_is_read() -> None:
    assert read_book(books.encrypted(small(), ""), ignore) == read_book(small(), ignore)


def test_a_reader_that_gives_up_is_heard() -> None:
    def cancel(page: int, pages: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read_book(small(), cancel)


@settings(deadline=None, max_examples=40)
@given(st.floats(0, 1, exclude_max=True))
def test_a_pdf_cut_anywhere_is_refused(share: float) -> None:
    whole = small().rstrip()
    with pytest.raises(InputError):
        read_book(whole[: min(int(len(whole) * share), len(whole) - len("%%EOF"))], ignore)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=12))
def test_a_pdf_with_changed_bytes_is_read_or_refused_and_never_fails_otherwise(
    changes: list[tuple[float, int]],
) -> None:
    data = bytearray(small())
    for share, value in changes:
        data[int(len(data) * share)] = value
    try:
        book = read_book(bytes(data), ignore)
    except InputError:
        return
    assert book.chunks
