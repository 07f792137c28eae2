"""The report on paper: the same Markdown, set with MuPDF, with the domain chart.

MuPDF's own tables cannot be trusted to break over pages, so cells are set one by one and rows are put where they fit.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

import pymupdf
from markdown_it import MarkdownIt
from markdown_it.token import Token

from agents.report.domains import HIGHEST_SCORE, DomainRow
from instruments.tools import ReportSection

_MUPDF: Any = pymupdf  # untyped, for the most part
SHEET = _MUPDF.Rect(0, 0, 595, 842)
FRAME = _MUPDF.Rect(46, 50, 549, 790)
_CHART_AFTER = "Symptom Domain Table"
_TALL = 100_000
_PADDING = 4
_LEAST_ROOM = 60
"""A section's heading with less room below it goes to the next page."""
_WIDTHS = {6: (0.17, 0.12, 0.11, 0.09, 0.18, 0.33), 5: (0.08, 0.24, 0.2, 0.11, 0.37)}
_TAG = re.compile(r"<(/?)(sym|quote|med)>")
_SHADE, _RULE = (0.94, 0.96, 0.98), (0.8, 0.84, 0.88)
_BAR, _RAISED, _MARK = (0.62, 0.72, 0.8), (0.75, 0.3, 0.2), (0.2, 0.2, 0.2)


@dataclass(frozen=True)
class Front:
    """What stands above and below a report: plain text, except that `notices` are set apart."""

    title: str
    lines: tuple[str, ...]
    notices: tuple[str, ...]
    foot: str


def report_pdf(front: Front, sections: Sequence[ReportSection], domains: Sequence[DomainRow]) -> bytes:
    sheets = _Sheets()
    sheets.flow(_front(front))
    for section in sections:
        if sheets.room < _LEAST_ROOM:
            sheets.turn()
        sheets.flow(f"<h2>{_text(section.title)}</h2>")
        if section.title == _CHART_AFTER:
            _chart(sheets, domains)
        for block in _blocks(section.markdown):
            sheets.table(block) if isinstance(block, _Table) else sheets.flow(block)
    return _finished(sheets, front)


@dataclass(frozen=True)
class _Table:
    """Cells as HTML; the first row is the head."""

    rows: list[list[str]]


@dataclass(frozen=True)
class _Shape:
    page: int
    rect: Any
    fill: tuple[float, ...]


@dataclass(frozen=True)
class _Label:
    page: int
    at: tuple[float, float]
    text: str


@dataclass
class _Sheets:
    """Pages that fill from the top. Text is written at once; shapes and the chart's labels come under and over it."""

    stream: io.BytesIO = field(default_factory=io.BytesIO)
    shapes: list[_Shape] = field(default_factory=list)
    labels: list[_Label] = field(default_factory=list)
    page: int = -1
    top: float = 0.0

    def __post_init__(self) -> None:
        self._writer = _MUPDF.DocumentWriter(self.stream)
        self._begin()

    @property
    def room(self) -> float:
        return float(FRAME.y1 - self.top)

    def turn(self) -> None:
        self._writer.end_page()
        self._begin()

    def close(self) -> bytes:
        self._writer.end_page()
        self._writer.close()
        return self.stream.getvalue()

    def _begin(self) -> None:
        self.page += 1
        self.top = FRAME.y0
        self._device = self._writer.begin_page(SHEET)

    def flow(self, html: str) -> None:
        story = _story(html)
        more = True
        while more:
            more, filled = story.place(_MUPDF.Rect(FRAME.x0, self.top, FRAME.x1, FRAME.y1))
            story.draw(self._device)
            self.top = filled[3]
            if more:
                self.turn()

    def table(self, table: _Table) -> None:
        head, *rows = table.rows
        self._row(head, "head", shaded=True)
        for number, row in enumerate(rows):
            if self._height(row, "cell") > self.room:
                self.turn()
                self._row(head, "head", shaded=True)
            self._row(row, "cell", shaded=number % 2 == 1)
        self.top += 6

    def _row(self, cells: list[str], style: str, *, shaded: bool) -> None:
        """Side by side; a cell that is longer than a page goes on with the next."""
        stories = [_story(_cell(cell, style)) for cell in cells]
        while stories:
            began, lowest, left = self.top, self.top, []
            for story, (x0, x1) in zip(stories, _columns(len(cells)), strict=True):
                more, filled = story.place(_MUPDF.Rect(x0, began + _PADDING, x1 - _PADDING, FRAME.y1))
                story.draw(self._device)
                lowest = max(lowest, filled[3])
                left.append(more)
            self.top = min(lowest + _PADDING, FRAME.y1)
            if shaded:
                self._shade(began)
            self._rule()
            if not any(left):
                return
            self.turn()

    def _shade(self, began: float) -> None:
        self.shapes.append(_Shape(self.page, _MUPDF.Rect(FRAME.x0, began, FRAME.x1, self.top), _SHADE))

    def _rule(self) -> None:
        self.shapes.append(_Shape(self.page, _MUPDF.Rect(FRAME.x0, self.top - 0.4, FRAME.x1, self.top), _RULE))

    def _height(self, cells: list[str], style: str) -> float:
        """Of the whole row, or of a page where it is longer than one: then it begins where it stands."""
        heights = [
            _story(_cell(cell, style)).place(_MUPDF.Rect(0, 0, x1 - x0 - _PADDING, _TALL))[1][3]
            for cell, (x0, x1) in zip(cells, _columns(len(cells)), strict=True)
        ]
        height = max(heights) + 2 * _PADDING
        return height if height < FRAME.height - _LEAST_ROOM else _LEAST_ROOM


def _story(html: str) -> Any:
    return _MUPDF.Story(html, user_css=_style())


def _cell(html: str, style: str) -> str:
    return f'<p class="{style}">{html or "&#160;"}</p>'


def _columns(count: int) -> Iterator[tuple[float, float]]:
    x0 = FRAME.x0
    for width in _WIDTHS[count]:
        x1 = x0 + width * FRAME.width
        yield x0 + _PADDING, x1
        x0 = x1


@cache
def _style() -> str:
    return files("agents.report").joinpath("page.css").read_text("utf-8")


@cache
def _markdown() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": True}).enable("table")


def _blocks(markdown: str) -> Iterator[str | _Table]:
    """Top-level blocks of our own Markdown, in which nothing but our tags is HTML."""
    tokens = _markdown().parse(markdown)
    start = 0
    for at, token in enumerate(tokens):
        if token.level == 0 and token.nesting <= 0:
            block, start = tokens[start : at + 1], at + 1
            yield _table_of(block) if block[0].type == "table_open" else _html(block)


def _table_of(tokens: list[Token]) -> _Table:
    rows: list[list[str]] = []
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline":
            rows[-1].append(_html([token]))
    return _Table(rows)


def _html(tokens: list[Token]) -> str:
    rendered: str = _markdown().renderer.render(tokens, _markdown().options, {})
    return _TAG.sub(_as_span, rendered)


def _as_span(tag: re.Match[str]) -> str:
    """Quotation marks as well, for a printer without colours."""
    closes, name = tag.groups()
    if closes:
        return "</span>”" if name == "quote" else "</span>"
    return f'{"“" if name == "quote" else ""}<span class="{name}">'


def _front(front: Front) -> str:
    lines = "".join(f'<p class="small">{_text(line)}</p>' for line in front.lines)
    notices = "".join(f'<p class="notice">{_text(notice)}</p>' for notice in front.notices)
    legend = (
        '<p class="small">Marked: <span class="sym">symptom or domain</span> · '
        '<span class="quote">the patient’s own words</span> · <span class="med">medical term</span></p>'
    )
    return f"<h1>{_text(front.title)}</h1>{lines}{notices}{legend}"


def _text(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


_KEY = (
    "Bar: highest item of the domain, red where further inquiry is indicated. Mark: threshold. "
    "Hollow, ?: not determined."
)
_LABEL_WIDTH, _STEP, _BAR_HEIGHT = 150.0, 15.0, 8.0


def _chart(sheets: _Sheets, domains: Sequence[DomainRow]) -> None:
    """A bar a domain from 0 to 4, and a mark where further inquiry begins."""
    height = _STEP * (len(domains) + 2)
    if sheets.room < height:
        sheets.turn()
    left, width = FRAME.x0 + _LABEL_WIDTH, FRAME.width - _LABEL_WIDTH - 20
    top = sheets.top + 4
    for score in range(HIGHEST_SCORE + 1):
        x = left + width * score / HIGHEST_SCORE
        sheets.shapes.append(_Shape(sheets.page, _MUPDF.Rect(x - 0.2, top, x + 0.2, top + _STEP * len(domains)), _RULE))
        sheets.labels.append(_Label(sheets.page, (x - 2, top + _STEP * len(domains) + 9), str(score)))
    for number, row in enumerate(domains):
        _bar(sheets, row, left, width, top + number * _STEP)
    sheets.labels.append(_Label(sheets.page, (FRAME.x0, top + height - 6), _KEY))
    sheets.top = top + height


def _bar(sheets: _Sheets, row: DomainRow, left: float, width: float, y: float) -> None:
    def at(score: float) -> float:
        return left + width * score / HIGHEST_SCORE

    y0, y1 = y + (_STEP - _BAR_HEIGHT) / 2, y + (_STEP + _BAR_HEIGHT) / 2
    colour = _RAISED if row.reached else _BAR
    sheets.shapes.append(_Shape(sheets.page, _MUPDF.Rect(left, y0, at(row.highest) + 1, y1), colour))
    if row.undetermined:  # with a sign, since an empty bar has no hollow
        sheets.labels.append(_Label(sheets.page, (at(row.highest) + 5, y1 - 0.5), "?"))
    if row.undetermined and row.highest:
        hollow = _MUPDF.Rect(left + 1.5, y0 + 1.5, at(row.highest) - 0.5, y1 - 1.5)
        sheets.shapes.append(_Shape(sheets.page, hollow, (1, 1, 1)))
    mark = at(row.domain.threshold)
    sheets.shapes.append(_Shape(sheets.page, _MUPDF.Rect(mark - 0.8, y0 - 2, mark + 0.8, y1 + 2), _MARK))
    sheets.labels.append(_Label(sheets.page, (FRAME.x0, y1 - 0.5), row.name))


def _finished(sheets: _Sheets, front: Front) -> bytes:
    pdf = _MUPDF.open("pdf", sheets.close())
    for shape in sheets.shapes:
        page = pdf[shape.page]
        page.draw_rect(shape.rect, color=None, fill=shape.fill, width=0, overlay=shape.fill not in (_SHADE,))
    for label in sheets.labels:
        pdf[label.page].insert_text(label.at, label.text, fontsize=7.5, color=(0.2, 0.25, 0.3))
    for number, page in enumerate(pdf, start=1):
        page.insert_text((FRAME.x0, SHEET.y1 - 28), front.foot, fontsize=7, color=(0.35, 0.4, 0.45))
        page.insert_text((FRAME.x1 - 40, SHEET.y1 - 28), f"{number} of {len(pdf)}", fontsize=7, color=(0.35, 0.4, 0.45))
    pdf.set_metadata({"title": front.title, "subject": front.foot})
    pdf.subset_fonts()
    return bytes(pdf.tobytes(garbage=4, deflate=True))
