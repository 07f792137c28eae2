"""The sessions: what needs attention first, a search, and the way to a new interview."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from errors import NotFoundError
from instruments.level1 import level1
from storage.clients import ClientLabels
from storage.notices import Notices
from storage.sessions import NOBODYS, Session, Wanted, Word
from ui import live, managing, starting
from ui.access import User
from ui.bench import workbench
from ui.guard import guarded
from ui.identity import me
from ui.markdown import plain
from ui.routes import LIVE, MANAGE, link_to_management, link_to_session, show_not_found

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
_AT_ONCE = 20
_URGENT = ("stop", "flag")
_NOBODYS = "nobody’s"
_FORM = "form for a new interview"


@dataclass(frozen=True)
class Row:
    """`waits` is the kind of an open notice; `label` the client's."""

    session: Session
    label: str | None
    waits: str | None


def show() -> None:
    user = me()
    if session_id := st.query_params.get(LIVE):
        try:
            live.show(session_id)
        except NotFoundError:
            show_not_found()
        return
    rows, _ = listed(user, limit=1)
    if user.roles == {"admin"}:
        st.title("Sessions", anchor=False)
    elif rows:
        _show_own(user)
    else:
        starting.greet(user)
    if user.is_admin and not user.is_local:
        _show_everybodys(user)
    if session_id := st.query_params.get(MANAGE):
        managing.open_panel(session_id)


def _show_own(user: User) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom", horizontal_alignment="distribute"):
        st.title("Sessions", anchor=False)
        st.button("New interview", type="primary", icon=":material/add:", on_click=_ask_for_form)
    if st.session_state.pop(_FORM, False):
        starting.open_form(user)
    _show_list(user)


def _ask_for_form() -> None:
    """A callback, since the list below is drawn again by itself: `if st.button(…)` could miss the click."""
    st.session_state[_FORM] = True


def listed(user: User, search: str = "", *, limit: int) -> tuple[list[Row], int]:
    """What needs a person comes first, then the newest; and how many there are in all."""
    owner = None if user.is_local else user.owner
    labels = ClientLabels(workbench().database)
    waits = {notice.session_id: notice.kind for notice in reversed(Notices(workbench().database).unacknowledged())}
    first = [[session for session, kind in waits.items() if kind == urgent] for urgent in _URGENT]
    wanted = Wanted(limit, _words(search, labels, owner), owner, first)
    sessions, total = workbench().runtime.sessions.search(wanted)
    named = labels.of([session.id for session in sessions])
    return [Row(session, named.get(session.id), waits.get(session.id)) for session in sessions], total


def _words(search: str, labels: ClientLabels | None = None, owner: str | None = None) -> list[Word]:
    """Of a search, with what each means: a status by what it is called here, and labels where they may be read."""
    texts = search.lower().split()
    named = labels.naming(texts, owner) if labels and texts else {}
    return [
        Word(text, tuple(status for status, said in _SPOKEN.items() if text in said), tuple(named.get(text, ())))
        for text in texts
    ]


def _show_list(user: User) -> None:
    words = st.text_input(
        "Search", placeholder="client, status, persona or session id", icon=":material/search:", key="search"
    )
    shown = st.session_state.get("shown", _AT_ONCE)
    rows, total = listed(user, words, limit=shown)
    busy = any(row.session.status == "active" for row in rows)
    # Only links are drawn inside: a button that is drawn again while it is clicked may lose the click.
    st.fragment(_tick, run_every=_TICK_SECONDS if busy else _IDLE_SECONDS)(user, words, shown)
    _offer_more("shown", shown, total)


def _offer_more(key: str, shown: int, total: int) -> None:
    if total > shown:
        st.button(f"Show more ({total - shown:,} left)", key=f"more-{key}", on_click=_show_more, args=(key, shown))


def _show_more(key: str, shown: int) -> None:
    st.session_state[key] = shown + _AT_ONCE


def _tick(user: User, words: str, shown: int) -> None:
    with guarded():
        rows, _ = listed(user, words, limit=shown)
        if not rows:
            st.info("No session matches this search." if words else "There is no session of yours yet.")
        for row in rows:
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
    st.fragment(_list_everybodys)(user)


def _list_everybodys(user: User) -> None:
    with guarded():
        words = st.text_input(
            "Search all sessions", placeholder="owner, status or session id", icon=":material/search:", key="search-all"
        )
        shown = st.session_state.get("shown-all", _AT_ONCE)
        found, total = workbench().runtime.sessions.search(Wanted(shown, _words(words), nobodys=_NOBODYS))
        st.caption(f"{total:,} sessions" if total != 1 else "1 session")
        for session in found:
            with st.container(border=True, horizontal=True, vertical_alignment="center", key=f"any-{session.id}"):
                begun = session.created_at.astimezone().strftime("%d %b %Y, %H:%M")
                st.markdown(f"{begun} · {_SPOKEN[session.status]}, {_progress(session)}")
                st.text(_whose(session, user))
                link_to_management(session.id)
        _offer_more("shown-all", shown, total)


def _whose(session: Session, user: User) -> str:
    if session.owner in NOBODYS:
        return _NOBODYS
    return "yours" if session.owner == user.owner else str(session.owner)
