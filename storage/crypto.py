"""Encryption at rest: AES-256-GCM under one master key, with the row's identity as associated data."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from errors import SealError, SettingsError, StorageError
from settings import Settings

KEY_BYTES = 32
_VERSION = b"\x01"
_NONCE_BYTES = 12
_TAG_BYTES = 16


class Vault:
    """Seals and opens bytes. A sealed value is version | nonce | ciphertext and tag."""

    def __init__(self, key: bytes) -> None:
        if len(key) != KEY_BYTES:
            raise SettingsError(f"the encryption key must have {KEY_BYTES} bytes, got {len(key)}")
        self._key = key
        self._aead = AESGCM(key)

    def seal(self, plain: bytes, aad: str = "") -> bytes:
        nonce = os.urandom(_NONCE_BYTES)
        return _VERSION + nonce + self._aead.encrypt(nonce, plain, aad.encode())

    def open(self, sealed: bytes, aad: str = "") -> bytes:
        if sealed[:1] != _VERSION or len(sealed) < 1 + _NONCE_BYTES + _TAG_BYTES:
            raise SealError(f"stored bytes of {aad or 'a checkpoint'} are not sealed by this version of Crosscut")
        nonce, body = sealed[1 : 1 + _NONCE_BYTES], sealed[1 + _NONCE_BYTES :]
        try:
            return self._aead.decrypt(nonce, body, aad.encode())
        except InvalidTag:
            raise SealError(
                f"stored bytes of {aad or 'a checkpoint'} do not open: the key is not the one they were sealed with, "
                "or the row was changed. Restore the key file or CROSSCUT_KEY that belongs to this database."
            ) from None

    def seal_text(self, text: str, aad: str) -> bytes:
        return self.seal(text.encode("utf-8", "surrogatepass"), aad)

    def open_text(self, sealed: bytes, aad: str) -> str:
        return self.open(sealed, aad).decode("utf-8", "surrogatepass")

    def mac(self, text: str, purpose: str) -> bytes:
        """The same for the same text and purpose, and nothing that tells the text without the key."""
        key = hmac.new(self._key, f"crosscut mac {purpose}".encode(), hashlib.sha256).digest()
        return hmac.new(key, text.encode("utf-8", "surrogatepass"), hashlib.sha256).digest()

    def fingerprint(self) -> str:
        """Tells keys apart without telling the key."""
        return hmac.new(self._key, b"crosscut key fingerprint", hashlib.sha256).hexdigest()[:16]


def load_vault(settings: Settings) -> Vault:
    """The key of CROSSCUT_KEY, else of the key file, which is made at first use."""
    if settings.crosscut_key is not None:
        return Vault(_decode(settings.crosscut_key.get_secret_value(), "CROSSCUT_KEY"))
    return Vault(_decode(_key_file_content(key_path(settings)), str(key_path(settings))))


def key_path(settings: Settings) -> Path:
    return settings.crosscut_home / "key"


def new_key() -> str:
    return base64.b64encode(os.urandom(KEY_BYTES)).decode()


def _key_file_content(path: Path) -> str:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _create_once(path)
        _refuse_open_mode(path)
        return path.read_text("ascii")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise StorageError(
            f"the key file {path} cannot be used: {reason}. Set CROSSCUT_HOME or CROSSCUT_KEY."
        ) from None


def _create_once(path: Path) -> None:
    """Write whole, then link: a killed process leaves no half key, and two starters agree on one."""
    if path.exists():
        return
    draft = path.with_name(f".key.{os.getpid()}")
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(fd, "w") as file:
            file.write(new_key() + "\n")
            file.flush()
            os.fsync(file.fileno())
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink(missing_ok=True)


def _refuse_open_mode(path: Path) -> None:
    mode = path.stat().st_mode & 0o777
    if mode & 0o077:
        raise StorageError(f"the key file {path} has mode {mode:o}, so others can read it: chmod 600 it and try again.")


def _decode(text: str, origin: str) -> bytes:
    try:
        key = base64.b64decode(text.strip(), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != KEY_BYTES:
        raise SettingsError(f"{origin} must be {KEY_BYTES} bytes in base64: make one with `crosscut new-key`.")
    return key
