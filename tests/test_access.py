"""Who may do what: users against pages and sessions, as tables."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import product as pairs
from typing import Any

import pytest

from errors import SettingsError
from settings import Settings, load_settings
from storage.sessions import Session
from ui.access import (
    LOCAL_USER,
    User,
    may_delete,
    may_interview_people,
    may_open,
    may_read,
    may_remove_book,
    may_see_run,
    may_take_over,
    user_of,
)
from ui.registry import PAGES, ROLES, Role
from workers.login import refuse_open_door

ISSUER = "https://login.example.org"
MINE, YOURS = f"{ISSUER} 1", f"{ISSUER} 2"
LOGIN: dict[str, Any] = {
    "oidc_discovery_url": f"{ISSUER}/.well-known/openid-configuration",
    "oidc_client_id": "crosscut",
    "oidc_client_secret": "s",
}


def _session(owner: str | None) -> Session:
    now = datetime.now(UTC)
    return Session("s", "active", "diagnostic", 0, 0, (), None, now, now, owner=owner)


def _user(*roles: Role, owner: str = MINE) -> User:
    return User(owner, "Someone", frozenset(roles))


# Of one's own session, of somebody else's, and of nobody's: (reads, deletes).
NOTHING, DELETES, ALL = (False, False), (False, True), (True, True)
TABLE: list[tuple[User, tuple[bool, bool], tuple[bool, bool], tuple[bool, bool]]] = [
    (_user(), NOTHING, NOTHING, NOTHING),
    (_user("therapist"), ALL, NOTHING, NOTHING),
    (_user("researcher"), ALL, NOTHING, NOTHING),
    (_user("admin"), DELETES, DELETES, DELETES),
    (_user("therapist", "admin"), ALL, DELETES, DELETES),
    (LOCAL_USER, ALL, ALL, ALL),
]


@pytest.mark.parametrize(("user", "own", "others", "nobodys"), TABLE, ids=lambda v: _named(v))
def test_owner_by_role(
    user: User, own: tuple[bool, bool], others: tuple[bool, bool], nobodys: tuple[bool, bool]
) -> None:
    for owner, expected in ((MINE, own), (YOURS, others), (None, nobodys)):
        session = _session(owner)
        assert (may_read(user, session), may_delete(user, session)) == expected


def test_what_is_nobodys_is_taken_over_by_an_admin_who_works_here_and_what_is_somebodys_by_none() -> None:
    may, may_not = (
        (_user("therapist", "admin"), _user("researcher", "admin")),
        (_user("admin"), _user("therapist"), _user(), LOCAL_USER),
    )
    for user in may + may_not:
        works = user in may
        assert [may_take_over(user, _session(owner)) for owner in (None, "local")] == [works] * 2
        assert not any(may_take_over(user, _session(owner)) for owner in (MINE, YOURS))


# Of one's own, of somebody else's, and of nobody's.
@pytest.mark.parametrize(
    ("user", "allowed"),
    [
        (_user("therapist"), (True, False, False)),
        (_user("researcher"), (True, False, False)),
        (_user("admin"), (True, True, True)),
        (_user("researcher", "admin"), (True, True, True)),
        (LOCAL_USER, (True, True, True)),
    ],
    ids=lambda v: _named(v),
)
def test_runs_are_seen_and_books_removed_by_their_owner_and_by_admins(
    user: User, allowed: tuple[bool, bool, bool]
) -> None:
    for may in (may_see_run, may_remove_book):
        assert tuple(may(user, owner) for owner in (MINE, YOURS, None)) == allowed


def test_a_vote_is_signed_by_the_verified_identity_and_not_by_a_name() -> None:
    settings = Settings(_env_file=None, **LOGIN)
    namesakes = [user_of({"iss": ISSUER, "sub": sub, "name": "Ada"}, settings) for sub in ("1", "2")]
    renamed = user_of({"iss": ISSUER, "sub": "1", "name": "therapist"}, settings)
    assert [user.signature for user in (*namesakes, renamed)] == [MINE, YOURS, MINE]
    assert LOCAL_USER.signature == "therapist"


def _named(value: object) -> str | None:
    return "+".join(sorted(value.roles)) or "no role" if isinstance(value, User) else None


@pytest.mark.parametrize(("page", "role"), list(pairs(PAGES, ROLES)), ids=lambda v: getattr(v, "name", v))
def test_page_by_role(page: Any, role: Role) -> None:
    assert may_open(_user(role), page) == (role in page.roles)
    assert not may_open(_user(), page)
    assert may_open(LOCAL_USER, page)


def test_every_page_can_be_told_from_every_other() -> None:
    assert len({page.name for page in PAGES}) == len({page.title for page in PAGES}) == len(PAGES)
    assert all(page.roles <= set(ROLES) and page.icon.startswith(":material/") for page in PAGES)


def test_only_therapists_interview_people() -> None:
    assert [role for role in ROLES if may_interview_people(_user(role))] == ["therapist"]


@pytest.mark.parametrize(
    ("claims", "roles"),
    [
        ({"email": "A@Clinic.example", "email_verified": True}, {"therapist"}),
        ({"email": "a@clinic.example", "email_verified": False}, set()),
        ({"email": "a@clinic.example", "email_verified": "true"}, set()),
        ({"email": "a@clinic.example"}, set()),
        ({"email": "", "email_verified": True}, set()),
        ({"groups": ["admin", "cleaner"]}, {"admin"}),
        ({"groups": "researcher"}, {"researcher"}),
        ({"groups": None}, set()),
        ({"roles": ["admin"]}, set()),
    ],
)
def test_a_role_comes_from_a_verified_address_or_the_named_claim(claims: dict[str, Any], roles: set[str]) -> None:
    settings = Settings(_env_file=None, **LOGIN, oidc_therapists="a@clinic.example,", oidc_role_claim="groups")
    user = user_of({"iss": ISSUER, "sub": "1", **claims}, settings)
    assert (set(user.roles), user.owner) == (roles, MINE)


def test_half_a_login_and_a_login_for_nobody_are_refused() -> None:
    with pytest.raises(SettingsError, match="OIDC_CLIENT_SECRET is not set, but other OIDC settings are"):
        load_settings(None, oidc_discovery_url=LOGIN["oidc_discovery_url"], oidc_client_id="crosscut")
    with pytest.raises(SettingsError, match="nobody has a role"):
        load_settings(None, **LOGIN)


@pytest.mark.parametrize(
    ("host", "more", "said"),
    [
        ("127.0.0.1", {}, None),
        ("::1", {}, None),
        ("localhost", {}, None),
        ("0.0.0.0", {}, "there is no login"),  # noqa: S104
        ("192.168.1.7", {}, "there is no login"),
        ("clinic.example", {}, "there is no login"),
        ("192.168.1.7", LOGIN, "CROSSCUT_ADDRESS must say"),
        ("192.168.1.7", {**LOGIN, "crosscut_address": "https://crosscut.clinic.example"}, None),
    ],
)
def test_a_page_that_others_can_reach_needs_a_login(host: str, more: dict[str, Any], said: str | None) -> None:
    settings = Settings(_env_file=None, crosscut_host=host, **more)
    if said is None:
        refuse_open_door(settings)
    else:
        with pytest.raises(SettingsError, match=said):
            refuse_open_door(settings)
