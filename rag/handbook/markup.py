"""The handbook as one HTML text, for PyMuPDF's layout."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from html import escape

from rag.handbook.text import Block, Chapter, Page, Section, slug

STYLE = """
body { font-family: serif; font-size: 10pt; line-height: 1.42; margin: 0; color: #1c1c1c }
p { margin: 0 0 5pt 0 }
h1, h2, h3 { font-family: sans-serif; line-height: 1.2; margin: 0; color: #17324d }
h1 { font-size: 13pt; font-weight: normal; color: #5a6472; margin-bottom: 18pt }
h2 { font-size: 19pt; margin-bottom: 10pt; margin-top: 24pt }
h2.first, h2.new-page { margin-top: 0 }
h3 { font-size: 11pt; margin-top: 9pt; margin-bottom: 4pt }
ol, ul { margin: 0; padding: 0 0 0 18pt }
li { margin: 0 0 3.5pt 0 }
.criterion { list-style-type: upper-alpha; margin-top: 6pt }
.criterion li { margin-bottom: 5pt }
.point { list-style-type: decimal; padding-left: 38pt }
.lead { margin-left: 18pt }
.new-page { page-break-before: always }
.title { font-family: sans-serif; font-size: 27pt; font-weight: bold; color: #17324d; line-height: 1.2;
  margin: 80pt 0 26pt 0 }
.warning { font-family: sans-serif; font-size: 12pt; font-weight: bold; color: #9c2b1f; line-height: 1.35;
  margin-bottom: 10pt }
.contents { font-family: sans-serif; font-size: 17pt; font-weight: bold; color: #17324d; margin-bottom: 4pt }
.chapter { font-family: sans-serif; font-size: 7.4pt; color: #5a6472; line-height: 1.15; margin: 3.2pt 0 0 0 }
.entry { font-size: 8.8pt; line-height: 1.2; margin: 0 }
"""
RUNNING = """
body { margin: 0 }
p { font-family: sans-serif; font-size: 7.2pt; color: #5a6472; margin: 0 }
.head { border-bottom: 0.5pt solid #b9c0c8; padding-bottom: 4pt }
.page { text-align: right; font-weight: bold }
.number { font-family: serif; font-size: 8.8pt; line-height: 1.2; text-align: right; color: #1c1c1c }
"""
_LINK = "color: #1c1c1c; text-decoration: none"
"""Set on each link, since the layout's own blue beats a style sheet."""


def document(front: Page, chapters: tuple[Chapter, ...], new_page: Collection[str] = ()) -> str:
    """The whole book; the headings in `new_page` start on one. Page numbers are drawn by whoever lays it out."""
    return "".join([*_front(front), *_contents(chapters), *_body(chapters, new_page)])


def anchor(*titles: str) -> str:
    """The id of a heading, from the titles that lead to it."""
    return ".".join(map(slug, titles))


def titles(chapters: tuple[Chapter, ...]) -> dict[str, str]:
    """Every heading of the body by its id; the layout's own report drops a space where a title wraps."""
    named = {anchor("chapter", chapter.title): chapter.title for chapter in chapters}
    for page in (page for chapter in chapters for page in chapter.pages):
        named |= {anchor(page.title): page.title}
        named |= {anchor(page.title, section.title): section.title for section in page.sections}
    return named


def typeset(text: str) -> str:
    """Escaped, with bold words and with the quotation marks of print."""
    text = re.sub(r'"([^"]*)"', "“\\1”", text).replace("'", "’")
    return re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", escape(text, quote=False))


def _front(page: Page) -> Iterator[str]:
    """The first two paragraphs say what the book is not, so they are set as a warning."""
    yield f'<p class="title">{typeset(page.title)}</p>'
    for place, block in enumerate(page.preface):
        yield f'<p class="{"warning" if place < 2 else "plain"}">{typeset(block.text)}</p>'


def _contents(chapters: tuple[Chapter, ...]) -> Iterator[str]:
    yield '<p class="contents new-page">Contents</p>'
    for chapter in chapters:
        yield f'<p class="chapter">{typeset(chapter.title)}</p>'
        for page in chapter.pages:
            link = f'<a href="#{anchor(page.title)}" style="{_LINK}">{typeset(page.title)}</a>'
            yield f'<p class="entry">{link}</p>'


def _body(chapters: tuple[Chapter, ...], new_page: Collection[str]) -> Iterator[str]:
    for chapter in chapters:
        yield f'<h1 class="new-page" id="{anchor("chapter", chapter.title)}">{typeset(chapter.title)}</h1>'
        for place, page in enumerate(chapter.pages):
            name = anchor(page.title)
            style = "first" if place == 0 else _break(name in new_page)
            yield f'<h2 class="{style}" id="{name}">{typeset(page.title)}</h2>'
            yield from map(_paragraph, page.preface)
            for section in page.sections:
                yield from _section(page, section, new_page)


def _section(page: Page, section: Section, new_page: Collection[str]) -> Iterator[str]:
    name = anchor(page.title, section.title)
    yield f'<h3 class="{_break(name in new_page)}" id="{name}">{typeset(section.title)}</h3>'
    yield from map(_paragraph, section.blocks)


def _paragraph(block: Block) -> str:
    text = typeset(block.text)
    match block.kind:
        case "criterion":
            return f'<ol class="criterion" start="{ord(block.mark[0]) - ord("A") + 1}"><li>{text}</li></ol>'
        case "point":
            return f'<ol class="point" start="{block.mark[:-1]}"><li>{text}</li></ol>'
        case "specifier":
            return f"<ul><li>{text}</li></ul>"
    return f'<p class="{"lead" if text.endswith(":") else "plain"}">{text}</p>'


def _break(wanted: bool) -> str:
    return "new-page" if wanted else "running"
