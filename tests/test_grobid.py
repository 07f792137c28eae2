"""GROBID refines a book's structure where it can be had; where it cannot, the book is read without it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pymupdf
import pytest

from errors import InputError, ServiceError
from rag.book import read_book
from rag.embedding import MiniLmEmbedder
from rag.grobid import grobid_headings
from rag.ingestion import Ingestion
from settings import Settings
from storage.blobs import blobs
from storage.database import Database
from storage.jobs import Jobs
from storage.library import Library
from tests.books import typeset

_MUPDF: Any = pymupdf
HEADING, HEADING_Y = "Diagnostic Criteria", 130
FILLER = "The text of this page goes on in the usual way and in the usual size, so that it is the common one."


def _book() -> bytes:
    """A book that sets the title over its criteria like its text."""
    pdf = _MUPDF.open()
    for name in ("Winter Gloom", "Summer Gloom"):
        page = pdf.new_page()
        page.insert_text((72, 90), name, fontsize=16, fontname="hebo")
        page.insert_text((72, HEADING_Y), HEADING, fontsize=10)
        page.insert_text((72, 160), "A. Low mood on most days of the season.", fontsize=10)
        page.insert_text((72, 176), "B. It lifts when the season ends.", fontsize=10)
        for row in range(20):
            page.insert_text((72, 220 + row * 14), FILLER, fontsize=10)
    return bytes(pdf.tobytes())


def _head(page: int, title: str = HEADING) -> str:
    return f'<div><head coords="{page},72.0,{HEADING_Y - 9}.0,90.0,10.0">{title}</head><p>A.</p></div>'


def _tei(*heads: str) -> bytes:
    return f'<TEI xmlns="http://www.tei-c.org/ns/1.0"><text><body>{"".join(heads)}</body></text></TEI>'.encode()


@contextmanager
def _server(answer: bytes, status: int = 200) -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
    received: list[tuple[str, bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(status)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}", received
        finally:
            server.shutdown()


def _no_progress(*_: int) -> None:
    pass


def test_print_alone_does_not_show_these_headings() -> None:
    with pytest.raises(InputError, match="no section of diagnostic criteria"):
        read_book(_book(), _no_progress)


def test_headings_that_grobid_finds_make_sections() -> None:
    data = _book()
    with _server(_tei(_head(1), _head(2))) as (url, received):
        book = read_book(data, _no_progress, lambda pdf: grobid_headings(pdf, url))
    assert [place.path for place in book.kept] == [f"Winter Gloom > {HEADING}", f"Summer Gloom > {HEADING}"]
    assert {chunk.page_start for chunk in book.chunks} == {1, 2}
    assert book.chunks[0].text.startswith("A. Low mood")
    ((path, body),) = received
    assert path == "/api/processFulltextDocument"
    assert data in body
    assert b"teiCoordinates" in body


def test_a_heading_that_does_not_stand_where_grobid_says_is_not_used() -> None:
    elsewhere = _tei(_head(1, "Diagnostic Criteria of Something"), _head(7), '<head coords="nowhere">Prevalence</head>')
    with _server(elsewhere) as (url, _), pytest.raises(InputError, match="no section of diagnostic criteria"):
        read_book(_book(), _no_progress, lambda pdf: grobid_headings(pdf, url))


@pytest.mark.parametrize(
    ("answer", "status", "said"),
    [
        (b"", 500, "status 500"),
        (b"<html>no", 200, "not TEI"),
        (b"", 200, "not TEI"),
        (b'<!DOCTYPE a [<!ENTITY b "c">]><TEI>&b;</TEI>', 200, "not TEI"),
    ],
)
def test_a_server_that_fails_is_told_by_its_failure(answer: bytes, status: int, said: str) -> None:
    with _server(answer, status) as (url, _), pytest.raises(ServiceError, match=said):
        grobid_headings(b"%PDF", url)


def test_a_server_that_is_not_there_is_told() -> None:
    with _server(b"") as (url, _):
        pass
    with pytest.raises(ServiceError, match="did not answer"):
        grobid_headings(b"%PDF", url)


def test_a_book_is_read_without_grobid_rather_than_not_at_all(settings: Settings, database: Database) -> None:
    made = typeset(4).made()
    with _server(b"", 503) as (url, received):
        ingestion = Ingestion(
            Library(database), Jobs(database), blobs(settings, database.vault), MiniLmEmbedder(), grobid_url=url
        )
        job = ingestion.request(made.data, "Invented Conditions")
        ingestion.run(job.id)
    done = ingestion.jobs.get(job.id)
    assert (done.status, len(received)) == ("done", 1)
    assert "read without GROBID" in done.progress["note"]
    assert ingestion.library.books()[0].passages > 0
