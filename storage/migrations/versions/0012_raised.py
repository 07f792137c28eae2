"""Messages with a worry or a danger in them that the conversation does not have; the ends of the audit's chains."""

from alembic import op

revision = "0012"
down_revision = "0011"

STATEMENTS = (
    "ALTER TABLE notices ADD COLUMN raised_at timestamptz NOT NULL DEFAULT now()",
    """
    CREATE TABLE raised (
        session_id text NOT NULL REFERENCES sessions ON DELETE CASCADE,
        key text NOT NULL,
        is_refused boolean NOT NULL,
        content sealed NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (session_id, key)
    )
    """,
    # Not tied to `sessions`: like the audit's rows, the end of a chain outlives its session.
    """
    CREATE TABLE audit_ends (
        session_id text PRIMARY KEY,
        seq integer NOT NULL,
        mac bytea NOT NULL CHECK (octet_length(mac) = 32)
    )
    """,
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)


def downgrade() -> None:
    op.execute("ALTER TABLE notices DROP COLUMN raised_at")
    op.execute("DROP TABLE audit_ends")
    op.execute("DROP TABLE raised")
