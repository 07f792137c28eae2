"""Sessions, the ledger of turns, jobs, snapshots, model calls and the append-only audit."""

from alembic import op

revision = "0001"
down_revision = None

STATEMENTS = (
    "CREATE EXTENSION IF NOT EXISTS vector",
    # A column of this type cannot hold plain text: sealed values start with the vault's version byte.
    "CREATE DOMAIN sealed AS bytea CHECK (octet_length(VALUE) >= 29 AND get_byte(VALUE, 0) = 1)",
    "CREATE TABLE vault (id int PRIMARY KEY CHECK (id = 1), fingerprint text NOT NULL)",
    """
    CREATE TABLE sessions (
        id text PRIMARY KEY,
        status text NOT NULL CHECK (status IN ('active', 'completed', 'terminated_for_safety')),
        mode text NOT NULL CHECK (mode IN ('screening', 'categorical', 'diagnostic')),
        items_completed int NOT NULL DEFAULT 0,
        next_turn int NOT NULL DEFAULT 0,
        flags text[] NOT NULL DEFAULT '{}',
        persona text,
        audit_key sealed NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz NOT NULL DEFAULT now()
    )
    """,
    """
    CREATE TABLE turns (
        session_id text NOT NULL REFERENCES sessions ON DELETE CASCADE,
        turn int NOT NULL CHECK (turn >= 1),
        message_id text NOT NULL,
        text sealed NOT NULL,
        received_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (session_id, turn),
        UNIQUE (session_id, message_id)
    )
    """,
    """
    CREATE TABLE jobs (
        id text PRIMARY KEY,
        kind text NOT NULL,
        key text NOT NULL,
        session_id text REFERENCES sessions ON DELETE CASCADE,
        status text NOT NULL CHECK (status IN ('queued', 'running', 'done', 'failed', 'cancelled')),
        progress jsonb NOT NULL DEFAULT '{}',
        error text,
        created_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz NOT NULL DEFAULT now(),
        UNIQUE (kind, key)
    )
    """,
    """
    CREATE TABLE snapshots (
        sha256 text PRIMARY KEY,
        session_id text NOT NULL REFERENCES sessions ON DELETE CASCADE,
        body sealed NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now()
    )
    """,
    "CREATE INDEX snapshots_session ON snapshots (session_id)",
    """
    CREATE TABLE model_calls (
        session_id text NOT NULL REFERENCES sessions ON DELETE CASCADE,
        turn int NOT NULL,
        agent text NOT NULL,
        try int NOT NULL,
        model text NOT NULL,
        prompt_version text NOT NULL,
        prompt_sha256 text NOT NULL,
        outcome text NOT NULL,
        prompt_tokens int,
        completion_tokens int,
        cost_usd numeric,
        seconds double precision NOT NULL,
        at timestamptz NOT NULL DEFAULT now()
    )
    """,
    "CREATE INDEX model_calls_session ON model_calls (session_id)",
    # No foreign key: audit rows hold no content and outlive a deleted session.
    """
    CREATE TABLE audit (
        session_id text NOT NULL,
        seq int NOT NULL,
        entry jsonb NOT NULL,
        previous_hash text NOT NULL,
        hash text NOT NULL,
        PRIMARY KEY (session_id, seq)
    )
    """,
    """
    CREATE FUNCTION audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'the audit table is append-only'; END $$
    """,
    """
    CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit
    FOR EACH STATEMENT EXECUTE FUNCTION audit_is_append_only()
    """,
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)


def downgrade() -> None:
    for table in ("audit", "model_calls", "snapshots", "jobs", "turns", "sessions", "vault"):
        op.execute(f"DROP TABLE {table}")
    op.execute("DROP FUNCTION audit_is_append_only")
    op.execute("DROP DOMAIN sealed")
