"""A book on its way into the library: read, chunked, embedded, and put in all at once.

Whoever works on a job holds it, and the last step is one transaction: a worker that is killed leaves the library as it
was, and whoever takes the job up again ends it once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass

from errors import CrosscutError, InputError, ServiceError
from rag.book import Book, read_book
from rag.embedding import Embedder, Vector, embedder
from rag.grobid import grobid_headings
from rag.handbook import book_title, build_pdf
from rag.pdf import OutlineEntry
from rag.text import tidy
from settings import Settings
from storage.blobs import Blobs
from storage.blobs import blobs as open_blobs
from storage.database import Database
from storage.jobs import Job, Jobs
from storage.library import Library, NewBook, NewPassage

KIND = "ingest"
REINDEX = "reindex"
STAGES = ("read", "embed", "store")
MOST_TRIES = 5
"""A file that kills whoever reads it is not given to one worker after the other for ever."""
_AT_ONCE = 16  # passages embedded between two reports
_PAGES_A_REPORT = 25


@dataclass(frozen=True)
class Ingestion:
    library: Library
    jobs: Jobs
    blobs: Blobs
    embedder: Embedder
    grobid_url: str | None = None

    def request(
        self,
        data: bytes,
        name: str,
        *,
        illustrative: bool = False,
        owner: str | None = None,
        over_others: bool = True,
    ) -> Job:
        """Keep the file and queue its job. The same file under the same name is done already and stays so. Without
        `over_others`, it takes the place of no book that somebody else put in."""
        name = tidy(name)
        if not name:
            raise InputError("a book needs a name, by which it is cited.")
        blob = hashlib.sha256(data).hexdigest()
        missing = not self.library.has(blob, name, self.embedder.model)
        if missing and not over_others:
            self.library.refuse_others(blob, name, owner)
        if missing:
            self.blobs.put(data)
        asked = {"blob": blob, "name": name, "illustrative": illustrative, "owner": owner, "over_others": over_others}
        return self.jobs.enqueue(KIND, f"{blob}:{name}:{self.embedder.model}", asked=asked, again=missing)

    def run(self, job_id: str) -> None:
        """Work on a job to its end. What is wrong with a book ends it as failed and leaves the library as it was."""
        with self.jobs.taken(job_id) as job:
            if job is None:
                return
            try:
                self._try_again(job)
                self._put_in(job)
                self._drop_file(job)
            except InputError as error:  # the file stays as it is, however often it is read
                self.jobs.finish(job.id, error=str(error))
                self._drop_file(job)
            except CrosscutError as error:
                self.jobs.finish(job.id, error=str(error))
            except Exception as error:
                self.jobs.finish(job.id, error=f"reading the book failed ({type(error).__name__})")
                self._drop_file(job)
                raise
            else:
                self.jobs.finish(job.id)

    def request_reindex(self) -> Job:
        """Queue that all books get vectors of this model; asked for again while it runs, it is the same job."""
        return self.jobs.enqueue(REINDEX, self.embedder.model, again=True)

    def reindex(self, job_id: str) -> None:
        """Work on such a job to its end."""
        self.jobs.work(job_id, self._give_new_vectors, failing="giving new vectors failed")

    def _give_new_vectors(self, job: Job) -> None:
        reindex(self.library, self.embedder, lambda done, of: self._on_passages(job.id, done, of))

    def _try_again(self, job: Job) -> None:
        tries = job.progress.get("tries", 0)
        if tries >= MOST_TRIES:
            raise InputError(
                f"{tries} workers ended while they read this book, so it is not tried again by itself. "
                "Use another copy of the PDF, and look into the worker's log."
            )
        self.jobs.report(job.id, tries=tries + 1)

    def _put_in(self, job: Job) -> None:
        blob, name = job.asked["blob"], job.asked["name"]
        if self.library.has(blob, name, self.embedder.model):
            return
        book = self._read(job.id, self.blobs.get(blob))
        if not book.chunks:
            raise InputError("no diagnostic criteria were found in this book: nothing to put into the library.")
        passages = self._embedded(job.id, book)
        self.jobs.report(job.id, stage="store")
        self.library.replace(self._new_book(job, book), passages, over_others=job.asked.get("over_others", True))

    def _read(self, job_id: str, data: bytes) -> Book:
        also = (lambda pdf: self._grobid_headings(job_id, pdf)) if self.grobid_url else None
        return read_book(data, lambda page, pages: self._on_page(job_id, page, pages), also)

    def _grobid_headings(self, job_id: str, data: bytes) -> list[OutlineEntry]:
        """None rather than no book at all, and the job says so."""
        try:
            return grobid_headings(data, self.grobid_url or "")
        except ServiceError as error:
            self.jobs.report(job_id, note=f"read without GROBID: {error}")
            return []

    def _drop_file(self, job: Job) -> None:
        """Unless the same file was asked for under another name, and waits."""
        if not self.jobs.is_asked_for(KIND, "blob", job.asked["blob"], besides=job.id):
            self.blobs.delete(job.asked["blob"])

    def _on_page(self, job_id: str, page: int, pages: int) -> None:
        if page % _PAGES_A_REPORT == 0 or page == pages:
            self.jobs.report(job_id, stage="read", page=page, pages=pages)

    def _on_passages(self, job_id: str, done: int, of: int) -> None:
        self.jobs.report(job_id, stage="embed", chunk=done, chunks=of)

    def _embedded(self, job_id: str, book: Book) -> list[NewPassage]:
        vectors: list[Vector] = []
        for batch in _vectors(self.embedder, [embeddable(chunk.section_path, chunk.text) for chunk in book.chunks]):
            vectors += batch
            self._on_passages(job_id, len(vectors), len(book.chunks))
        return [
            NewPassage(chunk.ordinal, chunk.section_path, chunk.page_start, chunk.page_end, chunk.text, vector)
            for chunk, vector in zip(book.chunks, vectors, strict=True)
        ]

    def _new_book(self, job: Job, book: Book) -> NewBook:
        return NewBook(
            id=job.asked["blob"],
            name=job.asked["name"],
            illustrative=job.asked["illustrative"],
            pages=book.page_count,
            kept=_listed(book.kept),
            left_out=_listed(book.left_out),
            embedding_model=self.embedder.model,
            owner=job.asked.get("owner"),
        )


def open_ingestion(settings: Settings, database: Database) -> Ingestion:
    blobs = open_blobs(settings, database.vault)
    grobid = str(settings.grobid_url) if settings.grobid_url else None
    return Ingestion(Library(database), Jobs(database), blobs, embedder(settings), grobid)


def ensure_handbook(ingestion: Ingestion) -> Job | None:
    """Ask for the sample handbook where nobody has put a book in yet; None when there is nothing to do.

    Who removed it does not get it again; where it could not be read, another start is another try.
    """
    asked_for = ingestion.jobs.newest(KIND)
    if ingestion.library.books() or any(job.status != "failed" for job in asked_for):
        return None
    return ingestion.request(build_pdf(), book_title(), illustrative=True)


def reindex(library: Library, embedder: Embedder, on_passages: Callable[[int, int], None]) -> int:
    """Give every book that another model's vectors hide the vectors of this one; how many passages that were.

    `on_passages` gets how many of how many are done. A book changes all at once, so that whoever is stopped on the way
    goes on with the next one later.
    """
    hidden = library.of_other_models(embedder.model)
    done, of = 0, sum(book.passages for book in hidden)
    for book in hidden:
        known = library.texts(book.id)
        vectors: list[Vector] = []
        for batch in _vectors(embedder, [embeddable(section_path, text) for _, section_path, text in known]):
            vectors += batch
            on_passages(done + len(vectors), of)
        chunk_ids = [chunk_id for chunk_id, _, _ in known]
        done += library.reembed(book, embedder.model, list(zip(chunk_ids, vectors, strict=True)))
    return done


def embeddable(section_path: str, text: str) -> str:
    """What a passage's vector is made of: its text alone seldom says whose criteria they are."""
    return f"{section_path}\n{text}"


def _vectors(embedder: Embedder, texts: Sequence[str]) -> Iterator[list[Vector]]:
    for at in range(0, len(texts), _AT_ONCE):
        yield embedder.embed(texts[at : at + _AT_ONCE])


def _listed(sections: Sequence[object]) -> list[dict[str, object]]:
    return [asdict(section) for section in sections]  # type: ignore[call-overload]
