"""The report in a session's workspace, in a real browser: a finished interview with a hostile patient."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Download, Locator, Page, expect

from graph.exports import exported
from graph.runtime import InterviewRuntime
from graph.view import View
from storage.library import Library
from storage.links import PatientLinks
from tests.attached import Attached
from tests.product import Product
from tests.support import wait_until
from tests.workspace import open_tab, settle

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

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
TITLE = "Crosscut"
CLIENT = "C-017"


@pytest.fixture(scope="module")
def runtime(attached: Attached) -> InterviewRuntime:  # on the product's own database
    return attached.runtime


@pytest.fixture(scope="module")
def finished(runtime: InterviewRuntime, attached: Attached) -> View:
    """Everything nearly every day, each time with something that no page may take for its own; cited from a book that
    a new installation puts in by itself, in its own time."""
    wait_until(lambda: bool(Library(attached.database).books()), 240)
    view = runtime.start()
    while view.open:
        text = f"Nearly every day {HOSTILE[view.item % len(HOSTILE)]}"
        view = runtime.submit(view.session_id, text, expected_turn=view.turn)
    runtime.reports.newest(view.session_id)
    return view


def _open(page: Page, product: Product, view: View) -> Locator:
    open_tab(page, product, view.session_id, "report")
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
    marked = report.locator("table").first.locator(".sym, .quote, .med")
    assert marked.first.inner_text() == "Depression"
    expect(report.locator("table").nth(1).locator("tbody tr")).to_have_count(23)
    expect(report.locator(".cc-chart .threshold")).to_have_count(13)
    expect(report.get_by_role("img", name="highest item 4, threshold 2, further inquiry").first).to_be_visible()
    for meaning in ("symptom or domain", "“the patient’s own words”", "medical term"):
        expect(page.get_by_text(meaning)).to_be_visible()
    expect(_alert(page, "Passages are cited from the illustrative handbook, not DSM-5.")).to_be_visible()


REVEALING = "document.getAnimations().filter(one => one.animationName === 'cc-reveal').length"


def test_sections_come_one_after_the_other_at_the_first_sight_alone_and_at_once_at_a_touch(
    page: Page, product: Product, finished: View
) -> None:
    slow = page.context.new_cdp_session(page)
    slow.send("Animation.enable")
    slow.send("Animation.setPlaybackRate", {"playbackRate": 0.001})  # so that they end for no other reason
    _open(page, product, finished)
    sections = page.locator(f"{REPORT} [class*=st-key-reveal-]")
    delays = sections.evaluate_all("found => found.map(it => parseFloat(getComputedStyle(it).animationDelay))")
    assert len(delays) == 5
    assert sorted(set(delays)) == delays
    settle(page)
    assert page.evaluate(REVEALING) == 5
    page.keyboard.press("Shift")
    assert page.evaluate(REVEALING) == 0
    page.get_by_role("tab", name="Chat").click()
    expect(page.locator("#turn-1")).to_be_visible()
    page.get_by_role("tab", name="Report").click()
    expect(page.locator(f"{REPORT} [class*=st-key-section-]")).to_have_count(5)
    expect(sections).to_have_count(0)
    _open(page, product, finished)  # in the same tab, but drawn as if for the first time
    settle(page)
    expect(sections).to_have_count(5)
    assert page.evaluate(REVEALING) == 0


def test_what_a_patient_typed_is_shown_letter_for_letter_and_does_nothing(
    page: Page, product: Product, finished: View
) -> None:
    report = _open(page, product, finished)
    said = {response.item_id: response.evidence_quotes for response in finished.profile.item_responses}
    rows = report.locator("table").nth(1).locator("tbody tr").all()
    for row in rows:
        item, *_, words = [_spaced(cell.text_content() or "") for cell in row.locator("td").all()]
        assert words == (" ".join(f"“{_spaced(quote)}”" for quote in said[item]) or "—")
    quoted = "".join(quote for quotes in said.values() for quote in quotes)
    assert all(sign in quoted for sign in ("<script>", "](javascript:", ":red[", " | ", "www.", "$x^2$", "</quote>"))
    assert report.locator("img, script, code, .katex, em, del").count() == 0
    addresses = [link.get_attribute("href") or "" for link in report.locator("a").all()]
    assert all(re.fullmatch(rf"\?session={finished.session_id}&tab=chat&turn=\d+", one) for one in addresses)
    assert page.title() == TITLE


def test_a_quote_leads_to_its_turn_and_the_way_back_to_the_report(page: Page, product: Product, finished: View) -> None:
    report = _open(page, product, finished)
    said = next(line for line in finished.lines if line.role == "patient" and line.item == 20)
    row = report.locator("table").nth(1).locator("tbody tr").nth(19)
    row.get_by_role("link").first.click()
    expect(page.get_by_role("tab", name="Chat")).to_have_attribute("aria-selected", "true")
    chosen = page.locator(".cc-turn.chosen")
    expect(chosen).to_have_attribute("id", f"turn-{said.turn}")
    expect(chosen).to_be_in_viewport()
    assert said.text in (chosen.text_content() or "")
    page.go_back()
    expect(page.get_by_role("heading", name="Limitations")).to_be_visible()


def test_a_mode_that_has_no_report_yet_gets_one_before_the_therapists_eyes(
    page: Page, product: Product, finished: View, runtime: InterviewRuntime
) -> None:
    report = _open(page, product, finished)
    page.get_by_test_id("stButtonGroup").get_by_text("screening").click()
    expect(page.get_by_text("The report is written.")).to_be_visible()
    expect(report.get_by_text("This report was made in screening mode", exact=False)).to_be_visible()
    page.get_by_text("The report is written.").click()
    expect(page.get_by_text("Putting the sections together …")).to_be_visible()
    page.get_by_test_id("stButtonGroup").get_by_text("diagnostic").click()
    expect(report.get_by_text("confidence", exact=False).first).to_be_visible()
    expect(page.get_by_text("The report is written.")).to_have_count(0)  # what was said of the one before has gone
    settle(page)
    page.get_by_role("button", name="Write again").click()
    expect(page.get_by_text("The report is written.")).to_be_visible()
    assert [revision.mode for revision in runtime.reports.revisions(finished.session_id)] == [
        "diagnostic",
        "screening",
        "diagnostic",
    ]
    page.get_by_test_id("stSelectbox").get_by_role("combobox").click()
    expect(page.get_by_role("option")).to_have_count(2)


def test_it_can_be_taken_away_as_files_and_copied(
    page: Page, product: Product, finished: View, runtime: InterviewRuntime, attached: Attached
) -> None:
    attached.label(finished.session_id, CLIENT)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=product.address)
    _open(page, product, finished)
    newest = runtime.reports.newest(finished.session_id)
    assert _downloaded(page, "Markdown") == exported(newest, "md", CLIENT)
    assert json.loads(_downloaded(page, "JSON with the profile")) == json.loads(exported(newest, "json", CLIENT))
    assert _downloaded(page, "PDF").startswith(b"%PDF")
    copy = page.get_by_role("button", name="Copy")
    copy.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Copied")).to_be_visible()  # said once the clipboard has it
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.strip() == exported(newest, "md", CLIENT).decode().strip()
    expect(copy).to_be_visible()
    heading = page.get_by_role("heading", name="Executive Summary").bounding_box()
    button = copy.bounding_box()
    assert heading is not None
    assert button is not None
    assert button["y"] < heading["y"]


def _downloaded(page: Page, name: str) -> bytes:
    with page.expect_download() as waiting:
        page.get_by_role("button", name=name, exact=True).click()
    download: Download = waiting.value
    return download.path().read_bytes()


def test_a_corrected_score_is_marked_in_a_new_revision(
    page: Page, product: Product, finished: View, runtime: InterviewRuntime
) -> None:
    open_tab(page, product, finished.session_id)
    page.get_by_role("button", name="Correct a score").click()
    page.get_by_role("combobox", name="Item").click()
    page.get_by_role("option", name="L1-03", exact=False).click()
    page.get_by_role("radiogroup", name="Score").get_by_text("1 · Rarely").first.click()
    page.get_by_role("textbox", name="Reason").fill("Said of last year, <b>not</b> of these weeks.")
    page.get_by_role("button", name="Correct", exact=True).click()
    expect(page.get_by_text("L1-03 is corrected to 1. The report was written again", exact=False)).to_be_visible()
    history = page.locator(".st-key-findings .cc-history")
    expect(history).to_contain_text("scored 4, then")
    expect(history).to_contain_text("Said of last year, <b>not</b> of these weeks.")
    report = _open(page, product, finished)
    expect(page.get_by_text("Scores that were corrected by hand")).to_be_visible()
    row = report.locator("table").nth(1).locator("tbody tr").nth(2)
    expect(row).to_contain_text("1")
    expect(row).to_contain_text("corrected")
    newest = runtime.reports.newest(finished.session_id)
    assert [(one.item_id, one.original, one.score) for one in newest.corrections] == [("L1-03", 4, 1)]


def test_a_patient_sees_nothing_of_it(page: Page, product: Product, finished: View, attached: Attached) -> None:
    page.goto(f"{product.address}/?patient={PatientLinks(attached.database).token(finished.session_id)}")
    expect(page.get_by_text("That was the last question.", exact=False)).to_be_visible()
    for words in ("Report", "Profile", "Provisional Impressions", "confidence"):
        expect(page.get_by_text(words, exact=False)).to_have_count(0)


def test_a_report_of_a_session_that_was_stopped_later_says_so_and_offers_no_other(
    page: Page, product: Product, finished: View, runtime: InterviewRuntime
) -> None:
    runtime.stop(finished.session_id)
    _open(page, product, finished)
    expect(_alert(page, "stopped for safety after this report was written")).to_be_visible()
    expect(page.get_by_test_id("stButtonGroup").get_by_text("categorical")).to_have_count(0)
    expect(page.get_by_role("button", name="Write again")).to_have_count(0)
    open_tab(page, product, finished.session_id)
    expect(page.get_by_role("button", name="Correct a score")).to_have_count(0)
    expect(page.get_by_role("button", name="Stop for safety")).to_have_count(0)
    page.get_by_role("link", name="All sessions").click()
    row = page.locator(f".st-key-row-{finished.session_id}")
    expect(row.get_by_text("stop, not acknowledged")).to_be_visible()  # not the flags that were raised before
