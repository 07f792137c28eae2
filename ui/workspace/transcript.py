"""The conversation as one element, however long it is: turn by turn, what the risk check saw marked in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby

from agents.risk import Span
from graph.state import Line, RiskRecord
from graph.view import View
from instruments.level1 import item_id, level1
from ui.workspace.markup import text

_WHO = {"interviewer": "Interviewer", "patient": "Patient"}
_ASIDES = {"aside": "not an answer", "follow_up": "follow-up", "pause": "pause", "safety_script": "safety script"}
_WORD_MILLISECONDS = 45


@dataclass(frozen=True)
class Marks:
    """What is drawn into a transcript: a turn that was chosen, the line that has just come, and HTML by turn."""

    chosen: int | None = None
    fresh: Line | None = None
    notes: Mapping[int, str] = field(default_factory=dict)


def transcript(view: View, marks: Marks | None = None) -> str:
    turns = groupby(view.lines, key=lambda line: line.turn)
    drawn = (_turn(number, [*lines], view.risks.get(number), marks or Marks()) for number, lines in turns)
    return f'<ol class="cc-turns">{"".join(drawn)}</ol>'


def fresh_line(view: View, seen: int) -> Line | None:
    """The newest question, when it came after the turn that was seen."""
    newest = view.lines[-1] if view.lines else None
    return newest if newest and newest.turn > seen and newest.role == "interviewer" else None


def _turn(number: int, lines: list[Line], risk: RiskRecord | None, marks: Marks) -> str:
    is_chosen = number == marks.chosen
    kinds = ["cc-turn", *([risk.level] if risk else []), *(["chosen"] if is_chosen else [])]
    current = ' aria-current="true"' if is_chosen else ""
    said = "".join(_said(line, risk, fresh=line is marks.fresh) for line in lines)
    head = f'<div class="soft">{" · ".join(_head(number, lines))}</div>'
    note = marks.notes.get(number, "")
    return f'<li id="turn-{number}" class="{" ".join(kinds)}"{current}>{head}{said}{note}</li>'


def _head(number: int, lines: list[Line]) -> Iterator[str]:
    yield f"Turn {number}"
    if item := next((line.item for line in reversed(lines) if line.item), 0):
        yield text(f"{item_id(item)} {level1().item(item).topic}")
    yield from dict.fromkeys(text(_ASIDES[line.kind]) for line in lines if line.kind in _ASIDES)
    yield text(f"{lines[-1].at.astimezone():%H:%M}")


def _said(line: Line, risk: RiskRecord | None, *, fresh: bool) -> str:
    if line.role == "patient" and risk:
        shown = marked(line.text, risk.spans, risk.level)
    else:
        shown = _word_by_word(line.text) if fresh else text(line.text)
    who = f'<span class="cc-who">{_WHO[line.role]}: </span>'
    return f'<div class="cc-said {line.role}">{who}<span class="text">{shown}</span></div>'


def marked(said: str, spans: tuple[Span, ...], level: str) -> str:
    """The text with the spans marked; where they overlap, as one."""
    parts, at = [], 0
    for start, end in joined(spans, len(said)):
        parts += [text(said[at:start]), f'<mark class="{level}">{text(said[start:end])}</mark>']
        at = end
    return "".join([*parts, text(said[at:])])


def joined(spans: tuple[Span, ...], length: int) -> list[tuple[int, int]]:
    """Where spans stand, in order; those that overlap are one."""
    found: list[tuple[int, int]] = []
    for start, end in sorted((max(0, s.start), min(s.end, length)) for s in spans):
        if start >= end:
            continue
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def _word_by_word(said: str) -> str:
    words = said.split(" ")
    return " ".join(
        f'<span class="word" style="animation-delay:{n * _WORD_MILLISECONDS}ms">{text(word)}</span>'
        for n, word in enumerate(words)
    )
