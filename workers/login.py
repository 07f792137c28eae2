"""The door of the page: closed to other machines unless there is a login, and what Streamlit must know for one."""

from __future__ import annotations

import json
import os
from pathlib import Path

from errors import SettingsError
from settings import Settings, is_loopback
from storage.crypto import load_vault

CALLBACK = "/oauth2callback"


def refuse_open_door(settings: Settings) -> None:
    """Whoever could reach the page would be its one local user, hence the page is not started."""
    if not settings.has_login and not settings.is_private:
        raise SettingsError(
            f"CROSSCUT_HOST is {settings.crosscut_host!r}, so other machines could reach the page, and there is no "
            "login. Set OIDC_DISCOVERY_URL, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET and who has which role (.env.example), "
            "or leave CROSSCUT_HOST at 127.0.0.1."
        )
    if settings.has_login and settings.crosscut_address is None and not settings.is_private:
        raise SettingsError("with a login, CROSSCUT_ADDRESS must say by which address people reach the page.")


def is_open_to(address: str | None) -> bool:
    """Whether a server that listens there can be reached from elsewhere; one that is told nothing can."""
    return address is None or not is_loopback(address)


def secrets_path(settings: Settings) -> Path:
    return settings.crosscut_home / "run" / "login.toml"


def write_secrets(settings: Settings) -> Path | None:
    """Put the login where Streamlit reads it, for nobody else's eyes; None when there is none."""
    path = secrets_path(settings)
    if not settings.has_login:
        path.unlink(missing_ok=True)
        return None
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".login.{os.getpid()}")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write("[auth]\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in _auth(settings).items()))
    draft.replace(path)
    return path


def _auth(settings: Settings) -> dict[str, str]:
    secret, cookie = settings.oidc_client_secret, settings.oidc_cookie_secret
    return {
        "redirect_uri": settings.address.rstrip("/") + CALLBACK,
        "cookie_secret": cookie.get_secret_value() if cookie else load_vault(settings).mac("cookie", "login").hex(),
        "client_id": settings.oidc_client_id or "",
        "client_secret": secret.get_secret_value() if secret else "",
        "server_metadata_url": str(settings.oidc_discovery_url),
    }
