"""The connection pools, and the one object through which repositories reach Postgres and the vault."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.rows import DictRow, dict_row
from psycopg_pool import ConnectionPool, PoolTimeout

from errors import ServiceError
from storage.crypto import Vault

Row = DictRow
Connection = psycopg.Connection[DictRow]
Pool = ConnectionPool[Connection]

_CHECKOUT_SECONDS = 5.0
_GLANCE_SECONDS = 0.25
_CONNECT_SECONDS = 2
_NO_WAIT = "-c synchronous_commit=off"
_FOR_STOPS = 2  # locks that are left when as many turns as there are threads wait for models


def make_pool(url: str, name: str, size: int, options: str = "", *, tested: bool = True) -> Pool:
    """A pool that tests each connection before lending it: backends killed meanwhile cost nobody a turn."""
    return ConnectionPool(
        url,
        name=name,
        min_size=1,
        max_size=size,
        open=False,
        timeout=_CHECKOUT_SECONDS,
        check=ConnectionPool.check_connection if tested else None,
        connection_class=psycopg.Connection[DictRow],
        kwargs={
            "autocommit": True,
            "prepare_threshold": 0,
            "row_factory": dict_row,
            "application_name": name,
            "options": options,
        },
    )


class Database:
    """`pool` serves rows and checkpoints; `locks` is apart, since a turn holds its lock while it needs the other.

    What is written over `locks` does not wait for the disk: only what can be derived again belongs there. An
    `expendable` one never waits for the disk and does not test connections: for sessions that a file can bring back.
    """

    def __init__(self, url: str, vault: Vault, *, size: int = 8, expendable: bool = False) -> None:
        self.url = url
        self.vault = vault
        self.pool = make_pool(url, "crosscut", size, _NO_WAIT if expendable else "", tested=not expendable)
        self.locks = make_pool(url, "crosscut-locks", size + _FOR_STOPS, _NO_WAIT, tested=not expendable)

    def __enter__(self) -> Database:
        self.pool.open()
        self.locks.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.locks.close()
        self.pool.close()

    def is_there(self) -> bool:
        """Told at once, also where it is gone: a pool can only be waited for, while a server says no by itself."""
        try:
            with borrowed(self.locks, _GLANCE_SECONDS):
                return True
        except ServiceError:
            return _takes_connections(self.url)

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        with borrowed(self.pool) as connection:
            yield connection

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        with borrowed(self.pool) as connection, connection.transaction():
            yield connection

    def one(self, sql: str, *args: Any) -> Row | None:
        with self.connection() as connection:
            return connection.execute(sql, args).fetchone()

    def all(self, sql: str, *args: Any) -> list[Row]:
        with self.connection() as connection:
            return connection.execute(sql, args).fetchall()

    def run(self, sql: str, *args: Any) -> int:
        with self.connection() as connection:
            return connection.execute(sql, args).rowcount


def _takes_connections(url: str) -> bool:
    try:
        psycopg.connect(url, connect_timeout=_CONNECT_SECONDS).close()
    except psycopg.OperationalError:
        return False
    return True


def is_of_database(error: BaseException) -> bool:
    """Whether something failed because of the database, even where LangGraph asked it and not a repository."""
    return isinstance(error, psycopg.Error)


_GONE = (PoolTimeout, psycopg.OperationalError)


def is_gone(error: BaseException) -> bool:
    """Whether something failed because the database could not be reached, or was lost on the way."""
    return isinstance(error, (*_GONE, ServiceError))


@contextmanager
def borrowed(pool: Pool, seconds: float | None = None) -> Iterator[Connection]:
    """A connection of `pool`; a database that cannot be reached is a ServiceError, not a driver's traceback."""
    try:
        with pool.connection(timeout=seconds) as connection:
            yield connection
    except _GONE as error:
        raise ServiceError(
            f"the database did not answer ({type(error).__name__}). `crosscut doctor` says why."
        ) from error
