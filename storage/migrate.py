"""Brings a database to the current schema."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory

from errors import ServiceError, StorageError
from storage.crypto import Vault

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
        _refuse_newer(connection)
        command.upgrade(_config(url), "head")
        _claim_vault(connection, vault)


def current(url: str) -> str | None:
    """The schema that the database is at."""
    with _connect(url) as connection:
        if connection.execute("SELECT to_regclass('crosscut_migrations')").fetchone() == (None,):
            return None
        row = connection.execute("SELECT version_num FROM crosscut_migrations").fetchone()
        return str(row[0]) if row else None


def head() -> str | None:
    return ScriptDirectory(str(_FOLDER)).get_current_head()


def sqlalchemy_url(url: str) -> str:
    return "postgresql+psycopg://" + url.split("://", 1)[1]


def _connect(url: str) -> psycopg.Connection[tuple[object, ...]]:
    try:
        return psycopg.connect(url, autocommit=True, connect_timeout=5)
    except psycopg.OperationalError as error:
        raise ServiceError(f"cannot connect to the database ({type(error).__name__}): check DATABASE_URL.") from None


def _config(url: str) -> Config:
    config = Config(cmd_opts=Namespace(x=[f"url={sqlalchemy_url(url)}"]))
    config.attributes["configure_logger"] = False
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


def _refuse_newer(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    if connection.execute("SELECT to_regclass('crosscut_migrations')").fetchone() == (None,):
        return
    known = {revision.revision for revision in ScriptDirectory(str(_FOLDER)).walk_revisions()}
    for (version,) in connection.execute("SELECT version_num FROM crosscut_migrations"):
        if version not in known:
            raise StorageError(f"the database is at schema {version}, newer than this Crosscut ({head()}): update it.")


def _claim_vault(connection: psycopg.Connection[tuple[object, ...]], vault: Vault) -> None:
    connection.execute("INSERT INTO vault VALUES (1, %s) ON CONFLICT DO NOTHING", (vault.fingerprint(),))
    row = connection.execute("SELECT fingerprint FROM vault").fetchone()
    if row != (vault.fingerprint(),):
        raise StorageError(
            "this database was sealed with another key. Set CROSSCUT_KEY to the key it was made with, "
            "or restore the key file; without it its contents cannot be read."
        )
