"""The library's table has what langchain-postgres expects, so that LangChain code can read from it."""

from __future__ import annotations

from langchain_core.embeddings import Embeddings
from langchain_postgres import PGEngine, PGVectorStore

from rag.embedding import MiniLmEmbedder
from storage.database import Database
from storage.library import Library, NewBook, NewPassage

TEXTS = ("Sudden attacks of fear that peak within minutes.", "Low mood on most days of two weeks.")


class _Embeddings(Embeddings):
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return MiniLmEmbedder().embed(texts)

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


def test_a_langchain_vector_store_reads_the_library(database: Database, database_url: str) -> None:
    vectors = _Embeddings().embed_documents(list(TEXTS))
    passages = [
        NewPassage(n, f"Part {n}", n + 1, n + 1, text, vector)
        for n, (text, vector) in enumerate(zip(TEXTS, vectors, strict=True))
    ]
    Library(database).replace(NewBook("b" * 64, "Book", False, 2, [], [], MiniLmEmbedder.model), passages)
    engine = PGEngine.from_connection_string(database_url.replace("postgresql://", "postgresql+psycopg://"))
    store = PGVectorStore.create_sync(
        engine,
        embedding_service=_Embeddings(),
        table_name="passages",
        id_column="chunk_id",
        content_column="text",
        embedding_column="embedding",
        metadata_columns=["section_path", "page_start", "page_end"],
        metadata_json_column=None,  # type: ignore[arg-type]
    )
    (found,) = store.similarity_search("panic attacks", k=1)
    engine._run_as_sync(engine.close())
    assert found.page_content == TEXTS[0]
    assert found.metadata == {"section_path": "Part 0", "page_start": 1, "page_end": 1}
