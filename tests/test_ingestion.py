"""A book on its way into the library: its progress, bad files, other vectors, and workers that are killed."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import psycopg
import pytest

from errors import GatewayError, InputError
from instruments.disorders import disorders
from rag.book import read_book
from rag.embedding import DIMENSIONS, Vector
from rag.ingestion import (
    KIND,
    MOST_TRIES,
    Ingestion,
    embeddable,
    ensure_handbook,
    open_ingestion,
    reindex,
)
from rag.retrieval import PassageRetriever
from settings import Settings
from storage.crypto import Vault
from storage.database import Database
from storage.embedded import Services
from storage.jobs import Job, Jobs
from tests import books, s3
from tests import gateway as stand_in
from tests.gateway import Behaviour, Exchange, Gateway
from tests.support import wait_until
from tests.worker import empty_queues, send, worker
from workers import celery_app

MODEL = "openai/text-embedding-3-small"
BATCH = 16
PATIENT = 120.0
"""Seconds that a worker may take to start on a machine that has other things to do."""


def ignore(done: int, of: int) -> None:
    pass


@cache
def edition(conditions: int) -> bytes:
    """A book of so many invented conditions: another one for another number."""
    return books.typeset(conditions, narrative=1).made().data


@cache
def texts(data: bytes) -> tuple[str, ...]:
    return tuple(chunk.text for chunk in read_book(data, ignore).chunks)


SMALL, OTHER, BIG = 2, 3, 8  # the big one takes three calls to embed


def through(gate: Gateway, settings: Settings, **given: Any) -> Settings:
    chosen: dict[str, Any] = {"gateway_base_url": gate.base_url, "gateway_api_key": "k", "model_tries": 1}
    return Settings(_env_file=None, crosscut_home=settings.crosscut_home, **{**chosen, **given})


@pytest.fixture
def ingestion(settings: Settings, database: Database, gate: Gateway) -> Ingestion:
    return open_ingestion(through(gate, settings), database)


def put_in(ingestion: Ingestion, data: bytes, name: str = "Manual") -> Job:
    job = ingestion.request(data, name)
    ingestion.run(job.id)
    return ingestion.jobs.get(job.id)


def holds(database: Database, data: bytes, name: str = "Manual") -> bool:
    """Whether the library is this one book, whole and once."""
    listed = database.all("SELECT id, name, embedding_model FROM books")
    stored = database.all("SELECT * FROM passages ORDER BY ordinal")
    identity = hashlib.sha256(data).hexdigest()
    return (
        [(row["id"], row["name"]) for row in listed] == [(identity, name)]
        and tuple(row["text"] for row in stored) == texts(data)
        and [row["ordinal"] for row in stored] == list(range(len(stored)))
        and {(row["book_id"], row["embedding_model"]) for row in stored} == {(identity, listed[0]["embedding_model"])}
    )


def rows(database: Database) -> list[str]:
    """Every row of the library as text: two looks are equal when nothing of it was touched."""
    found = database.all(
        "SELECT b.xmin || b::text AS r FROM books b UNION ALL SELECT p.xmin || p::text FROM passages p ORDER BY r"
    )
    return [row["r"] for row in found]


def is_kept(ingestion: Ingestion, data: bytes) -> bool:
    return ingestion.blobs.exists(hashlib.sha256(data).hexdigest())


@contextmanager
def nobody_may_write(database: Database) -> Iterator[None]:
    """Whoever is about to change the library waits until the block ends."""
    with psycopg.connect(database.url) as connection:
        connection.execute("SELECT pg_advisory_xact_lock(hashtextextended('library', 0))")
        yield


# ---- The way of a book -----------------------------------------------------------------------------------------------


def test_a_book_is_in_the_library_with_all_its_criteria_and_a_vector_for_each(
    ingestion: Ingestion, database: Database, gate: Gateway
) -> None:
    data = edition(BIG)
    assert put_in(ingestion, data).status == "done"
    assert holds(database, data)
    (listed,) = ingestion.library.books()
    read = read_book(data, ignore)
    assert (listed.pages, listed.embedding_model, listed.illustrative) == (read.page_count, MODEL, False)
    assert [place["path"] for place in listed.kept] == [place.path for place in read.kept]
    assert {place["reason"] for place in listed.left_out} == {section.reason for section in read.left_out}
    sent = [text for request in gate.requests for text in request.body["input"]]
    assert sent == [embeddable(chunk.section_path, chunk.text) for chunk in read.chunks]
    assert sent[0].startswith(read.chunks[0].section_path)


def test_how_far_a_book_is_stands_in_its_job_stage_by_stage(
    ingestion: Ingestion, database: Database, gate: Gateway
) -> None:
    job = ingestion.request(edition(BIG), "Manual")
    assert (job.status, job.progress) == ("queued", {})
    seen: list[Job] = []

    def look(exchange: Exchange) -> None:
        seen.append(ingestion.jobs.get(job.id))
        stand_in.embeddings().act(exchange)

    gate.script(*[Behaviour("look", look)] * 3, model=MODEL)
    pages, chunks = read_book(edition(BIG), ignore).page_count, len(texts(edition(BIG)))
    with ThreadPoolExecutor(1) as pool:
        with nobody_may_write(database):
            work = pool.submit(ingestion.run, job.id)
            wait_until(lambda: ingestion.jobs.get(job.id).progress.get("stage") == "store", 60)
            assert ingestion.library.books() == []
        work.result(60)
    read = {"tries": 1, "page": pages, "pages": pages}
    assert [one.status for one in seen] == ["running"] * 3
    assert [one.progress for one in seen] == [
        {**read, "stage": "read"},
        {**read, "stage": "embed", "chunk": BATCH, "chunks": chunks},
        {**read, "stage": "embed", "chunk": 2 * BATCH, "chunks": chunks},
    ]
    ended = ingestion.jobs.get(job.id)
    assert (ended.status, ended.error) == ("done", None)
    assert ended.progress == {**read, "stage": "store", "chunk": chunks, "chunks": chunks}


class Noting(Jobs):
    """Jobs that remember every report."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.reports: list[dict[str, Any]] = []

    def report(self, identifier: str, **progress: int | float | str) -> None:
        self.reports.append(progress)
        super().report(identifier, **progress)


def test_pages_are_reported_every_now_and_then_and_at_the_end(ingestion: Ingestion, database: Database) -> None:
    noting = replace(ingestion, jobs=Noting(database))
    put_in(noting, books.blank(60))
    assert isinstance(noting.jobs, Noting)
    assert [one["page"] for one in noting.jobs.reports if "page" in one] == [25, 50, 60]


def test_the_file_is_kept_only_until_its_book_is_in(ingestion: Ingestion) -> None:
    job = ingestion.request(edition(SMALL), "Manual")
    assert is_kept(ingestion, edition(SMALL))
    ingestion.run(job.id)
    assert not is_kept(ingestion, edition(SMALL))


@pytest.mark.parametrize("name", ["", " \n\t", "\0", "\ud800"])
def test_a_book_needs_a_name(ingestion: Ingestion, name: str) -> None:
    with pytest.raises(InputError, match="needs a name"):
        ingestion.request(edition(SMALL), name)
    assert not is_kept(ingestion, edition(SMALL))


def test_a_name_is_tidied(ingestion: Ingestion, database: Database) -> None:
    put_in(ingestion, edition(SMALL), "  The\0 Manual,\n\ud800 5th ")
    assert holds(database, edition(SMALL), "The Manual, 5th")


def test_nobody_puts_a_book_in_the_place_of_somebody_elses(ingestion: Ingestion, database: Database) -> None:
    late = ingestion.request(edition(OTHER), "Manual", owner="you", over_others=False)  # while there is none yet
    ingestion.run(ingestion.request(edition(SMALL), "Manual", owner="me", over_others=False).id)
    ingestion.run(late.id)
    assert "this would replace 'Manual', which somebody else put in" in (ingestion.jobs.get(late.id).error or "")
    for data, name in ((edition(OTHER), "Manual"), (edition(SMALL), "By another name")):
        with pytest.raises(InputError, match="which somebody else put in"):
            ingestion.request(data, name, owner="you", over_others=False)
    assert ingestion.request(edition(SMALL), "Manual", owner="you", over_others=False).status == "done"
    assert holds(database, edition(SMALL))
    assert [book.owner for book in ingestion.library.books()] == ["me"]
    ingestion.run(ingestion.request(edition(OTHER), "Manual", owner="me", over_others=False).id)
    assert holds(database, edition(OTHER))
    ingestion.run(ingestion.request(edition(SMALL), "Manual", owner="admin").id)
    assert [book.owner for book in ingestion.library.books()] == ["admin"]


# ---- The same and the changed file -----------------------------------------------------------------------------------


def test_the_same_file_again_adds_nothing_and_is_not_embedded_again(
    ingestion: Ingestion, database: Database, gate: Gateway
) -> None:
    first = put_in(ingestion, edition(SMALL))
    before, calls = rows(database), len(gate.requests)
    again = ingestion.request(edition(SMALL), "Manual")
    assert (again.id, again.status) == (first.id, "done")
    assert not is_kept(ingestion, edition(SMALL)), "it is not needed"
    ingestion.run(again.id)
    database.run("DELETE FROM jobs")  # nobody remembers it
    assert put_in(ingestion, edition(SMALL)).status == "done"
    assert (rows(database), len(gate.requests)) == (before, calls)


def test_a_file_asked_for_twice_is_one_job(ingestion: Ingestion, gate: Gateway) -> None:
    first, second = (ingestion.request(edition(SMALL), "Manual") for _ in range(2))
    assert first.id == second.id
    ingestion.run(first.id)
    ingestion.run(second.id)
    assert len(gate.requests) == 1


def test_a_changed_file_of_the_same_name_takes_the_place_of_the_old_one(
    ingestion: Ingestion, database: Database
) -> None:
    put_in(ingestion, edition(SMALL))
    assert put_in(ingestion, edition(OTHER)).status == "done"
    assert holds(database, edition(OTHER))
    assert put_in(ingestion, edition(SMALL)).status == "done", "and back again"
    assert holds(database, edition(SMALL))


def test_whoever_looks_meanwhile_sees_the_old_or_the_new_book_whole(ingestion: Ingestion, database: Database) -> None:
    old, new = edition(SMALL), edition(BIG)
    put_in(ingestion, old)
    counts = {hashlib.sha256(data).hexdigest(): len(texts(data)) for data in (old, new)}
    done = threading.Event()

    def look() -> set[str]:
        seen = set()
        while not done.is_set():
            (listed,) = database.all(
                "SELECT b.id, count(p.*) AS n FROM books b LEFT JOIN passages p ON p.book_id = b.id GROUP BY b.id"
            )
            assert listed["n"] == counts[listed["id"]]
            seen.add(listed["id"])
        return seen

    with ThreadPoolExecutor(2) as pool:
        readers = [pool.submit(look) for _ in range(2)]
        try:
            for data in (new, old, new):
                assert put_in(ingestion, data).status == "done"
        finally:
            done.set()
        assert {seen for reader in readers for seen in reader.result(30)} <= set(counts)
    assert holds(database, new)


def test_a_file_under_another_name_is_renamed(ingestion: Ingestion, database: Database) -> None:
    put_in(ingestion, edition(SMALL))
    assert put_in(ingestion, edition(SMALL), "Renamed").status == "done"
    assert holds(database, edition(SMALL), "Renamed")


def test_two_jobs_for_one_file_both_find_it(ingestion: Ingestion, database: Database) -> None:
    first, second = (ingestion.request(edition(SMALL), name) for name in ("First", "Second"))
    ingestion.run(first.id)
    assert is_kept(ingestion, edition(SMALL)), "the other one needs it"
    ingestion.run(second.id)
    assert [ingestion.jobs.get(job.id).status for job in (first, second)] == ["done", "done"]
    assert holds(database, edition(SMALL), "Second")
    assert not is_kept(ingestion, edition(SMALL))


def test_of_two_workers_on_one_job_one_does_it(
    ingestion: Ingestion, database: Database, settings: Settings, vault: Vault, gate: Gateway
) -> None:
    go_on = threading.Event()

    def wait(exchange: Exchange) -> None:
        assert go_on.wait(60)
        stand_in.embeddings().act(exchange)

    gate.script(Behaviour("wait", wait), model=MODEL)
    job = ingestion.request(edition(BIG), "Manual")
    with ThreadPoolExecutor(1) as pool, Database(database.url, vault) as elsewhere:
        work = pool.submit(ingestion.run, job.id)
        try:
            assert gate.wait_for_requests(1)
            open_ingestion(through(gate, settings), elsewhere).run(job.id)  # comes back at once
            assert (ingestion.jobs.get(job.id).status, len(gate.requests)) == ("running", 1)
        finally:
            go_on.set()
        work.result(60)
        open_ingestion(through(gate, settings), elsewhere).run(job.id)
    assert (ingestion.jobs.get(job.id).progress["tries"], len(gate.requests)) == (1, 3)
    assert holds(database, edition(BIG))


# ---- What goes wrong -------------------------------------------------------------------------------------------------


def without_criteria() -> bytes:
    press = books.Press()
    press.heading(1, "A Novel")
    press.paragraph(books.Writer(3).text(40))
    return press.made().data


BAD: dict[str, tuple[Callable[[], bytes], str]] = {
    "encrypted": (lambda: books.encrypted(edition(OTHER), "secret"), "encrypted: it asks for a password"),
    "only images": (lambda: books.scanned(3), "only images: none of its 3 pages has text.*OCR"),
    "empty file": (lambda: b"", r"empty \(0 bytes"),
    "truncated": (lambda: edition(OTHER)[: len(edition(OTHER)) // 2], "cut off.*again, completely"),
    "blank pages": (lambda: books.blank(5000), "none of its 5000 pages has text"),
    "not a PDF": (lambda: b"Dear reader, this is a letter. " * 50, "not a PDF file: it does not begin with"),
    "no criteria": (without_criteria, "no section of diagnostic criteria"),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_file_ends_its_job_with_the_reason_and_leaves_everything_as_it_was(
    ingestion: Ingestion, database: Database, gate: Gateway, kind: str
) -> None:
    put_in(ingestion, edition(SMALL))
    before, calls = rows(database), len(gate.requests)
    make, reason = BAD[kind]
    data = make()
    job = put_in(ingestion, data)
    assert job.status == "failed"
    assert re.search(reason, job.error or ""), job.error
    assert (rows(database), len(gate.requests)) == (before, calls)
    assert not is_kept(ingestion, data)
    again = ingestion.request(data, "Manual")
    assert (again.id, again.status, again.error, again.progress) == (job.id, "queued", None, {})


def test_a_job_that_failed_can_be_asked_for_again(ingestion: Ingestion, database: Database, gate: Gateway) -> None:
    gate.script(stand_in.embeddings(), stand_in.unauthorised(), model=MODEL)
    failed = put_in(ingestion, edition(BIG))
    assert (failed.status, failed.progress["chunk"]) == ("failed", BATCH)
    assert MODEL in (failed.error or "")
    assert texts(edition(BIG))[BATCH][:20] not in (failed.error or ""), "what the gateway echoes is told to nobody"
    assert ingestion.library.books() == []
    done = put_in(ingestion, edition(BIG))
    assert (done.id, done.status, done.error) == (failed.id, "done", None)
    assert holds(database, edition(BIG))
    assert not is_kept(ingestion, edition(BIG))


class Failing:
    """An embedder in which something breaks that nobody thought of."""

    model = MODEL

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        raise self._error


def test_an_unexpected_error_ends_the_job_without_its_words(ingestion: Ingestion) -> None:
    broken = replace(ingestion, embedder=Failing(RuntimeError("a page of the book")))
    job = broken.request(edition(SMALL), "Manual")
    with pytest.raises(RuntimeError):
        broken.run(job.id)
    ended = ingestion.jobs.get(job.id)
    assert (ended.status, ended.error) == ("failed", "reading the book failed (RuntimeError)")
    assert put_in(ingestion, edition(SMALL)).status == "done"


class Ended(BaseException):
    """What nobody catches: to the job it is as if the process had been killed."""


def test_a_file_that_ends_every_worker_is_given_up(ingestion: Ingestion, database: Database) -> None:
    deadly = replace(ingestion, embedder=Failing(Ended()))
    job = deadly.request(edition(SMALL), "Manual")
    for tries in range(1, MOST_TRIES + 1):
        with pytest.raises(Ended):
            deadly.run(job.id)
        left = ingestion.jobs.get(job.id)
        assert (left.status, left.progress["tries"]) == ("running", tries)
    deadly.run(job.id)
    ended = ingestion.jobs.get(job.id)
    assert ended.status == "failed"
    assert f"{MOST_TRIES} workers ended while they read this book" in (ended.error or "")
    assert put_in(ingestion, edition(SMALL)).progress["tries"] == 1, "asked for again, it begins anew"
    assert holds(database, edition(SMALL))


# ---- Other vectors ---------------------------------------------------------------------------------------------------


class Constant:
    """Another model, to which all is the same."""

    model = "someone/else"

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        return [[1.0] + [0.0] * (DIMENSIONS - 1) for _ in texts]


def vectors(database: Database) -> list[tuple[str, str, str]]:
    found = database.all("SELECT chunk_id, embedding_model, embedding::text AS v FROM passages ORDER BY chunk_id")
    return [(row["chunk_id"], row["embedding_model"], row["v"]) for row in found]


def test_a_reindexed_library_has_the_vectors_of_a_fresh_one(ingestion: Ingestion, database: Database) -> None:
    put_in(replace(ingestion, embedder=Constant()), edition(BIG))
    old = vectors(database)
    told: list[tuple[int, int]] = []
    assert reindex(ingestion.library, ingestion.embedder, lambda done, of: told.append((done, of))) == 40
    reindexed = vectors(database)
    assert told == [(16, 40), (32, 40), (40, 40)]
    assert [row[0] for row in reindexed] == [row[0] for row in old]
    ingestion.library.remove(ingestion.library.books()[0].id)
    put_in(ingestion, edition(BIG))
    assert vectors(database) == reindexed


def test_only_books_of_other_models_are_reindexed(ingestion: Ingestion, database: Database, gate: Gateway) -> None:
    put_in(ingestion, edition(SMALL), "Ours")
    put_in(replace(ingestion, embedder=Constant()), edition(OTHER), "Theirs")
    calls = len(gate.requests)
    assert reindex(ingestion.library, ingestion.embedder, ignore) == len(texts(edition(OTHER)))
    assert len(gate.requests) == calls + 1
    assert reindex(ingestion.library, ingestion.embedder, ignore) == 0
    assert ingestion.library.of_other_models(MODEL) == []
    assert ingestion.request(edition(OTHER), "Theirs").status == "queued"
    assert put_in(ingestion, edition(OTHER), "Theirs").status == "done"
    assert len(gate.requests) == calls + 1, "the same file is there, in vectors of this model"


def test_a_reindex_that_fails_leaves_each_book_whole_and_goes_on_later(
    ingestion: Ingestion, database: Database, gate: Gateway
) -> None:
    elsewhere = replace(ingestion, embedder=Constant())
    put_in(elsewhere, edition(SMALL), "A")
    put_in(elsewhere, edition(BIG), "B")
    gate.script(stand_in.embeddings(), stand_in.embeddings(), stand_in.server_error(), model=MODEL)
    with pytest.raises(GatewayError):
        reindex(ingestion.library, ingestion.embedder, ignore)
    assert {one.name: one.embedding_model for one in ingestion.library.books()} == {"A": MODEL, "B": Constant.model}
    assert len({(row[0][:16], row[1]) for row in vectors(database)}) == 2, "no book in vectors of two models"
    assert reindex(ingestion.library, ingestion.embedder, ignore) == len(texts(edition(BIG)))


def test_a_reindex_can_be_a_job_like_any_other(ingestion: Ingestion, gate: Gateway) -> None:
    put_in(replace(ingestion, embedder=Constant()), edition(SMALL))
    job = ingestion.request_reindex()
    assert ingestion.request_reindex().id == job.id
    gate.script(stand_in.unauthorised(), model=MODEL)
    ingestion.reindex(job.id)
    assert ingestion.jobs.get(job.id).status == "failed"
    assert ingestion.request_reindex().status == "queued"
    ingestion.reindex(job.id)
    done, chunks = ingestion.jobs.get(job.id), len(texts(edition(SMALL)))
    assert (done.status, done.error) == ("done", None)
    assert done.progress == {"stage": "embed", "chunk": chunks, "chunks": chunks}
    assert ingestion.library.of_other_models(MODEL) == []


# ---- Workers that are killed -----------------------------------------------------------------------------------------


with_workers = pytest.mark.timeout(3 * PATIENT)


@pytest.fixture
def queues(servers: Services) -> str:
    empty_queues(servers.redis_url)
    return servers.redis_url


def environment_of(gate: Gateway, **extra: str) -> dict[str, str]:
    return {"GATEWAY_BASE_URL": gate.base_url, "GATEWAY_API_KEY": "k", "MODEL_CALL_SECONDS": "120", **extra}


def port_of(gate: Gateway) -> int:
    return int(gate.base_url.split(":")[2].split("/")[0])


def ends(jobs: Jobs, job: Job) -> None:
    wait_until(lambda: jobs.get(job.id).status not in ("queued", "running"), PATIENT)
    assert (jobs.get(job.id).status, jobs.get(job.id).error) == ("done", None)


@with_workers
def test_a_job_whose_worker_was_killed_while_it_embedded_is_taken_up_by_another(
    ingestion: Ingestion, database: Database, home: Path, queues: str, gate: Gateway, tmp_path: Path
) -> None:
    put_in(ingestion, edition(SMALL))
    before, calls = rows(database), len(gate.requests)
    gate.script(stand_in.embeddings(), stand_in.hang(), model=MODEL)
    job = ingestion.request(edition(BIG), "Manual")
    with worker(home, database.url, tmp_path / "first", **environment_of(gate)) as first:
        send(queues, "crosscut.ingest", job.id)
        assert gate.wait_for_requests(calls + 2, PATIENT), first.said()
        first.kill()
    left = ingestion.jobs.get(job.id)
    assert (left.status, left.progress["stage"], left.progress["chunk"]) == ("running", "embed", BATCH)
    assert rows(database) == before, "the old book is as it was"
    assert is_kept(ingestion, edition(BIG))
    with worker(home, database.url, tmp_path / "second", **environment_of(gate)):
        send(queues, "crosscut.take_up", 0)
        ends(ingestion.jobs, job)
    assert ingestion.jobs.get(job.id).progress["tries"] == 2
    assert holds(database, edition(BIG))
    assert not is_kept(ingestion, edition(BIG))


@with_workers
def test_a_worker_whose_child_was_killed_gives_the_job_to_the_next_child(
    ingestion: Ingestion, database: Database, home: Path, queues: str, gate: Gateway, tmp_path: Path
) -> None:
    gate.script(stand_in.embeddings(), stand_in.hang(), model=MODEL)
    job = ingestion.request(edition(BIG), "Manual")
    with worker(home, database.url, tmp_path / "said", **environment_of(gate)) as running:
        send(queues, "crosscut.ingest", job.id)
        assert gate.wait_for_requests(2, PATIENT), running.said()
        running.child_talking_to(port_of(gate)).kill()
        ends(ingestion.jobs, job)
    assert ingestion.jobs.get(job.id).progress["tries"] == 2
    assert holds(database, edition(BIG))


@with_workers
def test_a_worker_killed_between_the_library_and_the_end_of_its_job_did_it_once(
    settings: Settings,
    database: Database,
    home: Path,
    queues: str,
    gate: Gateway,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The book is in, its file about to be deleted, and the store of files does not answer: there the worker waits."""
    reached, go_on = threading.Event(), threading.Event()

    def say_nothing(handler: object) -> None:
        reached.set()
        go_on.wait(PATIENT)

    with s3.s3() as store:

        def embed(exchange: Exchange) -> None:
            store.faults.append(say_nothing)
            stand_in.embeddings().act(exchange)

        gate.script(Behaviour("embed", embed), model=MODEL)
        shelf = {"url": store.url, "bucket": s3.BUCKET, "key": s3.KEY, "secret": s3.SECRET}
        shelved = through(gate, settings, **{f"crosscut_s3_{name}": value for name, value in shelf.items()})
        ingestion = open_ingestion(shelved, database)
        surroundings = environment_of(gate, **{f"CROSSCUT_S3_{name.upper()}": value for name, value in shelf.items()})
        job = ingestion.request(edition(SMALL), "Manual")
        try:
            with worker(home, database.url, tmp_path / "first", **surroundings) as first:
                send(queues, "crosscut.ingest", job.id)
                assert reached.wait(PATIENT), first.said()
                first.kill()
        finally:
            go_on.set()
        assert holds(database, edition(SMALL))
        assert ingestion.jobs.get(job.id).status == "running"
        before = rows(database)
        monkeypatch.setattr(celery_app._process, "settings", shelved)
        monkeypatch.setattr(celery_app._process, "database", database)
        assert celery_app.take_up_books(3600) == 0, "nobody is missed yet"
        assert celery_app.take_up_books(0) == 1

        def done() -> bool:
            celery_app.take_up_books(0)  # the dead one's connection may hold the job for another moment
            return ingestion.jobs.get(job.id).status == "done"

        wait_until(done)
        assert (rows(database), len(gate.requests)) == (before, 1), "it was not done again"
        assert store.objects == {}


def test_a_job_that_speaks_is_not_taken_up(ingestion: Ingestion) -> None:
    job = ingestion.request(edition(SMALL), "Manual")
    assert ingestion.jobs.waiting(KIND, seconds=60) == []
    assert ingestion.jobs.waiting(KIND, seconds=0) == [job.id]
    ingestion.run(job.id)
    assert ingestion.jobs.waiting(KIND, seconds=0) == []


# ---- The sample handbook ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def handbook(template: Callable[[], str], settings: Settings, vault: Vault) -> Iterator[Ingestion]:
    """In a library of its own, in vectors of the embedded model."""
    with Database(template(), vault) as database:
        ingestion = open_ingestion(Settings(_env_file=None, crosscut_home=settings.crosscut_home), database)
        job = ensure_handbook(ingestion)
        assert job is not None
        assert ensure_handbook(ingestion) is None, "it is asked for once"
        ingestion.run(job.id)
        assert ingestion.jobs.get(job.id).status == "done"
        assert ensure_handbook(ingestion) is None
        yield ingestion


def test_the_handbook_gives_the_criteria_of_every_disorder_and_nothing_else(handbook: Ingestion) -> None:
    (listed,) = handbook.library.books()
    assert listed.illustrative
    known = disorders().disorders
    assert len(known) >= 25
    passages = handbook.library.texts(listed.id)
    for one in known:
        path = f"{one.category} > {one.name} > Diagnostic Criteria"
        assert path in {place["path"] for place in listed.kept}
        assert any(section == path and re.search(r"^A\. ", text, re.MULTILINE) for _, section, text in passages), (
            one.name
        )
    assert not [section for _, section, _ in passages if re.search("Prevalence|Features|Overview", section)]
    assert {place["reason"] for place in listed.left_out} >= {"narrative"}


QUERIES: dict[str, Callable[[str], tuple[str, tuple[str, ...]]]] = {
    "name": lambda name: (name, ()),
    "in small letters": lambda name: (name.lower(), ()),
    "candidate": lambda name: (name, (name,)),
    "question": lambda name: (f"What are the criteria for {name}?", ()),
}


@pytest.mark.parametrize("kind", QUERIES)
def test_a_disorder_is_found_by_its_name(handbook: Ingestion, kind: str) -> None:
    retriever = PassageRetriever(handbook.library, handbook.embedder)
    places = {one.name: _place(retriever, one.name, *QUERIES[kind](one.name)) for one in disorders().disorders}
    later = {name: place for name, place in places.items() if place != 1}
    hit_at_1 = sum(place == 1 for place in places.values()) / len(places)
    hit_at_5 = sum(place is not None and place <= 5 for place in places.values()) / len(places)
    assert hit_at_1 >= 0.9, later
    assert hit_at_5 >= 0.97, later


def _place(retriever: PassageRetriever, name: str, text: str, names: tuple[str, ...]) -> int | None:
    """Where the first passage of the disorder stands."""
    found = retriever.find(text, names)
    assert all(passage.is_illustrative for passage in found)
    return next((at for at, one in enumerate(found, 1) if f" > {name} > " in one.citation), None)
