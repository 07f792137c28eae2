"""The Postgres saver with everything in it sealed."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.serde.base import CipherProtocol
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from errors import SealError
from storage.crypto import Vault
from storage.database import Database

_CIPHER = "crosscut1"


class _VaultCipher(CipherProtocol):
    """No associated data: a fork copies checkpoints to another thread, where they must still open."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        return _CIPHER, self._vault.seal(plaintext)

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        if ciphername != _CIPHER:
            raise SealError(f"a checkpoint was sealed with {ciphername!r}, this Crosscut opens {_CIPHER!r}")
        return self._vault.open(ciphertext)


class SealedSerializer(EncryptedSerializer):
    """Loads nothing that is not sealed: a forged plain row would otherwise be deserialised as it is."""

    def __init__(self, vault: Vault) -> None:
        # No types beyond LangGraph's own safe ones: our channels are plain data.
        super().__init__(_VaultCipher(vault), JsonPlusSerializer(allowed_msgpack_modules=None))

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        if "+" not in data[0]:
            raise SealError(f"a checkpoint holds unsealed data of type {data[0]!r}: it was not written by Crosscut")
        return super().loads_typed(data)


class SealedSaver(PostgresSaver):
    def __init__(self, database: Database) -> None:
        super().__init__(database.pool, serde=SealedSerializer(database.vault))

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> SealedSaver:  # noqa: ARG002
        """LangGraph would rebuild the serializer here and drop the sealing subclass."""
        return self
