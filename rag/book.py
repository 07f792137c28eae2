"""A book's PDF as chunks of diagnostic criteria, and an account of what was left out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from errors import InputError
from rag.chunks import Chunk, chunk_sections, limits
from rag.headings import is_known_heading, title_page
from rag.pdf import Line, OutlineEntry, open_pdf
from rag.running import Measure, measure, without_running
from rag.sections import Section, find_sections
from rag.text import Words
from rag.titles import Kind

_NO_TITLE = re.compile(r"untitled.*|microsoft word.*|\S+\.(pdf|docx?|indd|tex|qxd)|book|document", re.IGNORECASE)
_NAMED_SECTIONS = 3  # in the message about a book without criteria


@dataclass(frozen=True)
class Place:
    path: str
    page_start: int
    page_end: int


@dataclass(frozen=True)
class LeftOut(Place):
    """`reason` is the section's kind: narrative, front or back matter, an introduction, or a title nobody knows."""

    reason: Kind


@dataclass(frozen=True)
class Book:
    """`textless_pages` had no text of their own: blank, or images that were not read."""

    title: str
    page_count: int
    chunks: tuple[Chunk, ...]
    kept: tuple[Place, ...]
    left_out: tuple[LeftOut, ...]
    textless_pages: tuple[int, ...]

    @property
    def left_out_counts(self) -> dict[Kind, int]:
        return dict(Counter(section.reason for section in self.left_out))


def read_book(
    data: bytes, on_page: Callable[[int, int], None], also: Callable[[bytes], Sequence[OutlineEntry]] | None = None
) -> Book:
    """Raises InputError for a PDF without readable criteria; `on_page` gets a page's number and the count of pages.

    `also` may find headings that the print does not show.
    """
    with open_pdf(data) as pdf:
        pages = []
        for page in pdf.pages():
            pages.append(page)
            on_page(page.number, pdf.page_count)
        outline = pdf.outline()
        named = pdf.title()
    usual = measure(pages)
    lines = without_running(pages, usual, lambda line: is_known_heading(line, usual))
    if not lines:
        raise _only_running(len(pages))
    title = _title(named, lines, usual)
    sections = find_sections(lines, outline, usual, title, also(data) if also else ())
    kept = [section for section in sections if section.kind == "criteria"]
    if not kept:
        raise _without_criteria(sections, len(pages))
    chunks = chunk_sections(kept, Words((line.text for line in lines), limits().prefixes), usual.pitch)
    with_text = {line.page for line in lines}
    return Book(
        title=title or "Untitled",
        page_count=len(pages),
        chunks=tuple(chunks),
        kept=tuple(Place(s.path, s.page_start, s.page_end) for s in kept),
        left_out=tuple(LeftOut(s.path, s.page_start, s.page_end, s.kind) for s in sections if s.kind != "criteria"),
        textless_pages=tuple(page.number for page in pages if page.number not in with_text),
    )


def _title(named: str, lines: Sequence[Line], usual: Measure) -> str:
    """What the file says of itself, unless that is a file's name; else the largest print of its title page."""
    if named and not _NO_TITLE.fullmatch(named):
        return named
    page = title_page(lines, usual)
    first = [line for line in lines if line.page == page]
    largest = max((line.size for line in first), default=0.0)
    return " ".join(line.text for line in first if line.size == largest)


def _only_running(pages: int) -> InputError:
    return InputError(
        f"this PDF has no text but what is repeated on its {pages} pages, so it is probably a scan. "
        "Run text recognition (OCR) over it, or use a PDF with text."
    )


def _without_criteria(sections: Sequence[Section], pages: int) -> InputError:
    seen = ", ".join(repr(section.path) for section in sections[:_NAMED_SECTIONS])
    return InputError(
        f"this PDF has no section of diagnostic criteria among the {len(sections)} sections of its {pages} pages "
        f"(the first are {seen or 'none'}). It needs headings such as 'Diagnostic Criteria', in its outline or in "
        "larger or bold print; rag/sections.toml lists the titles that are known."
    )
