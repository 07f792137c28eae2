"""What one report says that another does not, word by word."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from benchmark.comparison.types import Run, SectionDiff
from instruments.tools import ReportSection

_WORD = re.compile(r"\n+|\S+")


def word_diff(before: str, after: str) -> tuple[Run, ...]:
    """Runs of words that both have, or only one; line breaks count as words, so that a table stays readable."""
    old, new = _WORD.findall(before), _WORD.findall(after)
    matcher = SequenceMatcher(None, old, new, autojunk=False)  # which would take frequent words for noise
    return tuple(run for code in matcher.get_opcodes() for run in _runs(code, old, new))


def section_diffs(before: Sequence[ReportSection], after: Sequence[ReportSection]) -> tuple[SectionDiff, ...]:
    """Section by section; the two reports have the same ones."""
    pairs = zip(before, after, strict=True)
    return tuple(SectionDiff(title=old.title, runs=word_diff(old.markdown, new.markdown)) for old, new in pairs)


def _runs(code: tuple[str, int, int, int, int], old: list[str], new: list[str]) -> Iterator[Run]:
    tag, old_from, old_to, new_from, new_to = code
    if tag == "equal":
        yield Run(kind="same", text=_joined(old[old_from:old_to]))
        return
    if old_from < old_to:
        yield Run(kind="removed", text=_joined(old[old_from:old_to]))
    if new_from < new_to:
        yield Run(kind="added", text=_joined(new[new_from:new_to]))


def _joined(words: list[str]) -> str:
    return re.sub(r" ?(\n+) ?", r"\1", " ".join(words))
