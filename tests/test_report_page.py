"""The report on the review page, in a real browser: a finished interview with a hostile patient."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Download, Locator, Page, expect

from graph.assembly import build_runtime
from graph.exports import exported
from graph.runtime import InterviewRuntime
from graph.view import View
from storage.crypto import load_vault
from storage.database import Database
from storage.embedded import services
from storage.links import PatientLinks
from tests.browser import Watched, chromium
from tests.product import Product

pytestmark = pytest.mark.browser

HOSTILE = (
    "<script>document.title='owned'</script> <img src=x onerror=\"document.title='owned'\">",
    "[a](javascript:alert(1)) ](javascript:alert(1) ![b](http://evil.example/b.png)",
    ":red[x] :smile: :material/home: :material_home: :streamlit: :small[y]{z}",
    "a | b || c \\| d",
    "see http://evil.example/ or www.evil.example or me@evil.example",
    "<quote>x</quote> </quote> <med>y</med> &lt;b&gt; <!-- c -->",
    "$x^2$ and **b** _i_ `c` ~~d~~ # e -> f -- g >= h",
)
REPORT = ".st-key-report"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    expect.set_options(timeout=60_000)
    with chromium() as opened:
        yield opened


@pytest.fixture
def page(browser: Browser, product: Product) -> Iterator[Page]:
    watched = Watched(browser.new_page(), product.address)
    watched.page.set_default_timeout(60_000)
    yield watched.page
    watched.page.close()
    assert watched.problems == []


@pytest.fixture(scope="module")
def attached(product: Product) -> Iterator[InterviewRuntime]:
    with services(product.settings) as found, Database(found.database_url, load_vault(product.settings)) as database:
        runtime = build_runtime(product.settings, database)
        yield runtime
        runtime.close()


@pytest.fixture(scope="module")
def finished(attached: InterviewRuntime) -> View:
    """Everything nearly every day, each time with something that no page may take for its own."""
    view = attached.start()
    while view.open:
        text = f"Nearly every day {HOSTILE[view.item % len(HOSTILE)]}"
        view = attached.submit(view.session_id, text, expected_turn=view.turn)
    attached.reports.newest(view.session_id)
    return view


def _open(page: Page, product: Product, view: View) -> Locator:
    page.goto(f"{product.address}/?session={view.session_id}")
    expect(page.get_by_role("heading", name="Limitations")).to_be_visible()
    expect(page.locator(f"{REPORT} table")).to_have_count(2)
    return page.locator(REPORT)


def _alert(page: Page, words: str) -> Locator:
    return page.get_by_test_id("stAlert").filter(has_text=words)


def _spaced(text: str) -> str:
    return " ".join(text.split())


def test_the_five_sections_come_with_their_evidence_highlighted_and_a_legend(
    page: Page, product: Product, finished: View
) -> None:
    report = _open(page, product, finished)
    assert report.get_by_role("heading").all_inner_texts() == [
        "Executive Summary",
        "Symptom Domain Table",
        "Item-Level Appendix",
        "Provisional Impressions",
        "Limitations",
    ]
    marked = report.locator("table").first.locator(".stMarkdownColoredBackground")
    assert marked.first.inner_text() == "Depression"
    expect(report.locator("table").nth(1).locator("tbody tr")).to_have_count(23)
    expect(report.get_by_test_id("stVegaLiteChart").locator("canvas, svg").first).to_be_visible()
    for meaning in ("symptom or domain", "“the patient’s own words”", "medical term"):
        expect(page.get_by_text(meaning)).to_be_visible()
    expect(_alert(page, "Passages are cited from the illustrative handbook, not DSM-5.")).to_be_visible()


def test_what_a_patient_typed_is_shown_letter_for_letter_and_does_nothing(
    page: Page, product: Product, finished: View
) -> None:
    report = _open(page, product, finished)
    said = {response.item_id: response.evidence_quotes for response in finished.profile.item_responses}
    rows = report.locator("table").nth(1).locator("tbody tr").all()
    for row in rows:
        item, *_, words = [_spaced(cell.text_content() or "") for cell in row.locator("td").all()]
        assert words == " ".join(f"“{_spaced(quote)}”" for quote in said[item])
    quoted = "".join(quote for quotes in said.values() for quote in quotes)
    assert all(sign in quoted for sign in ("<script>", "](javascript:", ":red[", " | ", "www.", "$x^2$", "</quote>"))
    assert report.locator("a, img, script, code, .katex, [role=img], em, del").count() == 0
    assert page.title() == "Crosscut"


def test_a_mode_that_has_no_report_yet_gets_one_before_the_therapists_eyes(
    page: Page, product: Product, finished: View, attached: InterviewRuntime
) -> None:
    report = _open(page, product, finished)
    page.get_by_test_id("stButtonGroup").get_by_text("screening").click()
    expect(page.get_by_text("The report is written.")).to_be_visible()
    expect(report.get_by_text("This report was made in screening mode", exact=False)).to_be_visible()
    page.get_by_text("The report is written.").click()
    expect(page.get_by_text("Putting the sections together …")).to_be_visible()
    page.get_by_test_id("stButtonGroup").get_by_text("diagnostic").click()
    expect(report.get_by_text("confidence", exact=False).first).to_be_visible()
    page.get_by_role("button", name="Write again").click()
    expect(page.get_by_text("The report is written.")).to_be_visible()
    assert [revision.mode for revision in attached.reports.revisions(finished.session_id)] == [
        "diagnostic",
        "screening",
        "diagnostic",
    ]
    page.get_by_test_id("stSelectbox").get_by_role("combobox").click()
    expect(page.get_by_role("option")).to_have_count(2)


def test_it_can_be_taken_away_as_files_and_copied(
    page: Page, product: Product, finished: View, attached: InterviewRuntime
) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=product.address)
    _open(page, product, finished)
    newest = attached.reports.newest(finished.session_id)
    assert _downloaded(page, "Markdown") == exported(newest, "md")
    assert json.loads(_downloaded(page, "JSON with the profile")) == json.loads(exported(newest, "json"))
    assert _downloaded(page, "PDF").startswith(b"%PDF")
    page.get_by_text("Copy as Markdown").click()
    page.get_by_test_id("stCode").hover()
    page.get_by_role("button", name="Copy to clipboard").click()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.strip() == exported(newest, "md").decode().strip()


def _downloaded(page: Page, name: str) -> bytes:
    with page.expect_download() as waiting:
        page.get_by_role("button", name=name, exact=True).click()
    download: Download = waiting.value
    return download.path().read_bytes()


def test_a_patient_sees_nothing_of_it(page: Page, product: Product, finished: View, attached: InterviewRuntime) -> None:
    token = PatientLinks(attached._db).token(finished.session_id)
    page.goto(f"{product.address}/?patient={token}")
    expect(page.get_by_text("That was the last question.", exact=False)).to_be_visible()
    for words in ("Report", "Profile", "Provisional Impressions", "confidence"):
        expect(page.get_by_text(words, exact=False)).to_have_count(0)


def test_a_report_of_a_session_that_was_stopped_later_says_so_and_offers_no_other(
    page: Page, product: Product, finished: View, attached: InterviewRuntime
) -> None:
    attached.stop(finished.session_id)
    _open(page, product, finished)
    expect(_alert(page, "stopped for safety after this report was written")).to_be_visible()
    expect(page.get_by_test_id("stButtonGroup").get_by_text("categorical")).to_have_count(0)
    expect(page.get_by_role("button", name="Write again")).to_have_count(0)
    page.get_by_role("link", name="Sessions").click()
    row = page.locator(f".st-key-row-{finished.session_id}")
    expect(row.get_by_text("stop, not seen to")).to_be_visible()  # not the flags that were raised before
