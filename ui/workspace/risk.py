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

_ELLIPSIS_FROM = 400


def show_banner(view: View) -> None:
    if view.profile.session_status is SessionStatus.TERMINATED:
        st.error(
            "This session was stopped for safety. The patient saw the safety script and nothing after it; "
            "no further message is answered.",
            icon=":material/front_hand:",
        )


def show_risks(view: View) -> None:
    flags = flag_names(view.profile.risk_flags)
    if not flags and not view.risks:
        st.caption("No risk flag is set.")
        return
    rows = "".join(_risk(view, turn, record) for turn, record in sorted(view.risks.items(), reverse=True))
    with st.container(border=True, key="risks"):
        draw(f"<h3>Risk: {text(', '.join(flags) or 'marked turns')}</h3>{rows}")


def _risk(view: View, turn: int, record: RiskRecord) -> str:
    said = next((line.text for line in reversed(view.lines) if line.turn == turn and line.role == "patient"), "")
    degraded = ", the risk model was not available" if record.degraded else ""
    turn_link = linked(f"turn {turn}", address(view.session_id, "chat", turn))
    told = f'<span class="soft">rule {text(record.rule)}{degraded}</span>'
    words = f"“{_excerpt(said, record)}”" if said.strip() else "stopped by hand" if record.rule == "clinician" else ""
    return f'<div class="cc-risk">{badge(record.level, record.level)}<div>{turn_link} · {told}<div>{words}</div></div></div>'


def _excerpt(said: str, record: RiskRecord) -> str:
    """The marked words with what stands around them."""
    if len(said) <= _ELLIPSIS_FROM or not record.spans:
        return marked(said, record.spans, record.level)
    return " … ".join(f'<mark class="{record.level}">{text(said[s.start : s.end])}</mark>' for s in record.spans)


def show_acknowledgement(view: View) -> None:
    """The form while something is open; afterwards who has seen to it, and what was noted."""
    notices = Notices(workbench().database)
    of_session = notices.of_session(view.session_id)
    if any(notice.acknowledged_at is None for notice in of_session):
        _form(notices, view.session_id)
    _show_acknowledged(of_session)


def _form(notices: Notices, session_id: str) -> None:
    with st.form("acknowledge"):
        st.markdown("**This session waits for somebody to have looked at it.**")
        note = st.text_area("Note", key="acknowledge-note", help="Encrypted; kept with the acknowledgement.", height=80)
        if st.form_submit_button("Acknowledge", type="primary"):
            try:
                notices.acknowledge(session_id, by="therapist", note=note)
            except NotFoundError:
                st.info("Somebody else has acknowledged this meanwhile.")
                return
            st.rerun()


def _show_acknowledged(notices: list[Notice]) -> None:
    """One line an act: it closes all notices that are open at that moment."""
    acts = dict.fromkeys((n.acknowledged_at, n.acknowledged_by, n.note) for n in notices if n.acknowledged_at)
    for at, by, note in acts:
        when = f"{at.astimezone():%d %b, %H:%M}" if at else ""
        said = f': <span class="text">{text(note)}</span>' if note else ""
        draw(f'<p class="soft">Acknowledged by {text(by)}, {when}{said}</p>')


def offer_stop(view: View) -> None:
    """Two steps. The first is kept while the page is drawn again because the patient writes."""
    if view.profile.session_status is SessionStatus.TERMINATED:
        return
    with st.popover("Stop for safety", icon=":material/front_hand:", key="stop-for-safety"):
        sure = st.checkbox("The patient shall see the safety script at once. This cannot be undone.", key="stop-sure")
        if st.button("Stop now", type="primary", disabled=not sure, key="stop-now"):
            workbench().runtime.stop(view.session_id)
            st.rerun()
