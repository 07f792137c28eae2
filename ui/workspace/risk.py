"""Risk in one session: what was raised, in the patient's words; acknowledging it; stopping by hand.

What a click does is done in its callback. `if st.button(…)` may miss it: a run of the page that is just ending, such as
the look whether something has changed, takes the click away from the run that the click has begun.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime

import streamlit as st

from agents.risk import Level, Span
from errors import NotFoundError
from graph.scoring import flags_by_score
from graph.state import CheckPart, RiskRecord
from graph.view import View
from instruments.level1 import item_number, level1
from instruments.profile import SessionStatus
from storage.notices import Notice, Notices
from storage.raised import Raised, RaisedMessages
from ui.bench import workbench
from ui.guard import guarded
from ui.workspace.findings import flag_names, shown_score, turn_about
from ui.workspace.markup import address, badge, draw, linked, text
from ui.workspace.scores import quoted
from ui.workspace.transcript import joined, marked
from ui.workspace.who import who
from ui.workspace.words import rule_told

_ELLIPSIS_FROM = 400
_NOTE = "acknowledge-note"
_FAILED: dict[CheckPart, str] = {
    "rules": "the rules failed",
    "reader": "the second reader failed",
    "model": "the risk model was not available",
}


def show_banner(view: View) -> None:
    if view.profile.session_status is SessionStatus.TERMINATED:
        st.error(
            "This session was stopped for safety. The patient saw the safety script and nothing after it; "
            "no further message is answered.",
            icon=":material/front_hand:",
        )


def show_risks(view: View) -> None:
    """What was raised, and beside it the form while somebody is yet to look at it."""
    of_session = Notices(workbench().database).of_session(view.session_id)
    flags = flag_names(view.profile.risk_flags)
    apart = _apart(view)
    if not flags and not view.risks and not of_session and not apart:
        draw('<p class="soft">No risk flag is set.</p>')
        return
    rows = "".join(_risk(view, turn, record) for turn, record in sorted(view.risks.items(), reverse=True))
    rows = "".join(map(_refused, reversed(apart))) + rows + "".join(scored_flags(view))
    with st.container(border=True, key="risks"):
        unseen = [notice.raised_at for notice in of_session if notice.acknowledged_at is None]
        raised, seen = st.columns([3, 2], gap="medium") if unseen else (st.container(), None)
        with raised:
            draw(f"<h3>Risk: {text(', '.join(flags) or 'marked turns')}</h3>{rows}{_acknowledged(of_session)}")
        if seen:
            with seen:
                _form(view.session_id, max(unseen))


def _risk(view: View, turn: int, record: RiskRecord) -> str:
    said = next((line.text for line in reversed(view.lines) if line.turn == turn and line.role == "patient"), "")
    degraded = f", {not_had(record)}" if record.degraded else ""
    turn_link = linked(f"turn {turn}", address(view.session_id, "chat", turn))
    told = f'<span class="soft">{rule_told(record.rule, record.level)}{degraded}</span>'
    words = f"“{_excerpt(said, record.spans, record.level)}”" if said.strip() else _unsaid(record)
    body = f"<div>{turn_link} · {told}<div>{words}</div></div>"
    return f'<div class="cc-risk">{badge(record.level, record.level)}{body}</div>'


def scored_flags(view: View) -> Iterator[str]:
    """Flags that only a score has set: the check found nothing in the words themselves."""
    for response in view.profile.item_responses:
        item = item_number(response.item_id)
        turn = turn_about(item, view.lines)
        flags = flag_names(flags_by_score(item, response.score, response.ambiguity))
        if flags and turn is not None and turn not in view.risks:
            where = linked(f"turn {turn}", address(view.session_id, "chat", turn))
            score = f"{response.item_id} {level1().item(item).topic}: {shown_score(response)}"
            told = f'<span class="soft">{text(", ".join(flags))}, by the score of {text(score)}</span>'
            quotes = " ".join(quoted(view, words, item) for words in response.evidence_quotes)
            yield f'<div class="cc-risk">{badge("flag", "flag")}<div>{where} · {told}<div>{quotes}</div></div></div>'


def not_had(record: RiskRecord) -> str:
    """What a degraded check had to do without; records from before that was kept do not tell."""
    return " and ".join(_FAILED[part] for part in record.failed) or "part of the check was not available"


def _unsaid(record: RiskRecord) -> str:
    return "stopped by hand" if record.rule == "clinician" else ""


def _apart(view: View) -> list[Raised]:
    """What the patient wrote that is no turn of the conversation; the same message sent twice is not told twice."""
    said = {line.text for line in view.lines if line.role == "patient"}
    return [one for one in RaisedMessages(workbench().database).refused(view.session_id) if one.text not in said]


def _refused(raised: Raised) -> str:
    spans = tuple(Span(start=start, end=end, cue=raised.rule) for start, end in raised.spans)
    level: Level = "stop" if raised.level == "stop" else "flag"
    sent = f"written {raised.at.astimezone():%d %b, %H:%M}, not part of the conversation"
    told = f'<span class="soft">{sent} · {rule_told(raised.rule, level)}</span>'
    words = f"<div>“{_excerpt(raised.text, spans, level)}”</div>" if raised.text.strip() else ""
    return f'<div class="cc-risk">{badge(level, level)}<div>{told}{words}</div></div>'


def _excerpt(said: str, spans: tuple[Span, ...], level: str) -> str:
    """The marked words with what stands around them; of a long message those that weigh most come first."""
    if len(said) <= _ELLIPSIS_FROM or not spans:
        return marked(said, spans, level)
    places = joined(spans, len(said))
    places.sort(key=lambda place: min(n for n, s in enumerate(spans) if s.end > place[0] and s.start < place[1]))
    return " … ".join(f'<mark class="{level}">{text(said[start:end])}</mark>' for start, end in places)


def _form(session_id: str, seen: datetime) -> None:
    with st.form("acknowledge", border=False):
        st.text_area("Note", key=_NOTE, help="Encrypted; kept with the acknowledgement.", height=80)
        st.form_submit_button(
            "Acknowledge",
            type="primary",
            help="Says that you have looked at this.",
            on_click=_acknowledge,
            args=(session_id, seen),
        )


def _acknowledge(session_id: str, seen: datetime) -> None:
    """In the callback, where a click is never lost; of a second one, as of a double click, nothing is left to do.

    What was raised after the page was drawn stays open.
    """
    note = st.session_state.get(_NOTE) or ""
    with guarded(), suppress(NotFoundError):
        Notices(workbench().database).acknowledge(session_id, by=who(), note=note, seen=seen)


def _acknowledged(notices: list[Notice]) -> str:
    """A line an act: it closes all notices that are open at that moment."""
    acts = dict.fromkeys((n.acknowledged_at, n.acknowledged_by, n.note) for n in notices if n.acknowledged_at)
    return "".join(
        f'<p class="soft">Acknowledged by {text(by)}, {at.astimezone():%d %b, %H:%M}'
        f"{f': {text(note)}' if note else ''}</p>"
        for at, by, note in acts
        if at
    )


def offer_stop(view: View) -> None:
    """Two steps. The first is kept while the page is drawn again because the patient writes."""
    if view.profile.session_status is SessionStatus.TERMINATED:
        return
    with st.popover("Stop for safety", icon=":material/front_hand:", key="stop-for-safety"):
        sure = st.checkbox("The patient shall see the safety script at once. This cannot be undone.", key="stop-sure")
        st.button(
            "Stop now", type="primary", disabled=not sure, key="stop-now", on_click=_stop, args=(view.session_id,)
        )


def _stop(session_id: str) -> None:
    with guarded():
        workbench().runtime.stop(session_id)
