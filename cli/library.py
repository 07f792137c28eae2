"""The library: put a book in, look something up, give it other vectors."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table

from cli.base import AsJson, app, console, print_json, print_plain, workbench
from errors import InputError

if TYPE_CHECKING:
    from rag.ingestion import Ingestion
    from storage.jobs import Job

_LOOK_EVERY_SECONDS = 0.3
_PATIENCE_SECONDS = 5.0
"""So long is waited for a worker to take the job; then it is done here."""
_SAID = {"read": "reading pages", "embed": "embedding passages", "store": "storing"}


@app.command()
def ingest(
    file: Annotated[Path, typer.Argument(help="the book as a PDF that you may use")],
    book: Annotated[str | None, typer.Option(help="the name by which it is cited; else the file's")] = None,
) -> None:
    """Put a book's diagnostic criteria into the library, in the worker if one runs."""
    from rag.ingestion import open_ingestion

    if not file.is_file():
        raise InputError(f"there is no file {str(file)!r}.")
    with workbench() as bench:
        ingestion = open_ingestion(bench.settings, bench.database)
        job = ingestion.request(file.read_bytes(), book or file.stem)
        if job.status == "queued":
            _send(bench.settings, bench.services.database_url, bench.services.redis_url, job.id)
        _followed(ingestion, job)
        _tell(ingestion, job.id)


def _send(settings: object, database_url: str, redis_url: str | None, job_id: str) -> None:
    from kombu.exceptions import OperationalError

    from workers.celery_app import INGEST, configure

    if redis_url is None:
        return
    application = configure(settings, database_url=database_url, redis_url=redis_url)  # type: ignore[arg-type]
    try:
        application.send_task(INGEST, args=[job_id], retry=False)
    except OperationalError:
        return  # no broker: the job is done here


def _followed(ingestion: Ingestion, job: Job) -> None:
    began = time.monotonic()
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}/{task.total}"))
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("waiting for a worker", total=None)
        while (job := ingestion.jobs.get(job.id)).status in ("queued", "running"):
            if job.status == "queued" and time.monotonic() - began > _PATIENCE_SECONDS:
                progress.update(bar, description="reading it here, since no worker took it")
                ingestion.run(job.id)
                continue
            done, total = _how_far(job)
            said = _SAID.get(job.progress.get("stage", ""), "waiting for a worker")
            progress.update(bar, description=said, completed=done, total=total)
            time.sleep(_LOOK_EVERY_SECONDS)


def _how_far(job: Job) -> tuple[int, int | None]:
    stage, known = job.progress.get("stage"), job.progress
    if stage == "embed":
        return known["chunk"], known["chunks"]
    return (known.get("page", 0), known.get("pages")) if stage == "read" else (0, None)


def _tell(ingestion: Ingestion, job_id: str) -> None:
    job = ingestion.jobs.get(job_id)
    if job.status != "done":
        raise InputError(job.error or f"the job ended as {job.status}.")
    book = next(one for one in ingestion.library.books() if one.id == job.asked["blob"])
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
        print_json([{**vars(book), "ingested_at": book.ingested_at.isoformat()} for book in books])
        return
    table = Table("book", "pages", "passages", "sections kept", "left out", "vectors")
    for book in books:
        name = f"{book.name} (illustrative)" if book.illustrative else book.name
        table.add_row(
            name, *map(str, (book.pages, book.passages, len(book.kept), len(book.left_out))), book.embedding_model
        )
    console.print(table)


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
        console.print(
            f"[yellow]Not searched, since made with another embedding model: {names}. Run `crosscut reindex`.[/]"
        )
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

    with workbench() as bench:
        done = give_vectors(Library(bench.database), embedder(bench.settings))
    console.print(f"{done} passages have new vectors.")
