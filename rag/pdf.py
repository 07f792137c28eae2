"""A PDF as lines of text, one page at a time. What MuPDF has to say goes nowhere, or becomes an InputError."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pymupdf

from errors import InputError
from rag.text import tidy

_TOOLS: Any = pymupdf.TOOLS  # untyped, as is most of the package
_DOCUMENT: Any = pymupdf.Document
_FLAGS = pymupdf.TEXT_PRESERVE_WHITESPACE | pymupdf.TEXT_MEDIABOX_CLIP
_BOLD_FLAG = 16
_BOLD_NAME = re.compile(r"bold|black|heavy|demi", re.IGNORECASE)
# A page that made MuPDF say one of these has lost text, though it was read without an error.
_DAMAGE = ("zlib error", "read error", "content stream part", "unknown filter", "is not a stream", "non-page object")
_FAILURES = (RuntimeError, ValueError, IndexError, TypeError, pymupdf.mupdf.FzErrorBase)
_EDGE = 1024  # bytes at either end in which a PDF says that it is one; some servers add a little of their own
_PAGES_LOOKED_AT = 50  # to tell scanned pages from blank ones


@dataclass(frozen=True, slots=True)
class Line:
    """A row of a page; `y` is its baseline, counted from the page's top. It is bold when all of it is."""

    text: str
    size: float
    bold: bool
    page: int
    left: float
    right: float
    y: float


@dataclass(frozen=True, slots=True)
class Page:
    number: int
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    """`page` is None where the entry leads nowhere; `y` is None where it leads to a page as a whole; `level` is None
    where only the print can tell how high it ranks."""

    level: int | None
    title: str
    page: int | None
    y: float | None


class Pdf:
    """An open PDF. Not to be used from two threads."""

    def __init__(self, document: Any) -> None:
        self._document = document
        self.page_count: int = document.page_count

    def title(self) -> str:
        """As the file has it, which is often nothing or a file's name."""
        try:
            return tidy(self._document.metadata["title"] or "")
        except (*_FAILURES, KeyError):
            return ""

    def outline(self) -> list[OutlineEntry]:
        """In the file's own order; an outline that cannot be read counts as none."""
        try:
            entries = self._document.get_toc(simple=False)
        except _FAILURES:
            return []
        return [_outline_entry(entry, self.page_count) for entry in entries if tidy(entry[1])]

    def pages(self) -> Iterator[Page]:
        """Every page in order, read when it is asked for; at the end, a PDF without any text is refused."""
        readable = False
        for number in range(1, self.page_count + 1):
            page = self._page(number)
            readable = readable or bool(page.lines)
            yield page
        if not readable:
            raise self._textless()

    def _page(self, number: int) -> Page:
        _TOOLS.reset_mupdf_warnings()
        try:
            page = self._document.load_page(number - 1)
            found = page.get_text("dict", flags=_FLAGS)
            height = page.rect.height
        except _FAILURES as error:
            raise _broken(f"page {number} of {self.page_count} cannot be read") from error
        said = _TOOLS.mupdf_warnings()
        if said and any(sign in said for sign in _DAMAGE):
            raise _broken(f"page {number} of {self.page_count} is damaged and its text is not complete")
        return Page(number, tuple(row for row in _rows(_upright(found, height), number) if row.text))

    def _textless(self) -> InputError:
        if self._has_images():
            return InputError(
                f"this PDF holds only images: none of its {self.page_count} pages has text, so it is probably a scan. "
                "Run text recognition (OCR) over it, or use a PDF with text."
            )
        return InputError(
            f"this PDF is empty: none of its {self.page_count} pages has text. "
            "Check that it is the right file, or export it again."
        )

    def _has_images(self) -> bool:
        try:
            return any(self._document.get_page_images(n) for n in range(min(self.page_count, _PAGES_LOOKED_AT)))
        except _FAILURES:
            return False


@contextmanager
def open_pdf(data: bytes) -> Iterator[Pdf]:
    """Raises InputError for what is not a whole, readable PDF."""
    _quiet()
    _refuse_at_sight(data)
    try:
        document = _DOCUMENT(stream=data, filetype="pdf")
    except _FAILURES as error:
        raise _broken("it cannot be opened") from error
    try:
        _refuse_unusable(document)
        yield Pdf(document)
    finally:
        document.close()


def _refuse_at_sight(data: bytes) -> None:
    if not data.strip():
        raise InputError("this file is empty (0 bytes of content). Choose the book's PDF file.")
    if b"%PDF-" not in data[:_EDGE]:
        raise InputError("this is not a PDF file: it does not begin with %PDF-. Choose a PDF file.")
    # MuPDF would repair a file that was cut off, and silently lose the pages that were not there any more.
    if b"%%EOF" not in data.rstrip(b"\0 \t\r\n")[-_EDGE:]:
        raise InputError(
            f"this PDF is cut off: after {len(data):,} bytes its end (%%EOF) is missing. "
            "Download or copy it again, completely."
        )


def _quiet() -> None:
    """For the whole process, since MuPDF knows no other way; what it says is still kept, and read after each page."""
    _TOOLS.mupdf_display_errors(False)
    _TOOLS.mupdf_display_warnings(False)


def _refuse_unusable(document: Any) -> None:
    if document.needs_pass:
        raise InputError(
            "this PDF is encrypted: it asks for a password. Save a copy without the password and use that."
        )
    try:
        pages = document.page_count
    except _FAILURES as error:
        raise _broken("its pages cannot be counted") from error
    if not pages:
        raise InputError("this PDF is empty: it has no pages. Check that it is the right file, or export it again.")


def _broken(what: str) -> InputError:
    return InputError(f"this PDF is broken: {what}. Download it again, or open it in a PDF reader and save a new copy.")


def _outline_entry(entry: list[Any], page_count: int) -> OutlineEntry:
    level, title, page, target = entry
    point = target.get("to")
    return OutlineEntry(
        level=level,
        title=tidy(title),
        page=page if 1 <= page <= page_count else None,
        y=float(point.y) if point is not None else None,
    )


def _upright(found: dict[str, Any], height: float) -> Iterator[dict[str, Any]]:
    """Lines that are read from left to right; text along the edge is a stamp, unless the page has no other."""
    lines = [line for block in found["blocks"] for line in block.get("lines", ()) if _is_on_page(line, height)]
    level = [line for line in lines if line["dir"][0] > 0.9]
    return iter(level or lines)


def _is_on_page(line: dict[str, Any], height: float) -> bool:
    return bool(line["bbox"][3] > 0 and line["bbox"][1] < height)


def _rows(lines: Iterable[dict[str, Any]], page: int) -> Iterator[Line]:
    """MuPDF ends a line at a wide gap, so that "A." and the text beside it come apart; a row has both."""
    row: list[dict[str, Any]] = []
    for line in lines:
        if not any(span["text"].strip() for span in line["spans"]):
            continue
        if row and not _is_beside(row[-1], line):
            yield _line(row, page)
            row = []
        elif row and _is_shadow(row[-1], line):
            continue
        row.append(line)
    if row:
        yield _line(row, page)


def _baseline(line: dict[str, Any]) -> float:
    return float(line["spans"][0]["origin"][1])


def _is_beside(before: dict[str, Any], line: dict[str, Any]) -> bool:
    height = before["bbox"][3] - before["bbox"][1]
    same_height = abs(_baseline(before) - _baseline(line)) < 0.25 * height
    return same_height and (line["bbox"][0] > before["bbox"][2] - 1 or _is_shadow(before, line))


def _is_shadow(before: dict[str, Any], line: dict[str, Any]) -> bool:
    """The same words printed twice, a hair apart, to look bold."""
    near = all(abs(a - b) < 1.5 for a, b in zip(before["bbox"], line["bbox"], strict=True))
    return near and _text(before) == _text(line)


def _text(line: dict[str, Any]) -> str:
    return "".join(span["text"] for span in line["spans"])


def _line(row: list[dict[str, Any]], page: int) -> Line:
    spans = [span for line in row for span in line["spans"] if span["text"].strip()]
    sizes: dict[float, int] = {}
    for span in spans:
        size = round(span["size"] * 2) / 2
        sizes[size] = sizes.get(size, 0) + len(span["text"].strip())
    return Line(
        text=tidy(" ".join(_text(line) for line in row)),
        size=max(sizes, key=lambda size: (sizes[size], size)),
        bold=all(_is_bold(span) for span in spans),
        page=page,
        left=float(row[0]["bbox"][0]),
        right=float(row[-1]["bbox"][2]),
        y=_baseline(row[0]),
    )


def _is_bold(span: dict[str, Any]) -> bool:
    return bool(span["flags"] & _BOLD_FLAG) or _BOLD_NAME.search(span["font"]) is not None
