"""A book on its way into the library: read, chunked, embedded, and put in all at once.

Whoever works on a job holds it, and the last step is one transaction: a worker that is killed leaves the library as it
was, and whoever takes the job up again ends it once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from errors import CrosscutError, InputError
from rag.book import Book, read_book
from rag.embedding import Embedder, embedder
from settings import Settings
from storage.blobs import Blobs
from storage.blobs import blobs as open_blobs
from storage.database import Database
from storage.jobs import Job, Jobs
from storage.library import Library, NewBook, NewPassage

KIND = "ingest"
STAGES = ("read", "embed", "store")
_AT_ONCE = 16  # passages embedded between two reports
_PAGES_A_REPORT = 25


@dataclass(frozen=True)
class Ingestion:
    library: Library
    jobs: Jobs
    blobs: Blobs
    embedder: Embedder

    def request(self, data: bytes, name: str, *, illustrative: bool = False) -> Job:
        """Keep the file and queue its job. The same file under the same name is done already and stays so."""
        if not name.strip():
            raise InputError("a book needs a name, by which it is cited.")
        blob = self.blobs.put(data)
        asked = {"blob": blob, "name": name.strip(), "illustrative": illustrative}
        missing = not self.library.has(blob, name.strip(), self.embedder.model)
        return self.jobs.enqueue(KIND, f"{blob}:{name.strip()}:{self.embedder.model}", asked=asked, again=missing)

    def run(self, job_id: str) -> None:
        """Work on a job to its end. What is wrong with a book ends it as failed and leaves the library as it was."""
        with self.jobs.taken(job_id) as job:
            if job is None:
                return
            try:
                self._put_in(job)
            except CrosscutError as error:
                self.jobs.finish(job.id, error=str(error))
            except Exception as error:
                self.jobs.finish(job.id, error=f"reading the book failed ({type(error).__name__})")
                raise
            else:
                self.jobs.finish(job.id)

    def _put_in(self, job: Job) -> None:
        blob, name = job.asked["blob"], job.asked["name"]
        if self.library.has(blob, name, self.embedder.model):
            return
        book = read_book(self.blobs.get(blob), lambda page, pages: self._on_page(job.id, page, pages))
        if not book.chunks:
            raise InputError("no diagnostic criteria were found in this book: nothing to put into the library.")
        passages = self._embedded(job.id, book)
        self.jobs.report(job.id, stage="store")
        self.library.replace(self._new_book(job, book), passages)
        self.blobs.delete(blob)

    def _on_page(self, job_id: str, page: int, pages: int) -> None:
        if page % _PAGES_A_REPORT == 0 or page == pages:
            self.jobs.report(job_id, stage="read", page=page, pages=pages)

    def _embedded(self, job_id: str, book: Book) -> list[NewPassage]:
        found: list[NewPassage] = []
        for at in range(0, len(book.chunks), _AT_ONCE):
            batch = book.chunks[at : at + _AT_ONCE]
            vectors = self.embedder.embed([f"{chunk.section_path}\n{chunk.text}" for chunk in batch])
            found += [
                NewPassage(chunk.ordinal, chunk.section_path, chunk.page_start, chunk.page_end, chunk.text, vector)
                for chunk, vector in zip(batch, vectors, strict=True)
            ]
            self.jobs.report(job_id, stage="embed", chunk=len(found), chunks=len(book.chunks))
        return found

    def _new_book(self, job: Job, book: Book) -> NewBook:
        return NewBook(
            id=job.asked["blob"],
            name=job.asked["name"],
            illustrative=job.asked["illustrative"],
            pages=book.page_count,
            kept=_listed(book.kept),
            left_out=_listed(book.left_out),
            embedding_model=self.embedder.model,
        )


def open_ingestion(settings: Settings, database: Database) -> Ingestion:
    blobs = open_blobs(settings, database.vault)
    return Ingestion(Library(database), Jobs(database), blobs, embedder(settings))


def _listed(sections: Sequence[object]) -> list[dict[str, object]]:
    return [asdict(section) for section in sections]  # type: ignore[call-overload]


def reindex(library: Library, embedder: Embedder) -> int:
    """Give every book that another model's vectors hide the vectors of this one; how many passages that were."""
    done = 0
    for book in library.of_other_models(embedder.model):
        texts = library.texts(book.id)
        vectors: list[tuple[str, list[float]]] = []
        for at in range(0, len(texts), _AT_ONCE):
            batch = texts[at : at + _AT_ONCE]
            vectors += zip([key for key, _ in batch], embedder.embed([text for _, text in batch]), strict=True)
        library.reembed(book.id, embedder.model, vectors)
        done += len(vectors)
    return done
