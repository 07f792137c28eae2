"""Reports: every revision of a session's report, sealed."""

from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE reports (
            session_id text NOT NULL REFERENCES sessions ON DELETE CASCADE,
            revision int NOT NULL,
            mode text NOT NULL,
            body sealed NOT NULL,
            created_at timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (session_id, revision)
        )
        """
    )


def downgrade() -> None:
    op.execute("DROP TABLE reports")
