"""The conversation as one element, however long it is: turn by turn, what the risk check saw marked in it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from agents.risk import Span
from graph.state import Line, RiskRecord
from graph.view import View
from instruments.level1 import item_id, level1
from ui.workspace.markup import text

_WHO = {"interviewer": "Interviewer", "patient": "Patient"}
_ASIDES = {"aside": "not an answer", "follow_up": "follow-up", "pause": "pause", "safety_script": "safety script"}
_WORD_MILLISECONDS = 45


def transcript(view: View, *, chosen: int | None = None, seen: int | None = None, notes: dict[int, str] | None = None) -> str:
    """`chosen` is a turn to mark; what came after the turn `seen` appears word by word; `notes` are HTML by turn."""
    turns = groupby(view.lines, key=lambda line: line.turn)
    newest = view.lines[-1] if view.lines else None
    fresh = newest if newest and seen is not None and newest.turn > seen and newest.role == "interviewer" else None
    drawn = (_turn(n, [*lines], view.risks.get(n), n == chosen, fresh, (notes or {}).get(n, "")) for n, lines in turns)
    return f'<ol class="cc-turns">{"".join(drawn)}</ol>'


def _turn(number: int, lines: list[Line], risk: RiskRecord | None, is_chosen: bool, fresh: Line | None, note: str) -> str:
    kinds = ["cc-turn", *([risk.level] if risk else []), *(["chosen"] if is_chosen else [])]
    current = ' aria-current="true"' if is_chosen else ""
    said = "".join(_said(line, risk, fresh=line is fresh) for line in lines)
    head = f'<div class="soft">{" · ".join(_head(number, lines))}</div>'
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
    for start, end in _joined(spans, len(said)):
        parts += [text(said[at:start]), f'<mark class="{level}">{text(said[start:end])}</mark>']
        at = end
    return "".join([*parts, text(said[at:])])


def _joined(spans: tuple[Span, ...], length: int) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, end in sorted((max(0, s.start), min(s.end, length)) for s in spans):
        if start >= end:
            continue
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _word_by_word(said: str) -> str:
    words = said.split(" ")
    return " ".join(
        f'<span class="word" style="animation-delay:{n * _WORD_MILLISECONDS}ms">{text(word)}</span>'
        for n, word in enumerate(words)
    )
