"""Whose session it is, what it was started with, the patient's link and the client's label."""

from alembic import op

revision = "0009"
down_revision = "0008"

STATEMENTS = (
    # NULL: nobody's (made at the command line), and the installation's own model and locale.
    "ALTER TABLE sessions ADD COLUMN owner text, ADD COLUMN model text, ADD COLUMN locale text",
    "CREATE INDEX sessions_owner ON sessions (owner, created_at DESC)",
    # Found by the token's hash; the token itself is sealed, so that the therapist can look it up again.
    """
    CREATE TABLE patient_links (
        session_id text PRIMARY KEY REFERENCES sessions ON DELETE CASCADE,
        token_sha256 bytea NOT NULL UNIQUE CHECK (octet_length(token_sha256) = 32),
        token sealed NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now()
    )
    """,
    # Sessions of one client have the same mac, which tells nobody without the key what the label is.
    """
    CREATE TABLE client_labels (
        session_id text PRIMARY KEY REFERENCES sessions ON DELETE CASCADE,
        mac bytea NOT NULL,
        label sealed NOT NULL
    )
    """,
    "CREATE INDEX client_labels_mac ON client_labels (mac)",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)


def downgrade() -> None:
    op.execute("DROP TABLE client_labels")
    op.execute("DROP TABLE patient_links")
    op.execute("ALTER TABLE sessions DROP COLUMN owner, DROP COLUMN model, DROP COLUMN locale")
