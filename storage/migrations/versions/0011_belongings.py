"""Whose a batch run is, and who put a book into the library."""

from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    # NULL: nobody's, as what was made at the command line or before this.
    op.execute("ALTER TABLE runs ADD COLUMN owner text")
    op.execute("ALTER TABLE books ADD COLUMN owner text")


def downgrade() -> None:
    op.execute("ALTER TABLE books DROP COLUMN owner")
    op.execute("ALTER TABLE runs DROP COLUMN owner")
