"""What a worker does for the library by itself: the sample handbook on the first start, and new vectors on demand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from errors import GatewayError
from rag.handbook import book_title
from rag.ingestion import Ingestion, ensure_handbook, open_ingestion
from settings import Settings
from storage.database import Database
from storage.library import NewBook, NewPassage

VECTOR = [1.0, *[0.0] * 1535]


class _Embedder:
    def __init__(self, *, fails: bool = False) -> None:
        self.model = "tests/one"
        self._fails = fails

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        if self._fails:
            raise GatewayError("tests/one: the gateway is closed for today")
        return [VECTOR for _ in texts]


@pytest.fixture
def ingestion(settings: Settings, database: Database) -> Ingestion:
    return replace(open_ingestion(settings, database), embedder=_Embedder())


def _put_in(ingestion: Ingestion, model: str = "tests/one") -> None:
    passage = NewPassage(1, "Some > Diagnostic Criteria", 3, 3, "A. Something.", VECTOR)
    ingestion.library.replace(NewBook("a" * 64, "A Licensed Book", False, 9, [], [], model), [passage])


def test_the_first_start_asks_for_the_handbook_once(ingestion: Ingestion) -> None:
    job = ensure_handbook(ingestion)
    assert job is not None
    assert job.asked["name"] == book_title()
    assert ensure_handbook(ingestion) is None
    ingestion.run(job.id)
    (book,) = ingestion.library.books()
    assert (book.name, book.illustrative) == (book_title(), True)
    assert ensure_handbook(ingestion) is None


def test_who_removed_the_handbook_does_not_get_it_again(ingestion: Ingestion) -> None:
    job = ensure_handbook(ingestion)
    assert job is not None
    ingestion.jobs.claim(job.id)
    ingestion.jobs.finish(job.id)
    assert ingestion.library.books() == []
    assert ensure_handbook(ingestion) is None


def test_who_has_a_book_does_not_get_the_handbook(ingestion: Ingestion) -> None:
    _put_in(ingestion)
    assert ensure_handbook(ingestion) is None


def test_a_handbook_that_failed_is_tried_again_at_the_next_start(ingestion: Ingestion) -> None:
    closed = replace(ingestion, embedder=_Embedder(fails=True))
    job = ensure_handbook(closed)
    assert job is not None
    closed.run(job.id)
    assert closed.jobs.get(job.id).status == "failed"
    again = ensure_handbook(ingestion)
    assert again is not None
    assert (again.id, again.status) == (job.id, "queued")


def test_new_vectors_are_a_job_like_any_other(ingestion: Ingestion) -> None:
    _put_in(ingestion, model="tests/another")
    job = ingestion.request_reindex()
    assert ingestion.request_reindex().id == job.id
    ingestion.reindex(job.id)
    done = ingestion.jobs.get(job.id)
    assert (done.status, done.progress["chunk"], done.progress["chunks"]) == ("done", 1, 1)
    assert [book.embedding_model for book in ingestion.library.books()] == ["tests/one"]


def test_new_vectors_that_could_not_be_made_leave_the_old_ones_and_say_why(ingestion: Ingestion) -> None:
    _put_in(ingestion, model="tests/another")
    closed = replace(ingestion, embedder=_Embedder(fails=True))
    job = closed.request_reindex()
    closed.reindex(job.id)
    assert closed.jobs.get(job.id).error == "tests/one: the gateway is closed for today"
    assert [book.embedding_model for book in ingestion.library.books()] == ["tests/another"]
