"""The sample handbook: a page for every disorder, marked as illustrative, and a PDF that ingestion can work with."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pymupdf
import pytest

from errors import InputError
from instruments.disorders import disorders
from rag.handbook import NOTICE, book_title, build_pdf
from rag.handbook.markup import anchor, typeset
from rag.handbook.text import Page, chapters, read_page, slug

CRITERIA = "Diagnostic Criteria"
LEFT_OUT = re.compile("Prevalence|Associated Features")


@pytest.fixture(scope="module")
def data() -> bytes:
    return build_pdf()


@pytest.fixture(scope="module")
def book(data: bytes) -> Any:
    mupdf: Any = pymupdf  # untyped, for the most part
    return mupdf.open("pdf", data)


def _trails(book: Any) -> Iterator[tuple[tuple[str, ...], int]]:
    trail: list[str] = []
    for level, title, page in book.get_toc():
        trail = [*trail[: level - 1], title]
        yield tuple(trail), page


def _pages() -> list[Page]:
    return [page for chapter in chapters() for page in chapter.pages]


def _words(text: str) -> str:
    return " ".join(text.split())


def _body(book: Any, first: int, last: int) -> str:
    """The text of some pages without their running header and footer."""
    return _words(" ".join(book[n].get_text(clip=(0, 60, 432, 600), sort=False) for n in range(first - 1, last)))


def test_every_disorder_has_its_file_and_no_file_is_left_over() -> None:
    on_disk = {file.name.removesuffix(".md") for file in files("rag.handbook").iterdir() if file.name.endswith(".md")}
    assert on_disk == {"front-page"} | {slug(disorder.name) for disorder in disorders().disorders}


@pytest.mark.parametrize("name", [disorder.name for disorder in disorders().disorders])
def test_a_page_has_criteria_in_order_and_narrative_to_leave_out(name: str) -> None:
    (page,) = (page for page in _pages() if page.title == name)
    sections = {section.title: section.blocks for section in page.sections}
    assert {"Overview", CRITERIA, "Specifiers", "Recording Procedures"} <= set(sections)
    assert len([title for title in sections if LEFT_OUT.fullmatch(title)]) == 2
    marks = [block.mark for block in sections[CRITERIA] if block.kind == "criterion"]
    assert marks == [f"{chr(65 + n)}." for n in range(len(marks))]
    assert len(marks) >= 2
    numbers = [int(block.mark[:-1]) for block in sections[CRITERIA] if block.kind == "point"]
    assert all(now in (1, before + 1) for before, now in zip([0, *numbers], numbers, strict=False))


def test_the_first_page_says_what_the_book_is_not(book: Any) -> None:
    first = _words(book[0].get_text())
    assert "illustrative" in first
    assert "written by the Crosscut project" in first
    assert "not DSM-5 text" in first
    assert "not for clinical use" in first
    assert book_title() in first
    assert "illustrative" in NOTICE
    assert "not DSM-5" in NOTICE
    assert book.metadata["title"] == book_title()


def test_the_outline_leads_from_chapter_to_disorder_to_section(book: Any) -> None:
    trails = dict(_trails(book))
    for disorder in disorders().disorders:
        for section in (CRITERIA, "Specifiers", "Prevalence"):
            page = trails[disorder.category, disorder.name, section]
            assert section in book[page - 1].get_text()
    assert [trail[0] for trail in trails if len(trail) == 1][2:] == list(disorders().categories)


def test_the_whole_text_can_be_read_back(book: Any) -> None:
    """Not a word is lost in the layout: each block of each page is found where the outline says its disorder is."""
    starts = [page for trail, page in _trails(book) if len(trail) == 2]
    for page, first, last in zip(_pages(), starts, [*starts[1:], book.page_count], strict=True):
        text = _body(book, first, last)
        for section in page.sections:
            for block in section.blocks:
                printed = re.sub("<.*?>", "", typeset(block.text))
                assert _words(f"{block.mark.replace('-', '•')} {printed}") in text, (page.title, block.text)


def test_no_ligature_or_broken_character_is_in_the_text(book: Any) -> None:
    text = "".join(page.get_text() for page in book)
    assert "specifiers" in text.lower()
    assert not re.findall("[\ufb00-\ufb06\ufffd\u00ad]", text)


def test_no_line_ends_inside_a_compound(book: Any) -> None:
    """Readers that mend hyphenation would make one word of it: rather word the sentence in another way."""
    lines = [line.strip() for page in book for line in page.get_text().splitlines()]
    assert [line for line in lines if line.endswith("-")] == []


def test_every_page_but_the_first_has_the_books_name_above_and_its_number_below(book: Any) -> None:
    for number, page in enumerate(book, 1):
        above = _words(page.get_text(clip=(0, 0, 432, 60)))
        below = _words(page.get_text(clip=(0, 600, 432, 648)))
        assert above == ("" if number == 1 else book_title())
        assert below.endswith("" if number == 1 else str(number))


def test_no_heading_is_left_alone_at_the_foot_of_a_page(book: Any) -> None:
    titles = {section.title for page in _pages() for section in page.sections} | {page.title for page in _pages()}
    for page in book:
        lines = _words(page.get_text(clip=(0, 60, 432, 600))).strip()
        assert not any(lines.endswith(title) for title in titles), page.number + 1


def test_the_contents_give_and_link_the_right_pages(book: Any) -> None:
    starts = {trail[1]: page for trail, page in _trails(book) if len(trail) == 2}
    rows = {_words(book[1].get_text(clip=(0, link["from"].y0, 432, link["from"].y1))): link for link in _links(book)}
    assert len(rows) == len(starts)
    for name, page in starts.items():
        assert rows[f"{name} {page}"]["page"] == page - 1


def _links(book: Any) -> list[dict[str, Any]]:
    """One a row: a link of several words is stored word by word."""
    rows = {round(link["from"].y0): link for link in book[1].get_links()}
    for link in rows.values():
        link["from"] += (0, 2, 0, -2)
    return list(rows.values())


def test_the_same_text_gives_the_same_bytes(data: bytes) -> None:
    assert build_pdf() == data


def test_another_process_gives_the_same_bytes(data: bytes) -> None:
    code = "import sys; from rag.handbook import build_pdf; sys.stdout.buffer.write(build_pdf())"
    other = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, timeout=120)
    assert other.stdout == data


def test_a_page_without_a_title_is_refused() -> None:
    with pytest.raises(InputError, match="must begin with '# '"):
        read_page("## Overview\n\nText.")


def test_blocks_are_told_apart() -> None:
    page = read_page("# T\n\n## S\n\nA. First\n\n1. one\n\n- **b**: two\n\nA panic attack is a storm.\n")
    kinds = [(block.kind, block.mark) for block in page.sections[0].blocks]
    assert kinds == [("criterion", "A."), ("point", "1."), ("specifier", "-"), ("paragraph", "")]


def test_typesetting_escapes_and_prints() -> None:
    assert typeset('**a** <b> & "c" isn\'t') == "<b>a</b> &lt;b&gt; &amp; “c” isn’t"
    assert anchor("Panic Disorder", CRITERIA) == "panic-disorder.diagnostic-criteria"
