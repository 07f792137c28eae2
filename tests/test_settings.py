"""Settings: what is unknown or malformed is refused with its name and the fix."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from errors import SettingsError
from settings import Settings, load_settings

EXAMPLE = Path(__file__).parent.parent / ".env.example"


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(name.upper(), raising=False)


def test_defaults_need_no_environment_and_use_no_model() -> None:
    settings = load_settings(env_file=None)
    assert set(settings.models.values()) == {"rules"}
    assert settings.crosscut_host == "127.0.0.1"


def test_an_unknown_variable_of_ours_is_refused_with_the_nearest_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CROSSCUT_HOEM", "/tmp/x")
    with pytest.raises(SettingsError, match=r"CROSSCUT_HOEM is not a setting .* did you mean CROSSCUT_HOME\?"):
        load_settings(env_file=None)


def test_an_unknown_name_in_the_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text("DATABSE_URL=postgresql://x/y\n")
    with pytest.raises(SettingsError, match="DATABSE_URL is not a setting of Crosscut: did you mean DATABASE_URL"):
        load_settings(env_file=file)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("DATABASE_URL", "mysql://x", "DATABASE_URL is malformed: must start with postgresql://"),
        ("REDIS_URL", "localhost", "REDIS_URL is malformed: must start with redis://"),
        ("CROSSCUT_PORT", "eight", "CROSSCUT_PORT is malformed"),
        ("CROSSCUT_PORT", "70000", "CROSSCUT_PORT is malformed"),
        ("MODEL_SCORER", "gpt", "MODEL_SCORER is malformed: must be 'rules' or an id such as"),
        ("MODEL_EMBEDDING", "minilm", "MODEL_EMBEDDING is malformed: must be 'rules' or an id such as"),
        ("CROSSCUT_S3_URL", "s3.example.org", "CROSSCUT_S3_URL is malformed"),
        ("CROSSCUT_S3_URL", "https://s3.example.org/books", "CROSSCUT_S3_URL is malformed: must be an address with"),
        ("CROSSCUT_S3_URL", "https://me:x@s3.example.org", "CROSSCUT_S3_URL is malformed: must be an address with"),
        ("CROSSCUT_S3_BUCKET", "My Books", "CROSSCUT_S3_BUCKET is malformed"),
        ("MODEL_TRIES", "4", "MODEL_TRIES is malformed"),
        ("GATEWAY_BASE_URL", "not a url", "GATEWAY_BASE_URL is malformed"),
        ("FOLLOW_UP_THRESHOLD", "0", "FOLLOW_UP_THRESHOLD is malformed"),
    ],
)
def test_a_malformed_value_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, message: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match=re.escape(message)):
        load_settings(env_file=None)


def test_a_message_never_holds_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "mysql://user:hunter2@host/db")
    with pytest.raises(SettingsError) as caught:
        load_settings(env_file=None)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("role", ["MODEL_SCORER", "MODEL_EMBEDDING"])
def test_a_model_without_a_key_is_refused(monkeypatch: pytest.MonkeyPatch, role: str) -> None:
    monkeypatch.setenv(role, "openai/gpt-4.1")
    with pytest.raises(SettingsError, match=f"{role} names a model but GATEWAY_API_KEY is not set"):
        load_settings(env_file=None)


def test_half_an_s3_store_is_refused_by_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CROSSCUT_S3_URL", "https://s3.example.org")
    monkeypatch.setenv("CROSSCUT_S3_KEY", "key")
    with pytest.raises(SettingsError, match="CROSSCUT_S3_BUCKET, CROSSCUT_S3_SECRET is not set"):
        load_settings(env_file=None)


def test_a_whole_s3_store_is_taken_and_its_secrets_stay_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"URL": "http://127.0.0.1:9000", "BUCKET": "crosscut-books", "KEY": "hunter1", "SECRET": "hunter2"}
    for name, value in given.items():
        monkeypatch.setenv(f"CROSSCUT_S3_{name}", value)
    settings = load_settings(env_file=None)
    assert str(settings.crosscut_s3_url) == "http://127.0.0.1:9000/"
    assert "hunter" not in repr(settings)


def test_the_example_documents_every_setting_and_no_other() -> None:
    documented = set(re.findall(r"^#([A-Z0-9_]+)=", EXAMPLE.read_text(), re.MULTILINE))
    assert documented == {name.upper() for name in Settings.model_fields}


def test_the_example_states_the_real_defaults(tmp_path: Path) -> None:
    lines = [line.removeprefix("#") for line in EXAMPLE.read_text().splitlines() if re.match(r"#[A-Z0-9_]+=\S", line)]
    stated = [line for line in lines if not line.startswith(("DATABASE_URL", "REDIS_URL"))]
    assert len(stated) >= 8
    file = tmp_path / ".env"
    file.write_text("\n".join(stated))
    assert load_settings(env_file=file).model_dump() == load_settings(env_file=None).model_dump()
