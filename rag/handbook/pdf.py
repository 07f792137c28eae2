"""The handbook as a PDF: title page, contents, running headers, page numbers and an outline, always the same bytes."""

from __future__ import annotations

import io
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pymupdf

from rag.handbook.markup import RUNNING, STYLE, document, titles, typeset
from rag.handbook.text import chapters, front_page

_MUPDF: Any = pymupdf  # untyped, for the most part
SHEET = _MUPDF.Rect(0, 0, 432, 648)  # six by nine inches
FRAME = _MUPDF.Rect(54, 66, 378, 592)
HEAD = _MUPDF.Rect(54, 36, 378, 56)
FOOT = _MUPDF.Rect(54, 606, 378, 626)
ROOM = {1: 0.0, 2: 170.0, 3: 56.0}
"""A heading of this level with less room from its top to the foot of the page goes to the next one."""
_WRITTEN = "D:20250101000000Z"
"""A fixed date: the bytes, and with them the hash by which ingestion knows the file, depend on the text alone."""
_LIGATURE = re.compile(r"<(\w{4})> (?:<(\w{4})> )?<(fb0[0-6])>")


@dataclass(frozen=True)
class Heading:
    level: int
    anchor: str
    page: int
    top: float


def build_pdf() -> bytes:
    """The illustrative handbook, made from the Markdown files beside this module."""
    front, text = front_page(), chapters()
    new_page: set[str] = set()
    html = document(front, text)
    while stranded := _stranded(headings := _measure(html)) - new_page:
        new_page |= stranded
        html = document(front, text, new_page)
    return _finish(*_draw(html, front.title, titles(text), headings), front.title, titles(text), headings)


def _measure(html: str) -> list[Heading]:
    """Where the headings come to stand."""
    story = _MUPDF.Story(html, user_css=STYLE)
    found: list[Heading] = []
    for number, places in _pages(story):
        story.draw(None)
        opened = (place for place in places if place.heading and place.open_close & 1)
        found += [Heading(place.heading, place.id, number, place.rect[1]) for place in opened]
    return found


def _stranded(headings: list[Heading]) -> set[str]:
    """Headings too near to the foot of a page: the first of each chapter, since moving it moves those after it."""
    found: dict[int, str] = {}
    chapter = 0
    for heading in headings:
        chapter += heading.level == 1
        if heading.top > FRAME.y1 - ROOM[heading.level]:
            found.setdefault(chapter, heading.anchor)
    return set(found.values())


def _draw(html: str, book: str, named: Mapping[str, str], headings: list[Heading]) -> tuple[bytes, list[Any]]:
    """The pages, and the places between which links go."""
    story = _MUPDF.Story(html, user_css=STYLE)
    stream, links, chapter = io.BytesIO(), [], ""
    writer = _MUPDF.DocumentWriter(stream)
    for number, places in _pages(story):
        device = writer.begin_page(SHEET)
        story.draw(device)
        chapter = next((named[place.id] for place in places if place.heading == 1), chapter)
        if number > 1:
            _draw_running(device, book, chapter, number)
        _draw_numbers(device, places, headings)
        writer.end_page()
        links += places
    writer.close()
    return stream.getvalue(), links


def _pages(story: Any) -> Iterator[tuple[int, list[Any]]]:
    """Each page once it is placed, with the positions of its headings and links; the caller draws it."""
    number, more = 0, True
    while more:
        number += 1
        more, _ = story.place(FRAME)
        yield number, _positions(story, number)


def _positions(story: Any, page: int) -> list[Any]:
    found: list[Any] = []
    story.element_positions(lambda place: found.append(place), {"page_num": page})  # it refuses `found.append`
    return found


def _draw_running(device: Any, book: str, chapter: str, number: int) -> None:
    _draw_line(device, HEAD, "head", book)
    _draw_line(device, FOOT, "foot", chapter)
    _draw_line(device, FOOT, "page", str(number))


def _draw_numbers(device: Any, places: list[Any], headings: list[Heading]) -> None:
    """The page numbers of the contents, each on the line of its link."""
    pages = {f"#{heading.anchor}": str(heading.page) for heading in headings}
    lines = {place.href: place.rect for place in places if place.href}  # a link is reported word by word
    for target, (_, top, _, bottom) in lines.items():
        _draw_line(device, _MUPDF.Rect(FRAME.x1 - 40, top - 1, FRAME.x1, bottom + 4), "number", pages[target])


def _draw_line(device: Any, where: Any, style: str, text: str) -> None:
    story = _MUPDF.Story(f'<p class="{style}">{typeset(text)}</p>', user_css=RUNNING)
    story.place(where)
    story.draw(device)


def _finish(data: bytes, links: list[Any], book: str, named: Mapping[str, str], headings: list[Heading]) -> bytes:
    pdf = _MUPDF.Story.add_pdf_links(io.BytesIO(data), links)
    pdf.set_toc(list(_outline(named, headings)))
    subject = "Illustrative handbook, not DSM-5 text and not for clinical use"
    dates = {"creationDate": _WRITTEN, "modDate": _WRITTEN}
    pdf.set_metadata({"title": book, "author": "The Crosscut project", "subject": subject, **dates})
    pdf.subset_fonts()
    _spell_out_ligatures(pdf)
    return bytes(pdf.tobytes(garbage=4, deflate=True, use_objstms=1, no_new_id=True))


def _outline(named: Mapping[str, str], headings: list[Heading]) -> Iterator[list[Any]]:
    yield [1, "About This Handbook", 1]
    yield [1, "Contents", 2]
    for heading in headings:
        to = {"kind": _MUPDF.LINK_GOTO, "to": _MUPDF.Point(FRAME.x0, heading.top), "collapse": heading.level > 1}
        yield [heading.level, named[heading.anchor], heading.page, to]


def _spell_out_ligatures(pdf: Any) -> None:
    """Lets readers find "five" where the page shows an fi ligature."""
    for xref in range(1, pdf.xref_length()):
        kind, value = pdf.xref_get_key(xref, "ToUnicode")
        if kind == "xref":
            table = int(value.split()[0])
            pdf.update_stream(table, _LIGATURE.sub(_letters, pdf.xref_stream(table).decode()).encode())


def _letters(entry: re.Match[str]) -> str:
    first, last, target = entry[1], entry[2], int(entry[3], 16)
    count = int(last, 16) - int(first, 16) + 1 if last else 1
    spelled = [unicodedata.normalize("NFKC", chr(target + n)).encode("utf-16-be").hex() for n in range(count)]
    if not last:
        return f"<{first}> <{spelled[0]}>"
    return f"<{first}> <{last}> [{' '.join(f'<{letters}>' for letters in spelled)}]"
