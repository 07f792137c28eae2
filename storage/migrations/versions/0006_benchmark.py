"""Benchmark: what a report was made from, immutable snapshots, corrections, labels of reviewers, results."""

from alembic import op

revision = "0006"
down_revision = "0005"

STATEMENTS = (
    # Null in revisions that an older version wrote.
    "ALTER TABLE reports ADD COLUMN basis sealed",
    "ALTER TABLE snapshots ADD COLUMN revision int",
    "CREATE UNIQUE INDEX snapshots_revision ON snapshots (session_id, revision)",
    """
    CREATE FUNCTION snapshots_are_immutable() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'a snapshot is never changed'; END $$
    """,
    """
    CREATE TRIGGER snapshots_immutable BEFORE UPDATE ON snapshots
    FOR EACH STATEMENT EXECUTE FUNCTION snapshots_are_immutable()
    """,
    """
    CREATE TABLE corrections (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        session_id text NOT NULL REFERENCES sessions ON DELETE CASCADE,
        item int NOT NULL CHECK (item BETWEEN 1 AND 23),
        score int NOT NULL CHECK (score BETWEEN 0 AND 4),
        reason sealed NOT NULL,
        corrected_by text NOT NULL,
        corrected_at timestamptz NOT NULL DEFAULT now()
    )
    """,
    "CREATE INDEX corrections_session ON corrections (session_id, item)",
    """
    CREATE TABLE labels (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        session_id text NOT NULL REFERENCES sessions ON DELETE CASCADE,
        turn int NOT NULL CHECK (turn >= 1),
        label text NOT NULL CHECK (label IN ('false stop', 'missed', 'wrong score')),
        note sealed,
        labelled_by text NOT NULL,
        labelled_at timestamptz NOT NULL DEFAULT now(),
        UNIQUE (session_id, turn, label, labelled_by)
    )
    """,
    """
    CREATE TABLE results (
        snapshot_sha256 text NOT NULL REFERENCES snapshots ON DELETE CASCADE,
        metric_set text NOT NULL,
        version text NOT NULL,
        body sealed NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (snapshot_sha256, metric_set, version)
    )
    """,
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)


def downgrade() -> None:
    for table in ("results", "labels", "corrections"):
        op.execute(f"DROP TABLE {table}")
    op.execute("DROP TRIGGER snapshots_immutable ON snapshots")
    op.execute("DROP FUNCTION snapshots_are_immutable")
    op.execute("ALTER TABLE snapshots DROP COLUMN revision")
    op.execute("ALTER TABLE reports DROP COLUMN basis")
