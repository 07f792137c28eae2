"""A cell that failed may keep what was spent on it."""

from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.execute("ALTER TABLE cells DROP CONSTRAINT cells_check")
    op.execute(
        """
        ALTER TABLE cells ADD CONSTRAINT cells_check CHECK (
            CASE status WHEN 'done' THEN figures IS NOT NULL WHEN 'failed' THEN true ELSE figures IS NULL END
        )
        """
    )


def downgrade() -> None:
    op.execute("UPDATE cells SET figures = NULL WHERE status = 'failed'")
    op.execute("ALTER TABLE cells DROP CONSTRAINT cells_check")
    op.execute("ALTER TABLE cells ADD CONSTRAINT cells_check CHECK ((status = 'done') = (figures IS NOT NULL))")
