"""The library: put a book in, look something up, give it other vectors."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from cli.base import AsJson, app, console, print_json, print_plain, workbench
from errors import InputError, StorageError

if TYPE_CHECKING:
    from rag.ingestion import Ingestion
    from settings import Settings
    from storage.jobs import Job, Jobs
    from storage.library import BookRow

_LOOK_EVERY_SECONDS = 0.3
_PATIENCE_SECONDS = 5.0
"""When nothing was heard of a job for so long, it is done here, unless a worker holds it."""
_SAID = {"read": "reading pages", "embed": "embedding passages", "store": "storing"}
_WAITING = "waiting for a worker"


@app.command()
def ingest(
    file: Annotated[Path, typer.Argument(help="the book as a PDF that you may use")],
    book: Annotated[str | None, typer.Option(help="the name by which it is cited; else the file's")] = None,
) -> None:
    """Put a book's diagnostic criteria into the library, in the worker if one runs."""
    from rag.ingestion import open_ingestion

    data = _content(file)
    with workbench() as bench:
        ingestion = open_ingestion(bench.settings, bench.database)
        job = ingestion.request(data, book or file.stem)
        if job.status == "queued":
            _send(bench.settings, bench.services.database_url, bench.services.redis_url, job.id)
        _follow(ingestion, job.id)
        _tell(ingestion, job.id)


def _content(file: Path) -> bytes:
    if not file.is_file():
        raise InputError(f"there is no file {str(file)!r}.")
    try:
        return file.read_bytes()
    except OSError as error:
        raise InputError(f"the file {str(file)!r} cannot be read: {error.strerror}.") from None


def _send(settings: Settings, database_url: str, redis_url: str, job_id: str) -> None:
    from workers.celery_app import INGEST, configure, send

    configure(settings, database_url=database_url, redis_url=redis_url)
    send(INGEST, job_id)


def _follow(ingestion: Ingestion, job_id: str) -> None:
    """Until the job has ended: in a worker, else here."""
    heard, since = None, time.monotonic()
    with _shown(ingestion.jobs, job_id):
        while (job := ingestion.jobs.get(job_id)).status in ("queued", "running"):
            if job.updated_at != heard:
                heard, since = job.updated_at, time.monotonic()
            elif time.monotonic() - since > _PATIENCE_SECONDS:
                ingestion.run(job_id)
            time.sleep(_LOOK_EVERY_SECONDS)


@contextmanager
def _shown(jobs: Jobs, job_id: str) -> Iterator[None]:
    """How far the job is, read from its row by a thread of its own: it may be this one that works on it."""
    ended = threading.Event()
    with _bar() as progress:
        bar = progress.add_task(_WAITING, total=None)

        def look() -> None:
            with suppress(StorageError):  # it is for the other thread to say so
                while not ended.wait(_LOOK_EVERY_SECONDS):
                    _show(progress, bar, jobs.get(job_id))

        thread = threading.Thread(target=look, name="progress")
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
        _show(progress, bar, jobs.get(job_id))


def _show(progress: Progress, bar: Any, job: Job) -> None:
    stage, known = job.progress.get("stage", ""), job.progress
    done, total = known.get("page", 0), known.get("pages")
    if stage in ("embed", "store"):
        done, total = known["chunk"], known["chunks"]
    progress.update(bar, description=_SAID.get(stage, _WAITING), completed=done, total=total)


def _bar() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}/{task.total}"))
    return Progress(*columns, console=console)


def _tell(ingestion: Ingestion, job_id: str) -> None:
    job = ingestion.jobs.get(job_id)
    if job.status != "done":
        raise InputError(job.error or f"the job ended as {job.status}.")
    for book in ingestion.library.books():
        if book.id == job.asked["blob"]:
            print_plain(
                f"{book.name}: {book.passages} passages of {len(book.kept)} sections on {book.pages} pages; "
                f"{len(book.left_out)} sections were left out."
            )


@app.command()
def library(as_json: AsJson = False) -> None:
    """List the books of the library."""
    from storage.library import Library

    with workbench() as bench:
        books = Library(bench.database).books()
    if as_json:
        print_json([_listed(book) for book in books])
        return
    table = Table("book", "pages", "passages", "sections kept", "left out", "vectors")
    for book in books:
        name = f"{book.name} (illustrative)" if book.illustrative else book.name
        counts = map(str, (book.pages, book.passages, len(book.kept), len(book.left_out)))
        table.add_row(Text(name), *counts, book.embedding_model)
    console.print(table)


def _listed(book: BookRow) -> dict[str, Any]:
    return {
        "id": book.id,
        "name": book.name,
        "illustrative": book.illustrative,
        "pages": book.pages,
        "passages": book.passages,
        "kept": [_section(section) for section in book.kept],
        "leftOut": [{**_section(section), "reason": section["reason"]} for section in book.left_out],
        "embeddingModel": book.embedding_model,
        "ingestedAt": book.ingested_at.isoformat(timespec="seconds"),
    }


def _section(section: dict[str, Any]) -> dict[str, Any]:
    return {
        "sectionPath": section["path"],
        "pageStart": section["page_start"],
        "pageEnd": section["page_end"],
    }


@app.command()
def search(query: str, limit: Annotated[int, typer.Option(min=1, max=50)] = 6, as_json: AsJson = False) -> None:
    """Look something up in the library."""
    from rag.embedding import embedder
    from rag.retrieval import PassageRetriever
    from storage.library import Library

    with workbench() as bench:
        found_in, chosen = Library(bench.database), embedder(bench.settings)
        passages = PassageRetriever(found_in, chosen).find(query, limit=limit)
        hidden = found_in.of_other_models(chosen.model)
    if hidden:
        names = ", ".join(book.name for book in hidden)
        typer.echo(f"Not searched, since made with another embedding model: {names}. Run `crosscut reindex`.", err=True)
    if as_json:
        print_json([passage.to_json_dict() for passage in passages])
        return
    for passage in passages:
        print_plain(f"{passage.citation}  ({passage.similarity:.2f})\n{passage.text}\n")
    if not passages:
        console.print("Nothing was found.")


@app.command()
def reindex() -> None:
    """Give books that were put in with another embedding model the vectors of the configured one."""
    from rag.embedding import embedder
    from rag.ingestion import reindex as give_vectors
    from storage.library import Library

    with workbench() as bench, _bar() as progress:
        bar = progress.add_task(_SAID["embed"], total=None, visible=False)
        done = give_vectors(
            Library(bench.database),
            embedder(bench.settings),
            lambda done, of: progress.update(bar, completed=done, total=of, visible=True),
        )
    console.print(f"{done} passages have new vectors.")
