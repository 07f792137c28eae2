"""Batch runs: what was asked for, its patients, and one row for each cell with its lease and its figures."""

from alembic import op

revision = "0008"
down_revision = "0007"

STATEMENTS = (
    """
    CREATE TABLE runs (
        id text PRIMARY KEY,
        name text NOT NULL,
        spec jsonb NOT NULL,
        status text NOT NULL CHECK (status IN ('running', 'aggregating', 'done', 'cancelled')),
        aggregate jsonb,
        created_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz NOT NULL DEFAULT now(),
        finished_at timestamptz
    )
    """,
    # Prepared answers are a patient's words. A persona has none here: its file is part of the product.
    """
    CREATE TABLE run_patients (
        run_id text NOT NULL REFERENCES runs ON DELETE CASCADE,
        patient text NOT NULL,
        answers sealed,
        PRIMARY KEY (run_id, patient)
    )
    """,
    # Figures outlive the session that they were taken from, which is deleted unless the run keeps it.
    """
    CREATE TABLE cells (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        run_id text NOT NULL REFERENCES runs ON DELETE CASCADE,
        patient text NOT NULL,
        model text NOT NULL,
        mode text NOT NULL CHECK (mode IN ('screening', 'categorical', 'diagnostic')),
        repeat int NOT NULL CHECK (repeat >= 1),
        status text NOT NULL DEFAULT 'queued' CHECK (status IN ('queued', 'running', 'done', 'failed', 'cancelled')),
        sent_at timestamptz,
        tries int NOT NULL DEFAULT 0,
        holder text,
        lease_until timestamptz,
        session_id text REFERENCES sessions ON DELETE SET NULL,
        figures jsonb,
        error text,
        updated_at timestamptz NOT NULL DEFAULT now(),
        UNIQUE (run_id, patient, model, mode, repeat),
        CHECK ((status = 'done') = (figures IS NOT NULL))
    )
    """,
    "CREATE INDEX cells_open ON cells (run_id, status, id) WHERE status IN ('queued', 'running')",
    "CREATE INDEX cells_session ON cells (session_id) WHERE session_id IS NOT NULL",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)


def downgrade() -> None:
    for table in ("cells", "run_patients", "runs"):
        op.execute(f"DROP TABLE {table}")
