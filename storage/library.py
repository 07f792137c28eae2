"""Books and their passages. A book is replaced whole, in one transaction, so that nobody ever searches half of one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg.types.json import Jsonb

from errors import InputError, NotFoundError
from storage.database import Connection, Database, Row

Vector = Sequence[float]
_FUSION = 60
"""The constant of reciprocal rank fusion: how little the first places stand out."""
_CANDIDATES = 50
"""So many passages of each kind of search are fused."""
EF_SEARCH = 100
_MOST_SCANNED = 1_000_000
"""Passages of other models and books lie in the same index: so many are passed over before the search gives up."""
_A_SECTION = 2
_ONE_WRITER = "SELECT pg_advisory_xact_lock(hashtextextended('library', 0))"


@dataclass(frozen=True)
class BookRow:
    id: str
    name: str
    illustrative: bool
    pages: int
    kept: list[dict[str, Any]]
    left_out: list[dict[str, Any]]
    embedding_model: str
    ingested_at: datetime
    passages: int
    owner: str | None
    """Who put it in; None at the command line, and for the sample handbook."""


@dataclass(frozen=True)
class NewBook:
    id: str
    name: str
    illustrative: bool
    pages: int
    kept: Sequence[dict[str, Any]]
    left_out: Sequence[dict[str, Any]]
    embedding_model: str
    owner: str | None = None


@dataclass(frozen=True)
class NewPassage:
    ordinal: int
    section_path: str
    page_start: int
    page_end: int
    text: str
    embedding: Vector


@dataclass(frozen=True)
class FoundPassage:
    """`similarity` is the cosine; `fused` is what it was ranked by."""

    chunk_id: str
    book: str
    illustrative: bool
    section_path: str
    page_start: int
    page_end: int
    text: str
    similarity: float
    fused: float


@dataclass(frozen=True)
class Search:
    """`vector` is looked up by nearness, `words` in full text: all of them, and "or" stands between two ways."""

    vector: Vector
    words: str
    embedding_model: str
    limit: int
    floor: float


class Library:
    def __init__(self, database: Database) -> None:
        self._db = database

    def books(self) -> list[BookRow]:
        rows = self._db.all(
            """
            SELECT b.*, (SELECT count(*) FROM passages WHERE book_id = b.id) AS passages
            FROM books b ORDER BY illustrative, name
            """
        )
        return [BookRow(**row) for row in rows]

    def contents(self) -> list[tuple[str, str, str]]:
        """What can be found in it: each book's file by its hash, its name, and the model of its vectors."""
        rows = self._db.all("SELECT id, name, embedding_model FROM books ORDER BY id")
        return [(row["id"], row["name"], row["embedding_model"]) for row in rows]

    def has(self, book_id: str, name: str, embedding_model: str) -> bool:
        """Whether just this file is there under this name, in vectors of this model."""
        found = self._db.one(
            "SELECT FROM books WHERE id = %s AND name = %s AND embedding_model = %s", book_id, name, embedding_model
        )
        return found is not None

    def refuse_others(self, book_id: str, name: str, owner: str | None) -> None:
        """Refuse a book that would take the place of one which somebody else put in."""
        with self._db.connection() as connection:
            _refuse_others(connection, book_id, name, owner)

    def replace(self, book: NewBook, passages: Iterable[NewPassage], *, over_others: bool = True) -> None:
        """Put a book in, in the place of what has its name or its file; without `over_others`, only of one's own."""
        with self._db.transaction() as connection:
            connection.execute(_ONE_WRITER)
            if not over_others:
                _refuse_others(connection, book.id, book.name, book.owner)
            connection.execute("DELETE FROM books WHERE id = %s OR name = %s", (book.id, book.name))
            connection.execute(
                """
                INSERT INTO books (id, name, illustrative, pages, kept, left_out, embedding_model, owner)
                VALUES (%s, %s, %s, %s, %s, %s, %s, %s)
                """,
                (
                    book.id, book.name, book.illustrative, book.pages, Jsonb(list(book.kept)),
                    Jsonb(list(book.left_out)), book.embedding_model, book.owner,
                ),
            )  # fmt: skip
            _copy(connection, book, passages)

    def reembed(self, book: BookRow, embedding_model: str, vectors: Sequence[tuple[str, Vector]]) -> int:
        """Give a book's passages the vectors of another model, all at once; none when it was replaced meanwhile."""
        with self._db.transaction() as connection, connection.cursor() as cursor:
            cursor.execute(_ONE_WRITER)
            cursor.execute(
                "UPDATE books SET embedding_model = %s WHERE id = %s AND ingested_at = %s",
                (embedding_model, book.id, book.ingested_at),
            )
            if not cursor.rowcount or not vectors:
                return 0
            cursor.executemany(
                "UPDATE passages SET embedding = %s, embedding_model = %s WHERE chunk_id = %s",
                [(literal(vector), embedding_model, chunk_id) for chunk_id, vector in vectors],
            )
            return cursor.rowcount

    def texts(self, book_id: str) -> list[tuple[str, str, str]]:
        """The id, the section and the text of each passage, in the book's order."""
        rows = self._db.all(
            "SELECT chunk_id, section_path, text FROM passages WHERE book_id = %s ORDER BY ordinal", book_id
        )
        return [(row["chunk_id"], row["section_path"], row["text"]) for row in rows]

    def remove(self, book_id: str) -> None:
        if not self._db.run("DELETE FROM books WHERE id = %s", book_id):
            raise NotFoundError(f"there is no book {book_id!r} in the library.")

    def of_other_models(self, embedding_model: str) -> list[BookRow]:
        """Books that a search with this model cannot see: two models' vectors are never compared."""
        return [book for book in self.books() if book.embedding_model != embedding_model]

    def search(self, wanted: Search) -> list[FoundPassage]:
        """Nearest and best worded, fused by reciprocal rank; the illustrative book only where there is no other, be it
        in vectors that this search cannot see."""
        with self._db.transaction() as connection:
            connection.execute(f"SET LOCAL hnsw.ef_search = {EF_SEARCH}")
            connection.execute("SET LOCAL hnsw.iterative_scan = relaxed_order")
            connection.execute(f"SET LOCAL hnsw.max_scan_tuples = {_MOST_SCANNED}")
            # What words cost to look at row by row lies out of line, where the planner does not see it.
            connection.execute("SET LOCAL enable_seqscan = off")
            rows = connection.execute(_SEARCH, _parameters(wanted)).fetchall()
        return [_found(row) for row in rows]


# The index gives the nearest in no strict order, since in that it would leave out what it finds late; "+ 0" sorts them.
_SEARCH = f"""
    WITH chosen AS (
        SELECT id FROM books WHERE embedding_model = %(model)s
        AND (NOT illustrative OR NOT EXISTS (SELECT FROM books WHERE NOT illustrative))
    ), near AS (
        SELECT chunk_id, row_number() OVER (ORDER BY distance + 0, chunk_id) AS place FROM (
            SELECT chunk_id, embedding <=> %(vector)s::vector AS distance FROM passages
            WHERE embedding_model = %(model)s AND book_id IN (SELECT id FROM chosen)
            ORDER BY embedding <=> %(vector)s::vector LIMIT {_CANDIDATES}
        ) nearest
    ), worded AS (
        SELECT chunk_id, row_number() OVER (ORDER BY rank DESC, chunk_id) AS place FROM (
            SELECT chunk_id, ts_rank_cd(words, query, 1) AS rank
            FROM passages, websearch_to_tsquery('english', %(words)s) query
            WHERE words @@ query AND embedding_model = %(model)s AND book_id IN (SELECT id FROM chosen)
            ORDER BY rank DESC, chunk_id LIMIT {_CANDIDATES}
        ) best
    ), fused AS (
        SELECT chunk_id, coalesce(1.0 / ({_FUSION} + near.place), 0) + coalesce(1.0 / ({_FUSION} + worded.place), 0)
            AS fused FROM near FULL JOIN worded USING (chunk_id)
    ), scored AS (
        SELECT p.chunk_id, b.name AS book, b.illustrative, p.section_path, p.page_start, p.page_end, p.text,
            1 - (p.embedding <=> %(vector)s::vector) AS similarity, fused.fused::float8 AS fused
        FROM fused JOIN passages p USING (chunk_id) JOIN books b ON b.id = p.book_id
    ), numbered AS (
        SELECT *, row_number() OVER (PARTITION BY book, section_path ORDER BY fused DESC, chunk_id) AS of_section
        FROM scored WHERE similarity >= %(floor)s
    )
    SELECT chunk_id, book, illustrative, section_path, page_start, page_end, text, similarity, fused FROM numbered
    WHERE of_section <= {_A_SECTION} ORDER BY fused DESC, chunk_id LIMIT %(limit)s
"""  # noqa: S608  # the pieces are constants of this module


def _parameters(wanted: Search) -> dict[str, Any]:
    return {
        "vector": literal(wanted.vector),
        "words": wanted.words,
        "model": wanted.embedding_model,
        "limit": wanted.limit,
        "floor": wanted.floor,
    }


def _refuse_others(connection: Connection, book_id: str, name: str, owner: str | None) -> None:
    found = connection.execute(
        "SELECT name FROM books WHERE (id = %s OR name = %s) AND owner IS DISTINCT FROM %s", (book_id, name, owner)
    ).fetchone()
    if found is not None:
        raise InputError(
            f"this would replace {found['name']!r}, which somebody else put in. Choose another name or file, or ask an "
            "admin."
        )


def _copy(connection: Connection, book: NewBook, passages: Iterable[NewPassage]) -> None:
    columns = "chunk_id, book_id, ordinal, section_path, page_start, page_end, text, embedding_model, embedding"
    with connection.cursor().copy(f"COPY passages ({columns}) FROM STDIN") as copy:
        for p in passages:
            copy.write_row(
                (
                    chunk_id(book.id, p.ordinal), book.id, p.ordinal, p.section_path, p.page_start, p.page_end,
                    p.text, book.embedding_model, literal(p.embedding),
                )
            )  # fmt: skip


def chunk_id(book_id: str, ordinal: int) -> str:
    """Stable: the same file gives the same ids."""
    return f"{book_id[:16]}-{ordinal:05d}"


def literal(vector: Vector) -> str:
    return "[" + ",".join(f"{value:.7g}" for value in vector) + "]"


def _found(row: Row) -> FoundPassage:
    return FoundPassage(**row)
