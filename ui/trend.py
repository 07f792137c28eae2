"""How the domains of one client change: the highest item of each, one column an interview."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from agents.report.domains import DomainRow, domain_rows
from storage.sessions import Session
from ui.bench import workbench
from ui.workspace.markup import draw, draw_style, text
from ui.workspace.reviewing import overlay

_MOST_SHOWN = 6


def show_trend(session_ids: Sequence[str]) -> None:
    """A session that was stopped or goes on has no column: its domains are not known yet."""
    sessions = [workbench().runtime.sessions.get(session_id) for session_id in session_ids]
    done = [session for session in sessions if session.status == "completed"]
    if len(done) < 2:
        st.caption("A second completed interview with the same label shows here how the domains change.")
        return
    st.markdown("**The domains over this client’s interviews**")
    draw_style()
    draw(trend([(_dated(session), _rows(session)) for session in done[-_MOST_SHOWN:]]), "cc-trend")
    left_out = f" The newest {_MOST_SHOWN} of {len(done)} interviews." if len(done) > _MOST_SHOWN else ""
    st.caption(
        f"The highest item of each domain, 0 to 4; framed where it reaches the threshold for further inquiry, "
        f"? where it is not determined.{left_out}"
    )


def trend(interviews: Sequence[tuple[str, Sequence[DomainRow]]]) -> str:
    head = "".join(f'<th scope="col">{text(when)}</th>' for when, _ in interviews)
    domains = zip(*(rows for _, rows in interviews), strict=True)
    body = "".join(f'<tr><th scope="row">{text(rows[0].name)}</th>{"".join(map(_cell, rows))}</tr>' for rows in domains)
    return f'<table><thead><tr><th scope="col">Domain</th>{head}</tr></thead><tbody>{body}</tbody></table>'


def _cell(row: DomainRow) -> str:
    if row.undetermined:
        return '<td><span title="not determined: an item is missing or unclear">?</span></td>'
    told = "further inquiry" if row.reached else "below the threshold"
    kind = f"level-{row.highest}{' reached' if row.reached else ''}"
    return f'<td><span class="{kind}" title="{told}">{row.highest}</span></td>'


def _dated(session: Session) -> str:
    return f"{session.created_at.astimezone():%d %b %Y, %H:%M}"


def _rows(session: Session) -> list[DomainRow]:
    """As it stands once the therapist has corrected it."""
    return list(domain_rows(overlay(workbench().runtime.view(session.id)).view.profile))
