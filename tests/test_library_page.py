"""The library page in a real browser: the sample handbook, a book of one's own, a search, and what goes wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from rag.handbook import book_title
from storage.crypto import load_vault
from storage.database import Database
from storage.embedded import services
from storage.jobs import Job, JobStatus
from storage.library import Library, NewBook, NewPassage
from tests.books import encrypted, typeset
from tests.browser import Watched, chromium
from tests.product import Product
from ui.library import how_far

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

NAME = "Manual <b>of</b> *Invented* :smile: Conditions"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    expect.set_options(timeout=60_000)
    with chromium() as opened:
        yield opened


@pytest.fixture
def page(browser: Browser, product: Product) -> Iterator[Page]:
    watched = Watched(browser.new_page(), product.address)
    watched.page.set_default_timeout(60_000)
    watched.page.goto(f"{product.address}/library")
    expect(watched.page.get_by_role("heading", name="Look something up")).to_be_visible()
    yield watched.page
    watched.page.close()
    assert watched.problems == []


@pytest.fixture(scope="module")
def made() -> bytes:
    return typeset(2, narrative=2).made().data


def _upload(page: Page, data: bytes, name: str) -> None:
    file = {"name": "file.pdf", "mimeType": "application/pdf", "buffer": data}
    page.get_by_test_id("stFileUploaderDropzoneInput").set_input_files(file)  # type: ignore[arg-type]
    expect(page.get_by_text("file.pdf")).to_be_visible()
    page.get_by_label("The name by which it is cited").fill(name)
    page.get_by_role("button", name="Put it in").click()


def _card(page: Page, name: str) -> Locator:
    """A book's own box, not the line that says how its job went."""
    return page.locator("[class*=st-key-book-]").filter(has_text=name)


def test_the_sample_handbook_comes_by_itself_and_appears_without_a_reload(page: Page) -> None:
    expect(_card(page, book_title())).to_be_visible(timeout=150_000)
    expect(_card(page, book_title()).get_by_text("illustrative, not DSM-5")).to_be_visible()
    page.get_by_label("What to look for").fill("sudden fear with a racing heart")
    page.get_by_label("What to look for").press("Enter")
    expect(page.get_by_text("(illustrative handbook, not DSM-5), p. ", exact=False).first).to_be_visible()
    expect(page.get_by_text("Panic Disorder > Diagnostic Criteria", exact=False).first).to_be_visible()


def test_a_book_is_put_in_while_one_watches_searched_and_removed(page: Page, made: bytes) -> None:
    _upload(page, made, NAME)
    expect(page.get_by_test_id("stProgress").filter(has_text=NAME)).to_be_visible()
    expect(page.get_by_text(f"{NAME} is in the library.")).to_be_visible()
    card = _card(page, NAME)
    expect(card.get_by_text("passages · put in", exact=False)).to_be_visible()
    card.get_by_text("kept,", exact=False).click()
    expect(card.get_by_test_id("stDataFrame").first).to_be_visible()
    expect(page.get_by_text("Not searched while a licensed book is in the library.")).to_be_visible()
    page.get_by_label("What to look for").fill("Specifiers")
    page.get_by_label("What to look for").press("Enter")
    expect(page.get_by_text(f"[{NAME}, p. ", exact=False).first).to_be_visible()
    assert page.locator("[data-testid=stMain] b, [data-testid=stMain] em").count() == 0
    card.get_by_role("button", name="Remove").click()
    page.get_by_role("button", name="Remove this book").click()
    expect(page.get_by_text(NAME)).to_have_count(0)
    expect(_card(page, book_title())).to_be_visible()


def test_two_books_one_after_the_other_are_both_put_in(page: Page) -> None:
    names = ("The first of two", "The second of two")
    for number, name in enumerate(names, start=1):
        _upload(page, typeset(number, narrative=1).made().data, name)
        expect(page.get_by_text(f"{name} is in the library.")).to_be_visible()
    for name in names:
        card = _card(page, name)
        card.get_by_role("button", name="Remove").click()
        page.get_by_role("button", name="Remove this book").click()
        expect(card).to_have_count(0)


@pytest.mark.parametrize(
    ("data", "message"),
    [(b"not a PDF at all", "PDF"), (encrypted(typeset(1, narrative=1).made().data, "secret"), "password")],
    ids=["broken", "encrypted"],
)
def test_a_file_that_cannot_be_read_says_why(page: Page, data: bytes, message: str) -> None:
    name = f"A book that fails for its {message}"
    _upload(page, data, name)
    failed = page.get_by_test_id("stAlert").filter(has_text=f"{name} could not be put in: ")
    expect(failed).to_contain_text(message)
    expect(_card(page, name)).to_have_count(0)


def test_a_book_of_another_embedding_model_is_named_and_gets_new_vectors(page: Page, product: Product) -> None:
    vector = [1.0, *[0.0] * 1535]
    passage = NewPassage(1, "Old > Diagnostic Criteria", 1, 1, "A. Something that was embedded long ago.", vector)
    with services(product.settings) as found, Database(found.database_url, load_vault(product.settings)) as database:
        Library(database).replace(NewBook("f" * 64, "An Old Book", True, 1, [], [], "somebody/else"), [passage])
        page.reload()
        expect(page.get_by_text("Made with another embedding model", exact=False)).to_contain_text("An Old Book")
        page.get_by_role("button", name="Give them new vectors").click()
        expect(page.get_by_text("Made with another embedding model", exact=False)).to_have_count(0)
        assert Library(database).of_other_models("embedded/minilm-l6-v2") == []
        Library(database).remove("f" * 64)


def test_home_leads_to_the_library_and_back(page: Page, product: Product) -> None:
    page.goto(product.address)
    ways = page.get_by_test_id("stSidebar")
    ways.get_by_role("link", name="Library").click()
    expect(page.get_by_role("heading", name="Put a book in")).to_be_visible()
    ways.get_by_role("link", name="Sessions", exact=True).click()  # others lead to the stops that wait there
    home = re.compile("^(Sessions|Welcome to Crosscut)$")  # by whether other tests have made sessions
    expect(page.get_by_role("heading", name=home)).to_be_visible()
    expect(page.get_by_role("heading", name="Put a book in")).to_have_count(0)


@pytest.mark.parametrize(
    ("status", "progress", "words"),
    [
        ("queued", {"stage": "embed", "chunk": 3, "chunks": 9}, "waiting for the worker"),
        ("running", {}, "waiting for the worker"),
        ("running", {"stage": "read", "page": 25, "pages": 1000}, "reading pages, 25 of 1,000"),
        ("running", {"stage": "embed", "chunk": 32, "chunks": 94}, "embedding passages, 32 of 94"),
        ("running", {"stage": "embed"}, "embedding passages, 0 of 1"),
        ("running", {"stage": "store", "chunk": 94, "chunks": 94}, "storing"),
    ],
)
def test_each_stage_is_told_in_words(status: JobStatus, progress: dict[str, Any], words: str) -> None:
    now = datetime.now(UTC)
    part, said = how_far(Job("1", "ingest", "key", None, status, progress, None, now, now, {}))
    assert said == words
    assert 0 <= part < 1
