"""Alembic's entry point. Migrations are plain SQL; the tables of LangGraph and PGVector are not ours to touch."""

from alembic import context
from sqlalchemy import create_engine, pool

engine = create_engine(context.get_x_argument(as_dictionary=True)["url"], poolclass=pool.NullPool, hide_parameters=True)

with engine.connect() as connection:
    context.configure(connection=connection, version_table="crosscut_migrations")
    with context.begin_transaction():
        context.run_migrations()
