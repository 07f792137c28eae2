"""Brings a database to the current schema."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg

from errors import ServiceError, StorageError
from storage.crypto import Vault

if TYPE_CHECKING:
    from alembic.config import Config

_LOCK = 0x43726F7373  # any constant: whoever holds it migrates
_FOLDER = Path(__file__).parent / "migrations"


@contextmanager
def exclusive(url: str) -> Iterator[None]:
    """Hold the database's migration lock."""
    with _connect(url) as connection:
        connection.execute("SELECT pg_advisory_lock(%s)", (_LOCK,))
        yield


def upgrade(url: str, vault: Vault) -> None:
    """Apply pending migrations, then make sure this database was sealed with this vault's key."""
    with _connect(url) as connection:
        at = _at(connection)
        if at != head():
            _refuse_newer(at)
            _migrate(url)
        _claim_vault(connection, vault)


def current(url: str) -> str | None:
    """The schema that the database is at."""
    with _connect(url) as connection:
        return _at(connection)


def head() -> str:
    """The newest schema that this Crosscut knows: its migrations are numbered, and each file begins with its number."""
    return max(_known())


def _known() -> set[str]:
    return {path.name.partition("_")[0] for path in (_FOLDER / "versions").glob("[0-9]*_*.py")}


def _at(connection: psycopg.Connection[tuple[object, ...]]) -> str | None:
    if connection.execute("SELECT to_regclass('crosscut_migrations')").fetchone() == (None,):
        return None
    row = connection.execute("SELECT version_num FROM crosscut_migrations").fetchone()
    return str(row[0]) if row else None


def _migrate(url: str) -> None:
    """Most starts find the schema as it should be, and need not wait for Alembic to be loaded."""
    from alembic import command

    command.upgrade(_config(url), "head")


def sqlalchemy_url(url: str) -> str:
    return "postgresql+psycopg://" + url.split("://", 1)[1]


def _connect(url: str) -> psycopg.Connection[tuple[object, ...]]:
    try:
        return psycopg.connect(url, autocommit=True, connect_timeout=5)
    except psycopg.OperationalError as error:
        raise ServiceError(f"cannot connect to the database ({type(error).__name__}): check DATABASE_URL.") from None


def _config(url: str) -> Config:
    from alembic.config import Config

    config = Config(cmd_opts=Namespace(x=[f"url={sqlalchemy_url(url)}"]))
    config.attributes["configure_logger"] = False
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


def _refuse_newer(at: str | None) -> None:
    if at is not None and at not in _known():
        raise StorageError(f"the database is at schema {at}, newer than this Crosscut ({head()}): update it.")


def _claim_vault(connection: psycopg.Connection[tuple[object, ...]], vault: Vault) -> None:
    connection.execute("INSERT INTO vault VALUES (1, %s) ON CONFLICT DO NOTHING", (vault.fingerprint(),))
    row = connection.execute("SELECT fingerprint FROM vault").fetchone()
    if row != (vault.fingerprint(),):
        raise StorageError(
            "this database was sealed with another key. Set CROSSCUT_KEY to the key it was made with, "
            "or restore the key file; without it its contents cannot be read."
        )
