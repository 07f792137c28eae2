"""Risk in one session: what was raised, in the patient's words; acknowledging it; stopping by hand."""

from __future__ import annotations

import streamlit as st

from errors import NotFoundError
from graph.state import RiskRecord
from graph.view import View
from instruments.profile import SessionStatus
from storage.notices import Notice, Notices
from ui.bench import workbench
from ui.workspace.findings import flag_names
from ui.workspace.markup import address, badge, draw, linked, text
from ui.workspace.transcript import marked
from ui.workspace.who import who

_ELLIPSIS_FROM = 400


def show_banner(view: View) -> None:
    if view.profile.session_status is SessionStatus.TERMINATED:
        st.error(
            "This session was stopped for safety. The patient saw the safety script and nothing after it; "
            "no further message is answered.",
            icon=":material/front_hand:",
        )


def show_risks(view: View) -> None:
    """What was raised, and beside it the form while somebody is yet to look at it."""
    notices = Notices(workbench().database)
    of_session = notices.of_session(view.session_id)
    flags = flag_names(view.profile.risk_flags)
    if not flags and not view.risks and not of_session:
        draw('<p class="soft">No risk flag is set.</p>')
        return
    rows = "".join(_risk(view, turn, record) for turn, record in sorted(view.risks.items(), reverse=True))
    with st.container(border=True, key="risks"):
        is_open = any(notice.acknowledged_at is None for notice in of_session)
        raised, seen = st.columns([3, 2], gap="medium") if is_open else (st.container(), None)
        with raised:
            draw(f"<h3>Risk: {text(', '.join(flags) or 'marked turns')}</h3>{rows}{_acknowledged(of_session)}")
        if seen:
            with seen:
                _form(notices, view.session_id)


def _risk(view: View, turn: int, record: RiskRecord) -> str:
    said = next((line.text for line in reversed(view.lines) if line.turn == turn and line.role == "patient"), "")
    degraded = ", the risk model was not available" if record.degraded else ""
    turn_link = linked(f"turn {turn}", address(view.session_id, "chat", turn))
    told = f'<span class="soft">rule {text(record.rule)}{degraded}</span>'
    words = f"“{_excerpt(said, record)}”" if said.strip() else "stopped by hand" if record.rule == "clinician" else ""
    body = f"<div>{turn_link} · {told}<div>{words}</div></div>"
    return f'<div class="cc-risk">{badge(record.level, record.level)}{body}</div>'


def _excerpt(said: str, record: RiskRecord) -> str:
    """The marked words with what stands around them."""
    if len(said) <= _ELLIPSIS_FROM or not record.spans:
        return marked(said, record.spans, record.level)
    return " … ".join(f'<mark class="{record.level}">{text(said[s.start : s.end])}</mark>' for s in record.spans)


def _form(notices: Notices, session_id: str) -> None:
    with st.form("acknowledge", border=False):
        note = st.text_area("Note", key="acknowledge-note", help="Encrypted; kept with the acknowledgement.", height=80)
        if st.form_submit_button("Acknowledge", type="primary", help="Says that you have looked at this."):
            try:
                notices.acknowledge(session_id, by=who(), note=note)
            except NotFoundError:
                st.info("Somebody else has acknowledged this meanwhile.")
                return
            st.rerun()


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
        if st.button("Stop now", type="primary", disabled=not sure, key="stop-now"):
            workbench().runtime.stop(view.session_id)
            st.rerun()
