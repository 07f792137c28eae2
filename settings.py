"""Settings from the environment and `.env`; `.env.example` documents each one."""

from __future__ import annotations

import difflib
import ipaddress
import os
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field, HttpUrl, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from errors import SettingsError

OWN_PREFIXES = ("CROSSCUT_", "GATEWAY_", "MODEL_", "OIDC_")
RULES = "rules"
EMBEDDING_MODEL = "openai/text-embedding-3-small"


def default_home() -> Path:
    """Root's own home is closed to the unprivileged server user, so root's data lives under /var/lib."""
    if os.geteuid() == 0:
        return Path("/var/lib/crosscut")
    return Path.home() / ".local" / "share" / "crosscut"


def _model_id(value: str) -> str:
    if value != RULES and (value.count("/") < 1 or any(c.isspace() for c in value)):
        raise ValueError(f"must be {RULES!r} or an id such as 'openai/gpt-4.1'")
    return value


def _postgres_url(value: str | None) -> str | None:
    if value is not None and not value.startswith(("postgresql://", "postgres://")):
        raise ValueError("must start with postgresql://")
    return value


def _redis_url(value: str | None) -> str | None:
    if value is not None and not value.startswith(("redis://", "rediss://", "redis+socket://", "unix://")):
        raise ValueError("must start with redis://, rediss:// or redis+socket://")
    return value


def _bare_address(value: HttpUrl | None) -> HttpUrl | None:
    if value is not None and (value.path not in (None, "/") or value.query or value.fragment or value.username):
        raise ValueError("must be an address with nothing behind it, such as https://s3.example.org")
    return value


def _model_ids(value: str) -> str:
    for model in listed(value):
        _model_id(model)
    return value


def listed(value: str) -> tuple[str, ...]:
    """What stands between commas."""
    return tuple(filter(None, (part.strip() for part in value.split(","))))


ModelId = Annotated[str, AfterValidator(_model_id)]


class Settings(BaseSettings):
    model_config = SettingsConfigDict(
        env_file=".env", env_ignore_empty=True, extra="forbid", frozen=True, hide_input_in_errors=True
    )

    crosscut_home: Path = Field(default_factory=default_home)
    crosscut_key: SecretStr | None = None
    crosscut_host: str = "127.0.0.1"
    crosscut_port: int = Field(8501, ge=1, le=65535)
    crosscut_address: str | None = None
    crosscut_locale: str = "en-US"
    crosscut_demo_seconds: float = Field(0.6, ge=0, le=60)
    crosscut_log_level: str = Field("INFO", pattern="^(DEBUG|INFO|WARNING|ERROR)$")

    database_url: Annotated[str | None, AfterValidator(_postgres_url)] = None
    redis_url: Annotated[str | None, AfterValidator(_redis_url)] = None

    crosscut_s3_url: Annotated[HttpUrl | None, AfterValidator(_bare_address)] = None
    crosscut_s3_bucket: str | None = Field(None, pattern="^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$")
    crosscut_s3_key: SecretStr | None = None
    crosscut_s3_secret: SecretStr | None = None
    crosscut_s3_region: str | None = None

    gateway_base_url: HttpUrl = HttpUrl("https://ai-gateway.vercel.sh/v1")
    gateway_api_key: SecretStr | None = None
    model_interviewer: ModelId = RULES
    model_scorer: ModelId = RULES
    model_risk: ModelId = RULES
    model_diagnostician: ModelId = RULES
    model_patient: ModelId = RULES
    model_embedding: ModelId | None = None
    model_choices: Annotated[str, AfterValidator(_model_ids)] = ""
    model_call_seconds: float = Field(20.0, gt=0, le=300)
    model_tries: int = Field(3, ge=1, le=3)

    oidc_discovery_url: HttpUrl | None = None
    oidc_client_id: str | None = None
    oidc_client_secret: SecretStr | None = None
    oidc_cookie_secret: SecretStr | None = Field(None, min_length=32)
    oidc_role_claim: str | None = None
    oidc_therapists: str = ""
    oidc_researchers: str = ""
    oidc_admins: str = ""
    crosscut_lease_seconds: float = Field(30.0, ge=1, le=3600)

    grobid_url: Annotated[HttpUrl | None, AfterValidator(_bare_address)] = None

    crosscut_prompts: Path | None = None

    bertscore_model: Path | None = None

    follow_up_threshold: int = Field(5, ge=1, le=10)

    crosscut_webhook_url: SecretStr | None = None
    crosscut_webhook_secret: SecretStr | None = None
    crosscut_smtp_url: SecretStr | None = None
    crosscut_mail_from: str | None = None
    crosscut_mail_to: str | None = None

    @field_validator("crosscut_home", "crosscut_prompts", "bertscore_model")
    @classmethod
    def _absolute(cls, value: Path | None) -> Path | None:
        return value.expanduser().absolute() if value else None

    @property
    def address(self) -> str:
        """Where people reach the page."""
        return self.crosscut_address or f"http://{self.crosscut_host}:{self.crosscut_port}"

    @property
    def has_login(self) -> bool:
        return self.oidc_discovery_url is not None

    @property
    def is_private(self) -> bool:
        """Whether only this machine can reach the page."""
        return is_loopback(self.crosscut_host)

    @property
    def offered_models(self) -> tuple[str, ...]:
        """What a session can be started with instead of the models by role."""
        chosen = (RULES, *listed(self.model_choices), self.model_interviewer, self.model_scorer)
        return tuple(dict.fromkeys(chosen))

    @property
    def embedding(self) -> str:
        """What makes vectors; with a key and no other wish, the model that the product's requirements name."""
        return self.model_embedding or (EMBEDDING_MODEL if self.gateway_api_key else RULES)

    @cached_property
    def models(self) -> dict[str, str]:
        """Model id by role; `rules` is the embedded engine. The patient's plays synthetic patients alone."""
        return {
            "interviewer": self.model_interviewer,
            "scorer": self.model_scorer,
            "risk": self.model_risk,
            "diagnostician": self.model_diagnostician,
            "patient": self.model_patient,
            "embedding": self.embedding,
        }


def load_settings(env_file: Path | None = Path(".env"), **overrides: Any) -> Settings:
    """Read and check all settings; every problem is named together with its fix."""
    _refuse_unknown_environment()
    try:
        settings = Settings(_env_file=env_file, **overrides)
    except ValidationError as error:
        raise SettingsError("\n".join(_explain(e["loc"], e["type"], e["msg"]) for e in error.errors())) from None
    _refuse_model_without_key(settings)
    _refuse_part_of_s3(settings)
    _refuse_part_of_login(settings)
    return settings


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _refuse_unknown_environment() -> None:
    known = {name.upper() for name in Settings.model_fields}
    unknown = sorted(k for k in os.environ if k.startswith(OWN_PREFIXES) and k.upper() not in known)
    if unknown:
        raise SettingsError("\n".join(_unknown(name) for name in unknown))


def _refuse_model_without_key(settings: Settings) -> None:
    wanted = [f"MODEL_{role.upper()}" for role, model in settings.models.items() if model != RULES]
    wanted += ["MODEL_CHOICES"] if set(listed(settings.model_choices)) - {RULES} else []
    if wanted and settings.gateway_api_key is None:
        raise SettingsError(
            f"{', '.join(wanted)} names a model but GATEWAY_API_KEY is not set: "
            f"set the key, or set the role to {RULES!r} to use the embedded engine."
        )


def _refuse_part_of_s3(settings: Settings) -> None:
    needed = ("crosscut_s3_url", "crosscut_s3_bucket", "crosscut_s3_key", "crosscut_s3_secret")
    missing = [name.upper() for name in needed if getattr(settings, name) is None]
    if 0 < len(missing) < len(needed):
        raise SettingsError(
            f"{', '.join(missing)} is not set, but other settings of the S3 store are: "
            "set all four, or none to keep files in CROSSCUT_HOME."
        )


def _refuse_part_of_login(settings: Settings) -> None:
    needed = ("oidc_discovery_url", "oidc_client_id", "oidc_client_secret")
    missing = [name.upper() for name in needed if getattr(settings, name) is None]
    if 0 < len(missing) < len(needed):
        raise SettingsError(f"{', '.join(missing)} is not set, but other OIDC settings are: set all three, or none.")
    people = ("oidc_role_claim", "oidc_therapists", "oidc_researchers", "oidc_admins")
    if not missing and not any(getattr(settings, name) for name in people):
        raise SettingsError(
            "with the OIDC settings as they are nobody has a role: set OIDC_ROLE_CLAIM, or list e-mail addresses in "
            "OIDC_THERAPISTS, OIDC_RESEARCHERS or OIDC_ADMINS."
        )


def _explain(loc: tuple[int | str, ...], kind: str, message: str) -> str:
    name = str(loc[0]).upper() if loc else "settings"
    if kind == "extra_forbidden":
        return _unknown(name)
    return f"{name} is malformed: {message.removeprefix('Value error, ')}. See .env.example for what it takes."


def _unknown(name: str) -> str:
    known = [field.upper() for field in Settings.model_fields]
    close = difflib.get_close_matches(name.upper(), known, n=1)
    hint = f"did you mean {close[0]}?" if close else "remove it, or see .env.example for the settings there are."
    return f"{name} is not a setting of Crosscut: {hint}"
