"""Walks every table of a database, whatever tables there are."""

from __future__ import annotations

from psycopg import sql

from storage.database import Database


def tables(database: Database) -> list[str]:
    rows = database.all(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'"
    )
    return sorted(row["table_name"] for row in rows)


def rows_naming(database: Database, words: str) -> dict[str, int]:
    """In how many rows of which tables the words stand, in any column: ids, JSON, arrays and bytes alike."""
    query = """
        SELECT count(*) FROM {} AS t
        WHERE position(%(words)s IN t::text) > 0 OR position(encode(%(words)s::bytea, 'hex') IN t::text) > 0
    """
    found = {}
    for table in tables(database):
        with database.connection() as connection:
            statement = sql.SQL(query).format(sql.Identifier(table))
            row = connection.execute(statement, {"words": words}).fetchone()
        if row is not None and row["count"]:
            found[table] = row["count"]
    return found


def rows_of(database: Database, session_id: str) -> dict[str, list[str]]:
    """Every row that names the session, as text: two looks are equal when nothing of it was touched.

    A fork names its parent by design, in the sessions table and the audit; those rows are not the parent's own.
    """
    found = {}
    for table in tables(database):
        own = "t.id" if table == "sessions" else "t.session_id" if table == "audit" else None
        condition = sql.SQL(own + " = %(id)s" if own else "position(%(id)s IN t::text) > 0")
        statement = sql.SQL("SELECT t::text AS row FROM {} AS t WHERE {} ORDER BY 1").format(
            sql.Identifier(table), condition
        )
        with database.connection() as connection:
            rows = connection.execute(statement, {"id": session_id}).fetchall()
        found[table] = [row["row"] for row in rows]
    return found
