"""The library: books, their passages with vectors and words, and what a job was asked to do."""

from alembic import op

revision = "0004"
down_revision = "0003"

STATEMENTS = (
    "ALTER TABLE jobs ADD COLUMN asked jsonb NOT NULL DEFAULT '{}'",
    """
    CREATE TABLE books (
        id text PRIMARY KEY,  -- the SHA-256 of its file
        name text NOT NULL UNIQUE,
        illustrative boolean NOT NULL,
        pages int NOT NULL,
        kept jsonb NOT NULL,
        left_out jsonb NOT NULL,
        embedding_model text NOT NULL,
        ingested_at timestamptz NOT NULL DEFAULT now()
    )
    """,
    """
    CREATE TABLE passages (
        chunk_id text PRIMARY KEY,
        book_id text NOT NULL REFERENCES books ON DELETE CASCADE,
        ordinal int NOT NULL,
        section_path text NOT NULL,
        page_start int NOT NULL,
        page_end int NOT NULL,
        text text NOT NULL,
        embedding_model text NOT NULL,
        embedding vector(1536) NOT NULL,
        words tsvector GENERATED ALWAYS AS (
            -- a server without a locale takes typographic signs for letters
            setweight(to_tsvector('english', translate(section_path, '“”„‘’–—…', '    ''-  ')), 'A')
            || setweight(to_tsvector('english', translate(text, '“”„‘’–—…', '    ''-  ')), 'B')
        ) STORED,
        UNIQUE (book_id, ordinal)
    )
    """,
    "CREATE INDEX passages_embedding ON passages USING hnsw (embedding vector_cosine_ops)",
    "CREATE INDEX passages_words ON passages USING gin (words)",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)


def downgrade() -> None:
    op.execute("DROP TABLE passages")
    op.execute("DROP TABLE books")
    op.execute("ALTER TABLE jobs DROP COLUMN asked")
