"""The sections of a book: from its outline, and from headings where the outline is missing or silent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from rag.headings import Mark, Style, headings, title_page
from rag.outline import outline_marks
from rag.pdf import Line, OutlineEntry
from rag.running import Measure
from rag.titles import Kind, is_container, is_known, kind_of, known_kind, letters

_RAISED = 0.1  # points, less than two sizes differ by


@dataclass(frozen=True)
class Section:
    """A heading and the text up to the next one; what stands below an inner heading is a section of its own."""

    titles: tuple[str, ...]
    page_start: int
    page_end: int
    lines: tuple[Line, ...]
    kind: Kind

    @property
    def path(self) -> str:
        return " > ".join(self.titles) or "(before the first heading)"


def find_sections(
    lines: Sequence[Line],
    outline: Sequence[OutlineEntry],
    usual: Measure,
    book: str = "",
    also: Sequence[OutlineEntry] = (),
) -> list[Section]:
    """In the book's order, those without any text left out. The title of the book is no step of a path.

    `also` are headings that somebody else found, in print that does not stand out.
    """
    marks = _marks(lines, outline, usual, also)
    trails = [trail[1:] if len(trail) > 1 and letters(trail[0]) == letters(book) else trail for trail in _trails(marks)]
    parents = {trail[:-1] for trail in trails}
    ends = [mark.start for mark in marks[1:]] + [len(lines)] * bool(marks)
    found = [_section((), 1, lines[: marks[0].start if marks else len(lines)], parents)]
    for mark, trail, end in zip(marks, trails, ends, strict=True):
        found.append(_section(trail, mark.page, lines[mark.end : end], parents))
    return _merged(section for section in found if section.lines)


def _section(trail: tuple[str, ...], page: int, lines: Sequence[Line], parents: set[tuple[str, ...]]) -> Section:
    titles = tuple(title for title in trail if not is_container(title)) or trail[-1:]
    kind = kind_of(titles) if trail else "matter"
    if kind == "unknown" and trail in parents:
        kind = "introduction"
    start = page if trail or not lines else lines[0].page
    return Section(titles, start, max((line.page for line in lines), default=start), tuple(lines), kind)


def _merged(sections: Iterable[Section]) -> list[Section]:
    """A heading that is repeated ("continued") does not begin a new section."""
    found: list[Section] = []
    for section in sections:
        if found and found[-1].titles == section.titles and section.titles:
            before = found.pop()
            end = max(before.page_end, section.page_end)
            section = Section(section.titles, before.page_start, end, before.lines + section.lines, section.kind)
        found.append(section)
    return found


def _trails(marks: Sequence[Mark]) -> list[tuple[str, ...]]:
    """The outline's levels rule; a heading that it does not have goes below whatever is set in a higher style."""
    stack: list[Mark] = []
    found = []
    for mark in marks:
        while stack and not _is_above(stack[-1], mark):
            stack.pop()
        stack.append(mark)
        found.append(tuple(entry.title for entry in stack))
    return found


def _is_above(upper: Mark, mark: Mark) -> bool:
    if upper.closed:
        return False
    if mark.level is not None:
        return upper.level is not None and upper.level < mark.level
    if upper.style is None or mark.style is None:
        return True
    return (*upper.style, upper.name) > (*mark.style, mark.name)


def _marks(
    lines: Sequence[Line], outline: Sequence[OutlineEntry], usual: Measure, also: Sequence[OutlineEntry]
) -> list[Mark]:
    marked = outline_marks(lines, outline, usual)
    taken = {index for mark in marked for index in range(mark.start, mark.end)}
    first_page = title_page(lines, usual)
    others = [mark for mark in outline_marks(lines, also, usual) if mark.end > mark.start]
    for mark in [*headings(lines, usual), *others]:
        if mark.page != first_page and taken.isdisjoint(range(mark.start, mark.end)):
            marked.append(mark)
            taken.update(range(mark.start, mark.end))
    marked.sort(key=lambda mark: (mark.start, mark.end))  # stable: on one spot, the outline's order
    return _ranked(marked)


def _ranked(marks: Sequence[Mark]) -> list[Mark]:
    """Adds what the style of a heading does not tell about its rank."""
    marks = [_raised(mark, below) for mark, below in pairwise([*marks, None]) if mark]
    shared = _styles_of_names(marks)
    usual = {mark.style for mark in marks if known_kind(mark.title) != "matter"}
    kinds = [known_kind(mark.title) for mark in marks]
    return [
        replace(
            mark,
            name=mark.style in shared and kind is None and below == "criteria",
            closed=mark.level is None and mark.style not in usual,
        )
        for mark, (kind, below) in zip(marks, pairwise([*kinds, None]), strict=True)
    ]


def _raised(mark: Mark, below: Mark | None) -> Mark:
    """A chapter's name in small print right above that of a disorder, in large print, is above it all the same."""
    if below is None or mark.style is None or below.style is None or is_known(mark.title):
        return mark
    over_it = mark.page == below.page and mark.end == below.start and mark.style < below.style
    return replace(mark, style=(below.style[0] + _RAISED, True)) if over_it else mark


def _styles_of_names(marks: Sequence[Mark]) -> set[Style]:
    """Where criteria mostly follow a heading in their own style, the names of disorders are set in that style."""
    follow: Counter[Style] = Counter()
    for above, mark in pairwise(marks):
        if mark.style and known_kind(mark.title) == "criteria" and not is_known(above.title):
            follow[mark.style] += 1 if above.style == mark.style else -1
    return {style for style, balance in follow.items() if balance > 0}
