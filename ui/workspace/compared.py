"""Differences in words: between two states of a session, and between a copy's outcome and the session's."""

from __future__ import annotations

from graph.comparison import Change, Comparison, Highest, Position, SaidLine, Scored, StateDiff, shown
from instruments.level1 import item_id, item_number, level1
from ui.workspace.findings import ambiguity
from ui.workspace.markup import badge, text

_STATUS = {"active": "in progress", "completed": "completed", "terminated_for_safety": "stopped for safety"}
_FLAGS = {
    "suicidalityMentioned": "suicidality mentioned",
    "selfHarmIdeation": "self-harm ideation",
    "violenceRisk": "risk of violence",
    "substanceAbuseSignal": "substance signal",
}
_AWAITED = {"nothing": "", "answer": "the answer to", "follow_up": "the answer to the follow-up on"}


def told(diff: StateDiff) -> str:
    """List items; nothing when nothing changed."""
    lines = [f"{_item(item)}: {_scores(change)}" for item, change in diff.scores.items()]
    lines += [f"flag set: {text(_FLAGS.get(name, name))}" for name in diff.flags_set]
    lines += [f"flag cleared: {text(_FLAGS.get(name, name))}" for name in diff.flags_cleared]
    if diff.status:
        lines.append(f"status: {_status(diff.status.before)} → <b>{_status(diff.status.after)}</b>")
    if diff.cursor:
        lines.append(f"waits for: {_waits(diff.cursor.before)} → <b>{_waits(diff.cursor.after)}</b>")
    lines += [_said("said", line) for line in diff.lines_added]
    lines += [_said("no longer said", line) for line in diff.lines_removed]
    return "".join(f"<li>{line}</li>" for line in lines)


def compared(comparison: Comparison) -> str:
    table = "".join(
        _row(_item(item), _or_none(change.before), _or_none(change.after)) for item, change in comparison.scores.items()
    )
    table += "".join(
        _row(f"{text(name)}, highest", _or_none(change.before), _or_none(change.after))
        for name, change in comparison.domains.items()
    )
    flags = [badge(f"gained: {_FLAGS.get(name, name)}", "flag") for name in comparison.flags_gained]
    flags += [badge(f"lost: {_FLAGS.get(name, name)}") for name in comparison.flags_lost]
    ended = comparison.status
    status = f"<p>{_status(ended.before)} → <b>{_status(ended.after)}</b></p>" if ended else ""
    head = "<thead><tr><th>Differs in</th><th>Session</th><th>Copy</th></tr></thead>"
    rows = f"<table>{head}<tbody>{table}</tbody></table>" if table else ""
    return f"{status}{' '.join(flags)}{rows}" or '<p class="soft">The outcome is the same.</p>'


def _row(name: str, before: str, after: str) -> str:
    return f"<tr><td>{name}</td><td>{before}</td><td><b>{after}</b></td></tr>"


def _item(identifier: str) -> str:
    return text(f"{identifier} {level1().item(item_number(identifier)).topic}")


def _waits(place: Position) -> str:
    what = _AWAITED[place.awaiting]
    return f"{what} {_item(item_id(place.item))} (turn {place.turn})" if place.item and what else "nothing"


def _scores(change: Change[Scored | None]) -> str:
    return f"{_or_none(change.before)} → <b>{_or_none(change.after)}</b>"


def _or_none(scored: Scored | Highest | None) -> str:
    if isinstance(scored, Scored):
        return f"{shown(scored.score, undetermined=scored.undetermined)}, {ambiguity(scored.ambiguity)}"
    return text(scored) if scored else "none"


def _status(status: str) -> str:
    return text(_STATUS[status])


def _said(what: str, line: SaidLine) -> str:
    return f'{what} in turn {line.turn}, {text(line.role)}: <span class="text">“{text(line.text)}”</span>'
