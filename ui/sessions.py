"""The sessions: what needs attention first, a search, and the way to a new interview."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from instruments.level1 import level1
from storage.clients import ClientLabels
from storage.notices import Notices
from storage.sessions import NOBODYS, Session
from ui import live, managing, starting
from ui.access import User
from ui.bench import workbench
from ui.guard import guarded
from ui.identity import me
from ui.markdown import plain
from ui.routes import LIVE, MANAGE, link_to_management, link_to_session

_STATUS = {
    "active": ":blue-badge[in progress]",
    "completed": ":green-badge[completed]",
    "terminated_for_safety": ":red-badge[stopped for safety]",
}
_SPOKEN = {"active": "in progress", "completed": "completed", "terminated_for_safety": "stopped for safety"}
FLAG_NAMES = {
    "suicidalityMentioned": "suicidality",
    "selfHarmIdeation": "self-harm",
    "violenceRisk": "violence",
    "substanceAbuseSignal": "substances",
}
_TICK_SECONDS, _IDLE_SECONDS = 3.0, 30.0
_AT_MOST, _AT_ONCE = 1000, 20


@dataclass(frozen=True)
class Row:
    """`waits` is the kind of an open notice; `label` the client's."""

    session: Session
    label: str | None
    waits: str | None

    @property
    def urgency(self) -> int:
        return {"stop": 0, "flag": 1}.get(self.waits or "", 2)

    def matches(self, words: str) -> bool:
        known = f"{self.label or ''} {self.session.id} {_SPOKEN[self.session.status]} {self.session.persona or ''}"
        return all(word in known.casefold() for word in words.casefold().split())


def show() -> None:
    user = me()
    if session_id := st.query_params.get(LIVE):
        live.show(session_id)
        return
    rows = _rows(user)
    if user.roles == {"admin"}:
        st.title("Sessions", anchor=False)
    elif rows:
        _show_own(user, rows)
    else:
        starting.greet(user)
    if user.is_admin and not user.is_local:
        _show_everybodys(user)
    if session_id := st.query_params.get(MANAGE):
        managing.open_panel(session_id)


def _show_own(user: User, rows: list[Row]) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom", horizontal_alignment="distribute"):
        st.title("Sessions", anchor=False)
        if st.button("New interview", type="primary", icon=":material/add:"):
            starting.open_form(user)
    _show_list(user, rows)


def _rows(user: User) -> list[Row]:
    """What needs a person comes first, then the newest."""
    sessions = workbench().runtime.sessions.newest(_AT_MOST, owner=None if user.is_local else user.owner)
    waits = {notice.session_id: notice.kind for notice in reversed(Notices(workbench().database).unacknowledged())}
    labels = ClientLabels(workbench().database).of([session.id for session in sessions])
    rows = [Row(session, labels.get(session.id), waits.get(session.id)) for session in sessions]
    return sorted(rows, key=lambda row: row.urgency)


def _show_list(user: User, rows: list[Row]) -> None:
    words = st.text_input(
        "Search", placeholder="client, status, persona or session id", icon=":material/search:", key="search"
    )
    shown = st.session_state.get("shown", _AT_ONCE)
    found = [row for row in rows if row.matches(words)]
    busy = any(row.session.status == "active" for row in found[:shown])
    # Only links are drawn inside: a button that is drawn again while it is clicked may lose the click.
    st.fragment(_tick, run_every=_TICK_SECONDS if busy else _IDLE_SECONDS)(user, words, shown)
    if len(found) > shown:
        st.button(f"Show more ({len(found) - shown} left)", on_click=_show_more, args=(shown,))


def _show_more(shown: int) -> None:
    st.session_state["shown"] = shown + _AT_ONCE


def _tick(user: User, words: str, shown: int) -> None:
    with guarded():
        found = [row for row in _rows(user) if row.matches(words)]
        if not found:
            st.info("No session matches this search." if words else "There is no session of yours yet.")
        for row in found[:shown]:
            _show_row(row)


def _show_row(row: Row) -> None:
    session = row.session
    with st.container(border=True, key=f"row-{session.id}"):
        with st.container(horizontal=True, horizontal_alignment="distribute", key=f"title-{session.id}"):
            link_to_session(session.id, f"**{plain(title(row))}**", icon=":material/chat:")
            link_to_management(session.id)
        st.markdown(f"{_mark(row)} {_STATUS[session.status]} {_progress(session)} {_flags(session)}")


def title(row: Row) -> str:
    begun = row.session.created_at.astimezone().strftime("%d %b %Y, %H:%M")
    who = row.label or (f"Persona {row.session.persona}" if row.session.persona else "")
    return f"{who} · {begun}" if who else begun


def _mark(row: Row) -> str:
    seen_to = {"stop": ":red-badge[:material/priority_high: stop, not acknowledged]", "flag": ":orange-badge[new flag]"}
    return seen_to.get(row.waits or "", "")


def _progress(session: Session) -> str:
    return f"{session.items_completed} of {len(level1().items)} items"


def _flags(session: Session) -> str:
    return " ".join(f":orange-badge[{FLAG_NAMES.get(flag, flag)}]" for flag in session.flags)


def _show_everybodys(user: User) -> None:
    """That there are sessions, and whose; nothing of what is in them."""
    st.subheader("All sessions of this installation", anchor=False)
    st.caption("As an admin you see that a session exists, and can delete it. What was said in it stays its owner’s.")
    for session in workbench().runtime.sessions.newest(_AT_ONCE * 5):
        with st.container(border=True, horizontal=True, vertical_alignment="center"):
            begun = session.created_at.astimezone().strftime("%d %b %Y, %H:%M")
            st.markdown(f"{begun} · {_SPOKEN[session.status]}, {_progress(session)}")
            st.text(_whose(session, user))
            link_to_management(session.id)


def _whose(session: Session, user: User) -> str:
    if session.owner in NOBODYS:
        return "nobody’s"
    return "yours" if session.owner == user.owner else str(session.owner)
