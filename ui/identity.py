"""Who sits before the page: the one local user, or whoever the provider says."""

from __future__ import annotations

import streamlit as st

from errors import NotFoundError, SettingsError
from settings import Settings
from storage.sessions import Session
from ui.access import LOCAL_USER, User, may_read, user_of
from ui.bench import settings, workbench
from workers.login import is_open_to


def current_user() -> User | None:
    """None for somebody who has yet to sign in."""
    ours = settings()
    if not ours.has_login:
        _refuse_open_door()
        return LOCAL_USER
    return _signed_in(ours)


def _signed_in(ours: Settings) -> User | None:
    return user_of(st.user.to_dict(), ours) if st.user.is_logged_in else None


def _refuse_open_door() -> None:
    """`crosscut up` does not get here; somebody who starts Streamlit by themselves does."""
    if is_open_to(st.get_option("server.address")):
        raise SettingsError(
            "this page can be reached from other machines and has no login. Start it with `crosscut page`, which keeps "
            "it on this machine, or set up a login (.env.example, OIDC)."
        )


NO_SESSION = "there is no such session."
"""The same for one that is somebody else's and for one that never was."""


def me() -> User:
    """The user of a page that only a user can have opened."""
    user = current_user()
    if user is None:
        raise NotFoundError("nobody is signed in.")
    return user


def readable_session(session_id: str) -> Session:
    """The session, if the user may read it; else it is not found, whether it exists or not."""
    user = me()
    try:
        session = workbench().runtime.sessions.get(session_id)
    except NotFoundError:
        raise NotFoundError(NO_SESSION) from None
    if not may_read(user, session):
        raise NotFoundError(NO_SESSION)
    return session


def offer_sign_in() -> None:
    st.title("Crosscut")
    st.write("The workbench for structured clinical conversations. Sign in with your organisation’s account.")
    st.button("Sign in", type="primary", icon=":material/login:", on_click=st.login)


def show_who() -> None:
    """At the foot of the navigation: who is signed in, and the way out."""
    user = me()
    if user.is_local:
        return
    st.divider()
    st.text(user.name)
    st.caption(", ".join(sorted(user.roles)) or "no role")
    st.button("Sign out", icon=":material/logout:", on_click=st.logout)
