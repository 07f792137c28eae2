"""Above the tabs: whose session this is, how far it has come, and what cannot wait."""

from __future__ import annotations

import streamlit as st

from graph.view import View
from instruments.level1 import level1
from instruments.profile import SessionStatus
from storage.clients import ClientLabels
from storage.sessions import Session
from ui.bench import workbench
from ui.routes import link_to_home
from ui.workspace.findings import flag_names
from ui.workspace.markup import address, badge, draw, linked, text
from ui.workspace.risk import offer_stop

_STATUS = {
    SessionStatus.ACTIVE: ("in progress", ""),
    SessionStatus.COMPLETED: ("completed", "good"),
    SessionStatus.TERMINATED: ("stopped for safety", "stop"),
}
_SHORT = 8


def show_head(view: View) -> None:
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        link_to_home()
        offer_stop(view)
    session = workbench().runtime.sessions.get(view.session_id)
    draw(f"<h1>{text(_name(session))}</h1>{''.join(_badges(view, session))}{_progress(view)}", "cc-head")


def _name(session: Session) -> str:
    """The therapist's own name for the client, where there is one."""
    short = f"Session {session.id[:_SHORT]}"
    return ClientLabels(workbench().database).of([session.id]).get(session.id, short)


def _badges(view: View, session: Session) -> list[str]:
    label, kind = _STATUS[view.profile.session_status]
    badges = [badge("paused by the patient" if view.paused and view.open else label, kind), badge(view.mode)]
    if session.persona:
        badges.append(badge(f"synthetic patient {session.persona}"))
    badges += [badge(name, "flag") for name in flag_names(view.profile.risk_flags)]
    if session.parent_id:
        origin = linked("the session it was forked from", address(session.parent_id, "replay"))
        badges.append(f'<span class="soft">a copy for looking back; {origin}</span>')
    return badges


def _progress(view: View) -> str:
    total = len(level1().items)
    width = round(100 * view.items_completed / total)
    begun = view.lines[0].at.astimezone() if view.lines else None
    when = f" · begun {begun:%d %b %Y, %H:%M}" if begun else ""
    bar = f'<span class="cc-bar"><span style="width:{width}%"></span></span>'
    return (
        f'<div class="cc-progress"><span class="soft">{view.items_completed} of {total} items{when}</span>{bar}</div>'
    )
