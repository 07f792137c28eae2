"""The outbox of notices to the therapist, and their acknowledgements."""

from alembic import op

revision = "0002"
down_revision = "0001"

STATEMENTS = (
    """
    CREATE TABLE notices (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        session_id text NOT NULL REFERENCES sessions ON DELETE CASCADE,
        kind text NOT NULL CHECK (kind IN ('stop', 'flag')),
        turn int,
        created_at timestamptz NOT NULL DEFAULT now(),
        webhook_sent_at timestamptz,
        mail_sent_at timestamptz,
        tries int NOT NULL DEFAULT 0,
        next_try_at timestamptz NOT NULL DEFAULT now(),
        last_error text,
        acknowledged_at timestamptz,
        acknowledged_by text,
        note sealed,
        CHECK ((acknowledged_at IS NULL) = (acknowledged_by IS NULL))
    )
    """,
    # A turn that is worked on again after a kill tells nobody twice, and what is open need not be opened again.
    "CREATE UNIQUE INDEX notices_turn ON notices (session_id, kind, turn)",
    "CREATE UNIQUE INDEX notices_open ON notices (session_id, kind) WHERE acknowledged_at IS NULL",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)


def downgrade() -> None:
    op.execute("DROP TABLE notices")
