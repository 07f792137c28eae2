"""Comparisons: runs, a sealed column for each model, blind ballots and their votes, overrides."""

from alembic import op

revision = "0007"
down_revision = "0006"

STATEMENTS = (
    """
    CREATE TABLE comparison_runs (
        id text PRIMARY KEY,
        session_id text NOT NULL REFERENCES sessions ON DELETE CASCADE,
        snapshot_sha256 text NOT NULL REFERENCES snapshots ON DELETE CASCADE,
        models text[] NOT NULL CHECK (cardinality(models) BETWEEN 1 AND 3),  -- the driver first
        asked_at timestamptz NOT NULL DEFAULT now(),
        ended_at timestamptz
    )
    """,
    "CREATE INDEX comparison_runs_session ON comparison_runs (session_id)",
    "CREATE INDEX comparison_runs_snapshot ON comparison_runs (snapshot_sha256)",
    """
    CREATE TABLE comparison_columns (
        run_id text NOT NULL REFERENCES comparison_runs ON DELETE CASCADE,
        snapshot_sha256 text NOT NULL,
        model text NOT NULL,
        prompt_version text NOT NULL,  -- '' for the rules, which have no prompt
        body sealed NOT NULL,
        made_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (run_id, model, prompt_version, snapshot_sha256)
    )
    """,
    """
    CREATE TABLE comparison_ballots (
        id text PRIMARY KEY,
        run_id text NOT NULL REFERENCES comparison_runs ON DELETE CASCADE,
        voter text NOT NULL,
        left_model text NOT NULL,
        right_model text NOT NULL CHECK (right_model <> left_model),
        seed bigint NOT NULL,
        made_at timestamptz NOT NULL DEFAULT now()
    )
    """,
    """
    CREATE UNIQUE INDEX comparison_ballots_pair ON comparison_ballots
    (run_id, voter, least(left_model, right_model), greatest(left_model, right_model))
    """,
    """
    CREATE TABLE comparison_votes (
        ballot_id text NOT NULL REFERENCES comparison_ballots ON DELETE CASCADE,
        number int NOT NULL,
        choice text NOT NULL CHECK (choice IN ('left', 'right', 'tie', 'both_bad')),
        blind boolean NOT NULL,
        voted_by text NOT NULL,
        voted_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (ballot_id, number)
    )
    """,
    # Who has seen which model is which: a vote after that is not a blind one.
    """
    CREATE TABLE comparison_openings (
        run_id text NOT NULL REFERENCES comparison_runs ON DELETE CASCADE,
        opened_by text NOT NULL,
        opened_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (run_id, opened_by)
    )
    """,
    """
    CREATE TABLE comparison_overrides (
        run_id text NOT NULL REFERENCES comparison_runs ON DELETE CASCADE,
        number int NOT NULL,
        body sealed NOT NULL,
        given_by text NOT NULL,
        given_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (run_id, number)
    )
    """,
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)


def downgrade() -> None:
    for table in ("overrides", "openings", "votes", "ballots", "columns", "runs"):
        op.execute(f"DROP TABLE comparison_{table}")
