"""The commands of the library, run in the test's own process; one of them with a real worker beside it."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from cli import library as commands
from errors import GatewayError, InputError, SettingsError
from rag.ingestion import Ingestion, open_ingestion
from settings import Settings
from storage.database import Database
from storage.embedded import Services
from tests import books
from tests import gateway as stand_in
from tests.command import Crosscut, crosscut_command
from tests.gateway import Gateway
from tests.product import run_cli
from tests.worker import empty_queues, worker

MINILM, MODEL = "embedded/minilm-l6-v2", "openai/text-embedding-3-small"
CRITERIA = {
    "Panic Disorder": "Sudden attacks of fear with a racing heart come again and again.",
    "Insomnia Disorder": "Lying awake for hours on most nights of three months.",
    "Gambling Disorder": "Betting more and more money in spite of debts.",
}
PASSAGES = len(CRITERIA)


@cache
def manual(*, extra: str = "") -> bytes:
    press = books.Press()
    for name, text in CRITERIA.items():
        press.heading(1, name, kind="introduction")
        press.paragraph(f"This is about it. {extra}")
        press.heading(2, books.CRITERIA, kind="criteria")
        press.paragraph(text, label="A.")
        press.paragraph("It causes distress.", label="B.")
        press.heading(2, "Prevalence", kind="narrative")
        press.paragraph("Nobody knows how many have it.")
        press.break_page()
    return press.made().data


@pytest.fixture
def pdf(tmp_path: Path) -> Path:
    path = tmp_path / "The Manual.pdf"
    path.write_bytes(manual())
    return path


@pytest.fixture
def crosscut(settings: Settings, database_url: str, monkeypatch: pytest.MonkeyPatch) -> Crosscut:
    """A command that waits for no worker, since none runs."""
    monkeypatch.setenv("CROSSCUT_HOME", str(settings.crosscut_home))
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setattr(commands, "_PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr(commands, "_LOOK_EVERY_SECONDS", 0.02)

    return crosscut_command


@pytest.fixture
def remote(gate: Gateway) -> dict[str, str]:
    """The settings with which a model behind the gateway makes vectors."""
    return {"GATEWAY_BASE_URL": gate.base_url, "GATEWAY_API_KEY": "k", "MODEL_EMBEDDING": MODEL, "MODEL_TRIES": "1"}


@pytest.fixture
def ingestion(settings: Settings, database: Database) -> Ingestion:
    return open_ingestion(settings, database)


def _json(result: Result) -> Any:
    return json.loads(result.stdout)


# ---- ingest ----


def test_without_a_worker_a_book_is_read_here(crosscut: Crosscut, pdf: Path, ingestion: Ingestion) -> None:
    told = crosscut("ingest", str(pdf)).stdout
    assert (
        f"The Manual: {PASSAGES} passages of {PASSAGES} sections on {PASSAGES} pages; 6 sections were left out." in told
    )
    assert "storing" in told
    assert f"{PASSAGES}/{PASSAGES}" in told
    (listed,) = ingestion.library.books()
    assert (listed.name, listed.passages, listed.illustrative) == ("The Manual", PASSAGES, False)


def test_a_book_is_named_by_its_file_or_as_told(crosscut: Crosscut, pdf: Path, ingestion: Ingestion) -> None:
    crosscut("ingest", str(pdf), "--book", "DSM [revised]")
    assert [book.name for book in ingestion.library.books()] == ["DSM [revised]"]
    assert "DSM [revised]" in crosscut("library").stdout
    assert "[DSM [revised], p. 1, Panic Disorder > Diagnostic Criteria]" in crosscut("search", "Panic Disorder").stdout


def test_the_same_file_again_says_what_is_in(crosscut: Crosscut, pdf: Path, ingestion: Ingestion) -> None:
    first = crosscut("ingest", str(pdf)).stdout.splitlines()[-1]
    before = ingestion.library.books()
    assert crosscut("ingest", str(pdf)).stdout.splitlines()[-1] == first
    assert ingestion.library.books() == before


def test_a_changed_file_takes_the_place_of_the_old_one(crosscut: Crosscut, pdf: Path, ingestion: Ingestion) -> None:
    crosscut("ingest", str(pdf))
    (old,) = ingestion.library.books()
    pdf.write_bytes(manual(extra="Second edition."))
    crosscut("ingest", str(pdf))
    (new,) = ingestion.library.books()
    assert (new.name, new.id != old.id) == (old.name, True)


def test_a_file_that_is_not_there_or_cannot_be_read_is_one_message(crosscut: Crosscut, tmp_path: Path) -> None:
    assert "there is no file" in str(crosscut("ingest", str(tmp_path / "no.pdf"), fails=InputError).exception)
    assert "there is no file" in str(crosscut("ingest", str(tmp_path), fails=InputError).exception)


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"Hello, I am a letter. " * 9, "not a PDF file"), (b"", "empty"), (manual()[:900], "cut off")],
)
def test_a_file_that_is_no_book_is_refused_with_the_reason(
    crosscut: Crosscut, pdf: Path, ingestion: Ingestion, content: bytes, reason: str
) -> None:
    crosscut("ingest", str(pdf))
    before = ingestion.library.books()
    pdf.write_bytes(content)
    assert reason in str(crosscut("ingest", str(pdf), fails=InputError).exception)
    assert reason in str(crosscut("ingest", str(pdf), fails=InputError).exception), "and again"
    assert ingestion.library.books() == before


def test_a_job_that_a_killed_command_left_is_ended_by_the_next_one(
    crosscut: Crosscut, pdf: Path, ingestion: Ingestion
) -> None:
    left = ingestion.request(pdf.read_bytes(), "The Manual")
    assert ingestion.jobs.claim(left.id) is not None
    assert ingestion.jobs.get(left.id).status == "running"
    crosscut("ingest", str(pdf))
    assert ingestion.jobs.get(left.id).status == "done"


def test_a_job_that_somebody_works_on_is_waited_for(
    crosscut: Crosscut, pdf: Path, ingestion: Ingestion, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried, run = threading.Semaphore(0), Ingestion.run

    def counted(self: Ingestion, job_id: str) -> None:
        run(self, job_id)
        tried.release()

    monkeypatch.setattr(Ingestion, "run", counted)
    job = ingestion.request(pdf.read_bytes(), "The Manual")
    with ThreadPoolExecutor(1) as pool:
        with ingestion.jobs.taken(job.id):
            command = pool.submit(crosscut, "ingest", str(pdf))
            assert all(tried.acquire(timeout=60) for _ in range(3)), "it looks whether the job is still held"
            assert not command.done()
            assert ingestion.library.books() == []
        command.result(60)
    assert len(ingestion.library.books()) == 1


@pytest.mark.timeout(300)
def test_with_a_worker_the_worker_reads_it(
    crosscut: Crosscut,
    pdf: Path,
    home: Path,
    database_url: str,
    servers: Services,
    ingestion: Ingestion,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(commands, "_PATIENCE_SECONDS", 250.0)  # so that it is not read here
    empty_queues(servers.redis_url)
    ingestion.request(b"", "so that nobody thinks of the sample handbook")
    with worker(home, database_url, tmp_path / "worker"):
        told = crosscut("ingest", str(pdf)).stdout
    assert f"The Manual: {PASSAGES} passages" in told
    assert [book.name for book in ingestion.library.books()] == ["The Manual"]


# ---- library ----


def test_the_library_lists_its_books(crosscut: Crosscut, pdf: Path, ingestion: Ingestion) -> None:
    assert _json(crosscut("library", "--json")) == []
    crosscut("ingest", str(pdf))
    sample = ingestion.request(manual(extra="A sample."), "Sample", illustrative=True)
    ingestion.run(sample.id)
    told = crosscut("library").stdout
    assert "The Manual" in told
    assert "Sample (illustrative)" in told
    assert MINILM in told
    first, second = _json(crosscut("library", "--json"))
    assert first.keys() == {
        "id", "name", "illustrative", "pages", "passages", "kept", "leftOut", "embeddingModel", "ingestedAt",
    }  # fmt: skip
    assert (first["name"], first["passages"], first["embeddingModel"]) == ("The Manual", PASSAGES, MINILM)
    assert first["kept"][0] == {"sectionPath": "Panic Disorder > Diagnostic Criteria", "pageStart": 1, "pageEnd": 1}
    assert {"sectionPath": "Panic Disorder > Prevalence", "pageStart": 1, "pageEnd": 1, "reason": "narrative"} in first[
        "leftOut"
    ]
    assert (second["name"], second["illustrative"]) == ("Sample", True)


# ---- search ----


def test_a_search_prints_passages_with_citation_and_likeness(crosscut: Crosscut, pdf: Path) -> None:
    assert "Nothing was found." in crosscut("search", "panic").stdout
    crosscut("ingest", str(pdf))
    lines = crosscut("search", "a racing heart and sudden fear").stdout.splitlines()
    assert lines[0].startswith("[The Manual, p. 1, Panic Disorder > Diagnostic Criteria]  (0.")
    assert lines[1] == f"A. {CRITERIA['Panic Disorder']}"
    first, *_ = _json(crosscut("search", "a racing heart and sudden fear", "--json"))
    assert first["citation"] == "[The Manual, p. 1, Panic Disorder > Diagnostic Criteria]"
    assert first["source"] == {
        "book": "The Manual",
        "pageStart": 1,
        "pageEnd": 1,
        "sectionPath": "Panic Disorder > Diagnostic Criteria",
    }
    assert (first["chunkId"][-6:], first["similarity"] > 0.3) == ("-00000", True)
    assert len(_json(crosscut("search", "disorder", "--limit", "2", "--json"))) == 2


@pytest.mark.parametrize("query", ['"', "[bold]panic[/bold]", "-- '; DROP TABLE books; --", "%s & | !", "\u202e<b>"])
def test_any_query_can_be_asked(crosscut: Crosscut, pdf: Path, query: str) -> None:
    crosscut("ingest", str(pdf))
    _json(crosscut("search", "--json", "--", query))
    crosscut("search", "--", query)
    assert len(_json(crosscut("library", "--json"))) == 1


def test_a_query_without_words_is_one_message(crosscut: Crosscut) -> None:
    assert "no words in it" in str(crosscut("search", " ", fails=InputError).exception)


# ---- other vectors ----


def test_after_another_embedding_model_was_chosen_reindex_brings_the_books_back(
    crosscut: Crosscut, pdf: Path, remote: dict[str, str], gate: Gateway
) -> None:
    crosscut("ingest", str(pdf))
    hidden = crosscut("search", "panic", "--json", **remote)
    assert _json(hidden) == [], "what is printed is JSON all the same"
    assert "Not searched, since made with another embedding model: The Manual. Run `crosscut reindex`." in hidden.stderr
    told = crosscut("reindex", **remote).stdout
    assert f"{PASSAGES} passages have new vectors." in told
    assert f"{PASSAGES}/{PASSAGES}" in told
    assert [book["embeddingModel"] for book in _json(crosscut("library", "--json"))] == [MODEL]
    text = f"Gambling Disorder > Diagnostic Criteria\nA. {CRITERIA['Gambling Disorder']}\nB. It causes distress."
    first, *_ = _json(crosscut("search", text, "--json", **remote))
    assert (first["source"]["sectionPath"], first["similarity"]) == ("Gambling Disorder > Diagnostic Criteria", 1.0)
    calls = len(gate.requests)
    assert "0 passages have new vectors." in crosscut("reindex", **remote).stdout
    assert len(gate.requests) == calls
    assert "Run `crosscut reindex`" in crosscut("search", "panic").stderr, "and back with the embedded one"


def test_a_gateway_that_refuses_is_one_message_and_changes_nothing(
    crosscut: Crosscut, pdf: Path, remote: dict[str, str], gate: Gateway
) -> None:
    crosscut("ingest", str(pdf))
    before = _json(crosscut("library", "--json"))
    gate.script(stand_in.unauthorised(), model=MODEL)
    assert MODEL in str(crosscut("reindex", fails=GatewayError, **remote).exception)
    gate.script(stand_in.unauthorised(), model=MODEL)
    crosscut("ingest", str(pdf), "--book", "Another", fails=InputError, **remote)
    assert _json(crosscut("library", "--json")) == before
    crosscut("search", "panic", fails=SettingsError, MODEL_EMBEDDING=MODEL)


# ---- from outside ----


def test_a_failure_is_one_line_on_stderr(home: Path, database_url: str, tmp_path: Path) -> None:
    told = run_cli(home, "ingest", str(tmp_path / "no.pdf"), DATABASE_URL=database_url)
    assert (told.returncode, told.stdout) == (1, "")
    assert told.stderr.startswith("crosscut: there is no file")
    assert "Traceback" not in told.stderr
