"""Test books: a made-up handbook of any length, and where everything in it stands.

The typesetting is plain, but has what real books have: running heads, page numbers, words broken at the ends of lines,
hanging labels, sections that begin in the middle of a page. PyMuPDF makes the file; the content of the pages is written
here, since inserting its text line by line would take a minute for a thousand pages.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pymupdf

TITLE = "Handbook of Invented Conditions"
FOOTER = "Made for tests. Not for clinical use."
CRITERIA = "Diagnostic Criteria"
NARRATIVE = ("Diagnostic Features", "Prevalence", "Development and Course", "Differential Diagnosis", "Comorbidity")
UNKNOWN = "Local Practice"
FRONT_PAGES = 2  # before the page that bears the number 1
DISORDERS_A_CHAPTER = 8
LONG_EVERY = 5  # disorders: one has a criterion over the limit
WIDTH, HEIGHT = 612, 792
LEFT, RIGHT, TOP, BOTTOM = 72.0, 540.0, 84.0, 725.0
SIZE, PITCH = 10.0, 13.0
_SYLLABLES = ("ra", "men", "tol", "vis", "kor", "lu", "pan", "dri", "ste", "mo", "gal", "fer", "ni", "bu", "ch", "tas")
_MUPDF: Any = pymupdf  # untyped, for the most part


@dataclass
class Stretch:
    """A criterion or paragraph as it was written, before lines and pages broke it."""

    text: str
    page_start: int
    page_end: int = 0


@dataclass
class Part:
    path: str
    kind: str
    page_start: int
    stretches: list[Stretch] = field(default_factory=list)

    @property
    def page_end(self) -> int:
        return max(stretch.page_end for stretch in self.stretches)


@dataclass(frozen=True)
class Made:
    data: bytes
    page_count: int
    parts: tuple[Part, ...]

    def of_kind(self, kind: str) -> list[Part]:
        return [part for part in self.parts if part.kind == kind]


@dataclass(frozen=True)
class Look:
    """The sizes of headings, all of them bold. The text has 10."""

    chapter: float = 20
    name: float = 15
    title: float = 12


Running = Callable[["Press", int, str, str], None]


def head_and_foot(press: Press, number: int, chapter: str, name: str) -> None:
    press.show(LEFT, 44, f"{number}   {chapter}" if number % 2 == 0 else f"{name}   {number}", 8)
    press.show(LEFT, 765, FOOTER, 7)


class Press:
    """Sets text on pages, and remembers where."""

    def __init__(self, look: Look | None = None, *, running: Running = head_and_foot) -> None:
        self.look = look or Look()
        self.document = _MUPDF.Document()
        self.parts: list[Part] = []
        self.outline: list[list[Any]] = []
        self.heads = "", ""
        self._trail: list[str] = []
        self.running = running
        self._content: list[str] = []
        self._y = TOP

    @property
    def page(self) -> int:
        return int(self.document.page_count) + 1

    def made(self, *, outline: bool = True) -> Made:
        if self._content:
            self.break_page()
        self.document.set_toc(self.outline if outline else [])
        return Made(self.document.tobytes(deflate=True), self.document.page_count, tuple(self.parts))

    def show(self, x: float, y: float, text: str, size: float = SIZE, *, bold: bool = False) -> None:
        shown = text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
        font = "hebo" if bold else "helv"
        self._content.append(f"BT /{font} {size} Tf {x:.2f} {HEIGHT - y:.2f} Td ({shown}) Tj ET")

    def show_sideways(self, text: str) -> None:
        self._content.append(f"BT /helv 8 Tf 0 1 -1 0 590 200 Tm ({text}) Tj ET")

    def break_page(self) -> None:
        if self.page > FRONT_PAGES and self._content:
            self.running(self, self.page - FRONT_PAGES, *self.heads)
        page = self.document.new_page(width=WIDTH, height=HEIGHT)
        page.insert_font(fontname="helv")
        page.insert_font(fontname="hebo")
        xref = self.document.get_new_xref()
        self.document.update_object(xref, "<<>>")
        self.document.update_stream(xref, "\n".join(self._content).encode("cp1252"))
        page.set_contents(xref)
        self._content, self._y = [], TOP

    def heading(self, level: int, title: str, *, kind: str = "") -> None:
        """Opens a section; a heading is never the last line of a page, but its text may begin on the next."""
        size = (self.look.chapter, self.look.name, self.look.title)[level - 1]
        if self._y + 2 * size > BOTTOM:
            self.break_page()
        self._y += size if self._y > TOP else 0
        self._trail = [*self._trail[: level - 1], title]
        self.point_outline(level, title)
        self.show(LEFT, self._y, title, size, bold=True)
        self._y += size + 4
        if kind:
            self.parts.append(Part(" > ".join(self._trail), kind, self.page))

    def point_outline(self, level: int, title: str) -> None:
        """To the next line, whether that says so or not."""
        self.outline.append([level, title, self.page, {"kind": 1, "to": _MUPDF.Point(LEFT, self._y - SIZE)}])

    def paragraph(self, text: str, *, label: str = "", indent: float = 0, goes_on: bool = False) -> None:
        """`goes_on`: a point of the stretch before it."""
        hang = 18.0 if label else 0.0
        rows = list(broken(text, RIGHT - LEFT - indent - hang))
        for number, row in enumerate(rows):
            if self._y > BOTTOM:
                self.break_page()
            if number == 0:
                self._begin(f"{label} {text}".strip(), goes_on=goes_on)
                if label:
                    self.show(LEFT + indent, self._y, label)
            self.show(LEFT + indent + hang, self._y, row)
            self._y += PITCH
        if self.parts:
            self.parts[-1].stretches[-1].page_end = self.page
        self._y += 0 if label else 5

    def _begin(self, text: str, *, goes_on: bool) -> None:
        if not self.parts:
            return
        stretches = self.parts[-1].stretches
        if goes_on:
            stretches[-1].text += f" {text}"
        else:
            stretches.append(Stretch(text, self.page))


def broken(text: str, width: float) -> Iterator[str]:
    """Rows of at most this width; long words are broken with a hyphen, and compounds after theirs."""
    row: list[str] = []
    room = width
    for word in text.split():
        if _width(word) > room:
            head, tail = _broken_word(word, room)
            yield " ".join([*row, head]).strip()
            row, room, word = [], width, tail
        row.append(word)
        room -= _width(word) + _width(" ")
    yield " ".join(row)


def _broken_word(word: str, room: float) -> tuple[str, str]:
    cuts = range(len(word) - 4, 3, -1) if word.isalpha() else [word.find("-") + 1] if "-" in word else []
    for cut in cuts:
        head = word[:cut] if word[cut - 1] == "-" else f"{word[:cut]}-"
        if _width(head) <= room:
            return head, word[cut:]
    return "", word


@cache
def _width(text: str) -> float:
    widths = _widths()
    return sum(widths[character] for character in text)


@cache
def _widths() -> dict[str, float]:
    font = _MUPDF.Font("helv")
    return {chr(code): font.text_length(chr(code), fontsize=SIZE) for code in range(32, 127)}


class Writer:
    """Invented sentences, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        counts = self._random.choices(range(1, 6), k=4000)
        self._vocabulary = ["".join(self._random.choices(_SYLLABLES, k=count)) for count in counts]

    def word(self) -> str:
        return self._random.choice(self._vocabulary)

    def name(self) -> str:
        return f"{self.word().title()}{self.word()} Disorder"

    def sentence(self, words: int = 14) -> str:
        chosen = self._random.choices(self._vocabulary, k=self._random.randint(words // 2, words))
        if len(chosen) > 6:
            chosen[3] = "self-critical"
        return " ".join(chosen).capitalize() + "."

    def text(self, sentences: int) -> str:
        return " ".join(self.sentence() for _ in range(sentences))


def typeset(
    disorders: int, *, look: Look | None = None, narrative: int = 12, running: Running = head_and_foot
) -> Press:
    """Some 3 pages a disorder with 12 sentences in each paragraph of the narrative."""
    press = Press(look, running=running)
    writer = Writer(disorders)
    _front(press)
    chapter = ""
    for number in range(disorders):
        if number % DISORDERS_A_CHAPTER == 0:
            chapter = f"{writer.word().title()} and {writer.word().title()} Conditions"
            press.break_page()
            press.heads = chapter, chapter
            with_text = press.look.chapter >= press.look.name
            press.heading(1, chapter, kind="introduction" if with_text else "")
            if with_text:
                press.paragraph(writer.text(6))
        _disorder(press, writer, chapter, number, narrative)
    return press


def _front(press: Press) -> None:
    press.show(LEFT, 300, TITLE, 28, bold=True)
    press.show(LEFT, 340, "An example for tests", 16)
    press.break_page()
    press.show(LEFT, TOP, "Contents", 20, bold=True)
    for row in range(12):
        press.show(
            LEFT, TOP + 40 + 20 * row, f"Conditions of Kind {row} " + "." * 40 + f" {row * 7 + 1}", 12, bold=True
        )


def _contents_row(row: int) -> str:
    return f"Conditions of Kind {row} {'.' * 40 if row % 2 else ' ' * 20} {row * 7 + 1}"


def _disorder(press: Press, writer: Writer, chapter: str, number: int, narrative: int) -> None:
    name = f"{writer.name()} {number}"
    press.heads = chapter, name
    press.heading(2, name, kind="introduction")
    press.paragraph(writer.text(2))
    press.heading(3, CRITERIA, kind="criteria")
    criteria(press, writer, over_limit=number % LONG_EVERY == 0)
    press.heading(3, "Specifiers", kind="criteria")
    press.paragraph(writer.text(4))
    press.paragraph(writer.text(4))
    press.heading(3, NARRATIVE[0], kind="narrative")
    for _ in range(4):
        press.paragraph(writer.text(narrative))
    press.heading(3, UNKNOWN, kind="unknown")
    press.paragraph(writer.text(3))
    for title in NARRATIVE[1:]:
        press.heading(3, title, kind="narrative")
        press.paragraph(writer.text(narrative))
    press.heading(3, "Recording Procedures", kind="criteria")
    press.paragraph(writer.text(3))


def criteria(press: Press, writer: Writer, *, over_limit: bool) -> None:
    press.paragraph(writer.sentence() + " " + writer.sentence(), label="A.")
    for point in range(1, 6):
        press.paragraph(writer.sentence(), label=f"{point}.", indent=18, goes_on=True)
    for letter in "BCDE":
        press.paragraph(writer.text(40 if over_limit and letter == "C" else 2), label=f"{letter}.")


def in_unicode(*rows: tuple[str, float]) -> bytes:
    """One page of rows with their sizes, the larger ones bold, in a font that has ligatures."""
    document = _MUPDF.Document()
    page = document.new_page()
    writer = _MUPDF.TextWriter(page.rect)
    y = TOP
    for text, size in rows:
        writer.append((LEFT, y), text, font=_MUPDF.Font("hebo" if size > SIZE else "helv"), fontsize=size)
        y += 1.3 * size
    writer.write_text(page)
    return bytes(document.tobytes())


def blank(pages: int) -> bytes:
    """By hand: PyMuPDF takes seconds for thousands of pages."""
    kids = " ".join(f"{number} 0 R" for number in range(3, pages + 3))
    objects = ["<</Type/Catalog/Pages 2 0 R>>", f"<</Type/Pages/Kids[{kids}]/Count {pages}/MediaBox[0 0 612 792]>>"]
    objects += ["<</Type/Page/Parent 2 0 R>>"] * pages
    data, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        places.append(len(data))
        data += f"{number} 0 obj{content}endobj\n".encode()
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    end = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer<</Root 1 0 R/Size {len(objects) + 1}>>\n"
    return data + f"{end}startxref\n{len(data)}\n%%EOF\n".encode()


def scanned(pages: int, stamp: str = "") -> bytes:
    """Pages that are pictures, with a line of text below them if there is a stamp."""
    document = _MUPDF.Document()
    picture = _MUPDF.Pixmap(_MUPDF.csRGB, _MUPDF.IRect(0, 0, 60, 80), False)
    picture.clear_with(240)
    for _ in range(pages):
        page = document.new_page()
        page.insert_image(page.rect, pixmap=picture)
        if stamp:
            page.insert_text((LEFT, 760), stamp, fontsize=8)
    return bytes(document.tobytes())


def encrypted(data: bytes, user: str) -> bytes:
    document = _MUPDF.Document(stream=data, filetype="pdf")
    method = _MUPDF.PDF_ENCRYPT_AES_256
    return bytes(document.tobytes(encryption=method, owner_pw="owner", user_pw=user))
