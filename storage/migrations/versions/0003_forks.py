"""Where a session comes from: a patient, a fork of another session, or a batch of prepared answers."""

from alembic import op

revision = "0003"
down_revision = "0002"

STATEMENTS = (
    """
    ALTER TABLE sessions
        ADD COLUMN origin text NOT NULL DEFAULT 'patient' CHECK (origin IN ('patient', 'fork', 'batch')),
        -- No cascade: a fork has checkpoints too, which only a proper deletion finds.
        ADD COLUMN parent_id text REFERENCES sessions,
        ADD COLUMN parent_checkpoint text,
        ADD COLUMN expires_at timestamptz,
        ADD CHECK ((origin = 'fork') = (parent_id IS NOT NULL) AND (parent_id IS NULL) = (parent_checkpoint IS NULL))
    """,
    "CREATE INDEX sessions_parent ON sessions (parent_id) WHERE parent_id IS NOT NULL",
    "CREATE INDEX sessions_expiry ON sessions (expires_at) WHERE expires_at IS NOT NULL",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)


def downgrade() -> None:
    op.execute(
        "ALTER TABLE sessions DROP COLUMN origin, DROP COLUMN parent_id, DROP COLUMN parent_checkpoint, "
        "DROP COLUMN expires_at"
    )
