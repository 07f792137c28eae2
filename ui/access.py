"""Who may do what. Functions of the user alone, so that a table of users can be tested against a table of pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from settings import Settings, listed
from storage.sessions import LOCAL_OWNER, NOBODYS, Session
from ui.registry import ROLES, Page, Role

NAMELESS = "therapist"
"""What the one user of an installation without a login is called."""


@dataclass(frozen=True)
class User:
    """`owner` is the name under which sessions are theirs: the provider and its identifier, never a mere address."""

    owner: str
    name: str
    roles: frozenset[Role]

    @property
    def is_local(self) -> bool:
        """The one user of an installation that nobody else can reach; every session is theirs."""
        return self.owner == LOCAL_OWNER

    @property
    def signature(self) -> str:
        """What their votes are kept under. Not the name, which two may have in common and anybody may change."""
        return NAMELESS if self.is_local else self.owner

    @property
    def is_clinician(self) -> bool:
        return "therapist" in self.roles

    @property
    def is_admin(self) -> bool:
        return "admin" in self.roles


LOCAL_USER = User(LOCAL_OWNER, "", frozenset(ROLES))


def user_of(claims: Mapping[str, Any], settings: Settings) -> User:
    """Whom the provider's verified claims speak of."""
    owner = f"{claims['iss']} {claims['sub']}"
    return User(owner, str(claims.get("name") or claims.get("email") or claims["sub"]), _roles(claims, settings))


def _roles(claims: Mapping[str, Any], settings: Settings) -> frozenset[Role]:
    """By the claim, and by an e-mail address if the provider has verified that it is theirs."""
    people = {
        "therapist": settings.oidc_therapists,
        "researcher": settings.oidc_researchers,
        "admin": settings.oidc_admins,
    }
    mail = str(claims.get("email", "")).casefold() if claims.get("email_verified") is True else ""
    by_mail = {role for role in ROLES if mail and mail in map(str.casefold, listed(people[role]))}
    return frozenset(by_mail | (set(ROLES) & _claimed(claims, settings)))


def _claimed(claims: Mapping[str, Any], settings: Settings) -> set[str]:
    found = claims.get(settings.oidc_role_claim) if settings.oidc_role_claim else None
    return {found} if isinstance(found, str) else set(map(str, found or ()))


def may_open(user: User, page: Page) -> bool:
    return bool(page.roles & user.roles)


def may_read(user: User, session: Session) -> bool:
    """Its content. An admin as such reads nobody's."""
    works = bool(user.roles & {"therapist", "researcher"})
    return user.is_local or (works and session.owner == user.owner)


def may_delete(user: User, session: Session) -> bool:
    return user.is_admin or may_read(user, session)


def may_take_over(user: User, session: Session) -> bool:
    """A session that is nobody's, by an admin who may read sessions of their own."""
    works = bool(user.roles & {"therapist", "researcher"})
    return user.is_admin and works and not user.is_local and session.owner in NOBODYS


def may_see_run(user: User, owner: str | None) -> bool:
    """A batch run is whoever's who started it. Admins see them all: nothing in one was said by a client."""
    return user.is_local or user.is_admin or owner == user.owner


def may_remove_book(user: User, owner: str | None) -> bool:
    """The library is everybody's to read and to add to; what one has not put in oneself stays, but for an admin."""
    return user.is_local or user.is_admin or owner == user.owner


def may_interview_people(user: User) -> bool:
    """Others start interviews of personas only."""
    return user.is_clinician
