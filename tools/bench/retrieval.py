"""What the library costs and finds: ingestion by page, search at three sizes of the store, and hits by name.

The stores are synthetic: passages of random words with vectors in clusters, as the embedder's are. The index is built
after they are copied in, which takes minutes for the largest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from rich.console import Console
from rich.table import Table

from instruments.disorders import disorders
from rag.embedding import MiniLmEmbedder
from rag.handbook import build_pdf
from rag.ingestion import Ingestion
from rag.retrieval import PassageRetriever
from settings import Settings
from storage.blobs import blobs
from storage.database import Database
from storage.jobs import Jobs
from storage.library import EF_SEARCH, Library, NewBook, NewPassage, Search, literal
from tests.books import typeset
from tools.bench.timing import p50, p95, seconds

SIZES = (1_000, 10_000, 100_000)
QUERIES = 60
NEAREST = 10
WIDTH, PADDED = 384, 1536
CENTRES, SPREAD = 400, 0.9
BOOK_DISORDERS = 100
MODEL = "bench/clusters"


@dataclass(frozen=True)
class Store:
    size: int
    recall: float
    median_ms: float
    p95_ms: float


@dataclass(frozen=True)
class RetrievalFigures:
    pages: int
    pages_a_second: float
    hit_at_1: float
    hit_at_5: float
    stores: tuple[Store, ...]


def measure(settings: Settings, database: Database) -> RetrievalFigures:
    ingestion = Ingestion(Library(database), Jobs(database), blobs(settings, database.vault), MiniLmEmbedder())
    book = typeset(BOOK_DISORDERS).made()
    rate = book.page_count / seconds(partial(_ingested, ingestion, book.data, "Invented"))
    ingestion.library.remove(ingestion.library.books()[0].id)
    _ingested(ingestion, build_pdf(), "Handbook")
    hits = _hits(PassageRetriever(ingestion.library, ingestion.embedder))
    ingestion.library.remove(ingestion.library.books()[0].id)
    stores = tuple(_store(database, size) for size in SIZES)
    return RetrievalFigures(book.page_count, rate, *hits, stores)


def _ingested(ingestion: Ingestion, data: bytes, name: str) -> None:
    ingestion.run(ingestion.request(data, name).id)


def _hits(retriever: PassageRetriever) -> tuple[float, float]:
    """Of the disorders, looked up by name: the share whose own section is found first, and among five."""
    names = [disorder.name for disorder in disorders().disorders]
    paths = [[p.source.section_path or "" for p in retriever.find(name, (name,), limit=5)] for name in names]
    first = sum(name in found[0] for name, found in zip(names, paths, strict=True) if found)
    among = sum(any(name in path for path in found) for name, found in zip(names, paths, strict=True))
    return first / len(names), among / len(names)


def _store(database: Database, size: int) -> Store:
    chance = np.random.default_rng(size)
    centres = chance.normal(size=(CENTRES, WIDTH))
    library = Library(database)
    with database.connection() as connection:
        connection.execute("DROP INDEX passages_embedding")
    library.replace(NewBook(f"bench-{size}", "Bench", False, size, [], [], MODEL), _passages(chance, centres, size))
    with database.connection() as connection:
        connection.execute("SET maintenance_work_mem = '1GB'")
        connection.execute("CREATE INDEX passages_embedding ON passages USING hnsw (embedding vector_cosine_ops)")
        connection.execute("ANALYZE passages")
        connection.execute("RESET maintenance_work_mem")
    queries = [_vector(chance, centres) for _ in range(QUERIES)]
    recall = sum(_recall(database, query) for query in queries) / QUERIES
    library.search(_search(queries[0], chance))
    times = [1000 * seconds(partial(library.search, _search(query, chance))) for query in queries]
    return Store(size, recall, p50(times), p95(times))


def _passages(chance: np.random.Generator, centres: np.ndarray, size: int) -> Iterator[NewPassage]:
    for number in range(size):
        text = " ".join(f"w{word}" for word in chance.zipf(1.3, 60) % 5_000)
        yield NewPassage(
            number, f"Chapter {number // 40} > Part {number // 4}", number, number, text, _vector(chance, centres)
        )


def _vector(chance: np.random.Generator, centres: np.ndarray) -> list[float]:
    drawn = centres[chance.integers(CENTRES)] + SPREAD * chance.normal(size=WIDTH)
    return [*(drawn / np.linalg.norm(drawn)).tolist(), *(0.0,) * (PADDED - WIDTH)]


def _search(vector: list[float], chance: np.random.Generator) -> Search:
    words = " OR ".join(f"w{word}" for word in chance.integers(50, 5_000, 3))
    return Search(vector, words, MODEL, 6, 0.0)


def _recall(database: Database, query: list[float]) -> float:
    """Of the truly nearest, the share that the index finds."""
    return len(_nearest(database, query, "on") & _nearest(database, query, "off")) / NEAREST


def _nearest(database: Database, query: list[float], index: str) -> set[str]:
    with database.transaction() as connection:
        connection.execute(f"SET LOCAL enable_indexscan = {index}")
        connection.execute(f"SET LOCAL hnsw.ef_search = {EF_SEARCH}")
        rows = connection.execute(
            "SELECT chunk_id FROM passages ORDER BY embedding <=> %s::vector LIMIT %s", (literal(query), NEAREST)
        )
        return {row["chunk_id"] for row in rows}


def show(console: Console, figures: RetrievalFigures) -> None:
    console.print(
        f"\nIngestion: {figures.pages_a_second:.0f} pages a second of a book of {figures.pages}. "
        f"Disorders by name in the handbook: hit@1 {figures.hit_at_1:.2f}, hit@5 {figures.hit_at_5:.2f}."
    )
    table = Table("passages", f"recall@{NEAREST} of HNSW", "search, median ms", "p95 ms", "p95 against the smallest")
    for store in figures.stores:
        ratio = store.p95_ms / figures.stores[0].p95_ms
        row = (f"{store.recall:.3f}", f"{store.median_ms:.1f}", f"{store.p95_ms:.1f}", f"{ratio:.1f}")
        table.add_row(f"{store.size:,}", *row)
    console.print(table)
