"""The benchmark of a session and batch runs, in a real browser, with a real worker and a stand-in gateway."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from benchmark.judge import CRITERIA, JUDGE_MODEL
from graph.runtime import InterviewRuntime
from graph.view import View
from instruments.profile import SessionStatus
from tests import gateway as stand_in
from tests.attached import Attached
from tests.gateway import Behaviour, gateway
from tests.product import Product, started
from tests.support import temporary_home
from tests.workspace import open_tab, say

pytestmark = pytest.mark.browser

GOOD, BROKEN = "anthropic/claude-sonnet-4", "google/gemini-2.5-pro"
HOSTILE = "<img src=x onerror=\"document.title='owned'\"> :red[x] **b** $x^2$ [a](javascript:alert(1))"
SAID = f"Nearly every day {HOSTILE}"
SUMMARY = f"A heliotrope summary {HOSTILE}"
NOTE = f"Kindly done {HOSTILE}"


def _answer(body: dict[str, Any]) -> Behaviour:
    """The judge judges, one model answers, the other fails whatever it is asked."""
    if body["model"] == JUDGE_MODEL:
        return stand_in.json_reply({criterion: {"score": 4, "note": NOTE} for criterion in CRITERIA})
    if body["model"] == BROKEN:
        return stand_in.unauthorised()
    impression = {
        "name": "Major Depressive Disorder", "confidence": 0.6, "itemIds": ["L1-01"], "quotes": [SAID],
        "citations": [], "steps": [f"Told so: {HOSTILE}"],
    }  # fmt: skip
    return stand_in.json_reply(
        {
            "summary": SUMMARY,
            "diagnoses": [impression],
            "reasoning": [],
            "citations": [],
            "limitations": [],
            "ragUsed": False,
        }
    )


@pytest.fixture(scope="module")
def product() -> Iterator[Product]:  # one of its own, which can reach models
    with gateway() as gate, temporary_home("a home") as home:
        gate.default = _answer
        models = {"GATEWAY_BASE_URL": gate.base_url, "GATEWAY_API_KEY": "k", "MODEL_EMBEDDING": "rules"}
        with started(home, **models) as running:
            yield running


@pytest.fixture
def page(page: Page) -> Iterator[Page]:
    yield page
    assert page.title() != "owned"
    assert page.locator("[data-testid=stMain] img[onerror], [data-testid=stMain] .katex").count() == 0


@pytest.fixture(scope="module")
def runtime(attached: Attached) -> InterviewRuntime:  # on the product's own database
    return attached.runtime


@pytest.fixture(scope="module")
def finished(runtime: InterviewRuntime) -> View:
    view = runtime.start()
    while view.open:
        view = runtime.submit(view.session_id, SAID, expected_turn=view.turn)
    assert view.profile.session_status is SessionStatus.COMPLETED
    return view


def _downloaded(page: Page, name: str) -> bytes:
    with page.expect_download() as waiting:
        page.get_by_role("button", name=name, exact=True).click()
    return waiting.value.path().read_bytes()


def _part(page: Page, name: str) -> None:
    page.get_by_test_id("stButtonGroup").get_by_text(name).click()


def test_the_card_appears_and_what_takes_long_fills_in_by_itself(page: Page, product: Product, finished: View) -> None:
    open_tab(page, product, finished.session_id, "benchmark")
    verdict = page.locator(".cc-verdict")
    expect(verdict).to_contain_text("graded metrics pass")
    metrics = page.locator(".cc-metrics").first
    expect(metrics.get_by_text("BERTScore F1", exact=False).first).to_be_visible(timeout=120_000)
    expect(page.get_by_text("Still to come", exact=False)).to_have_count(0)
    notes = page.locator(".cc-metrics").nth(1)
    expect(notes.locator("tr")).to_have_count(len(CRITERIA))
    expect(notes.locator("tr").first).to_contain_text(NOTE)
    card = json.loads(_downloaded(page, "JSON"))
    assert card["pending"] == []
    assert card["headline"]["text"] in (verdict.text_content() or "")
    assert len(_downloaded(page, "CSV").splitlines()) > len(card["core"]["metrics"])
    assert card["core"]["provenance"]["snapshotSha256"].encode() in _downloaded(page, "Markdown")
    items = page.locator(".cc-wide tbody tr")
    expect(items).to_have_count(23)
    turn = items.nth(4).get_by_role("link").first
    number = (turn.text_content() or "").removeprefix("turn ")
    turn.click()
    expect(page.locator(".cc-turn.chosen")).to_have_attribute("id", f"turn-{number}")


def test_models_are_compared_voted_on_blind_and_overruled(page: Page, product: Product, finished: View) -> None:
    open_tab(page, product, finished.session_id, "benchmark")
    _part(page, "Comparison")
    box = page.get_by_role("combobox", name="Compare it with")
    for model in (GOOD, BROKEN):
        box.fill(model)
        box.press("Enter")
    box.press("Escape")
    page.get_by_role("button", name="Benchmark", exact=True).click()
    page.get_by_role("button", name="Vote blind first").click()
    page.get_by_role("button", name="Give me a ballot").click()
    ballot = page.locator(".st-key-ballot-left, .st-key-ballot-right")
    expect(ballot.get_by_text("A heliotrope summary", exact=False).first).to_contain_text(HOSTILE)
    assert not any(name in page.locator("[data-testid=stMain]").inner_text() for name in (GOOD, BROKEN, "rules"))
    _part(page, "Comparison")  # nothing is to be learnt there meanwhile
    expect(page.get_by_text("come after your vote", exact=False)).to_be_visible()
    expect(page.locator(".cc-columns")).to_have_count(0)
    page.get_by_role("button", name="To the ballot").click()
    choices = page.get_by_role("button", name="is better", exact=False)
    expect(choices).to_have_count(2)  # below the two outputs, so both are there in full
    expect(ballot.get_by_text("A heliotrope summary", exact=False).first).to_be_visible()
    is_left = "heliotrope" in page.locator(".st-key-ballot-left").inner_text()
    choices.filter(has_text="Left" if is_left else "Right").click()
    expect(page.get_by_role("heading", name=f"You chose {GOOD}")).to_be_visible()
    page.get_by_role("button", name="See all columns").click()
    columns = page.locator(".cc-columns").first
    expect(columns.locator("th").filter(has_text=BROKEN).first).to_be_visible()
    heads = [head.strip() for head in columns.locator("th").all_inner_texts()]
    assert [head.split()[0] for head in heads[1:]] == ["rules", GOOD, BROKEN]
    outcome = columns.locator("tbody tr").first.locator("td").all_inner_texts()
    assert outcome[3].startswith("failed: no usable answer")
    assert [text.split()[-1] for text in outcome[1:3]] in (["impressions", "impression"], ["impression", "impression"])
    expect(page.get_by_text("rules and anthropic/claude-sonnet-4")).to_have_count(1)
    page.get_by_text("Word by word, from", exact=False).click()
    expect(page.locator(".cc-diff ins").filter(has_text="heliotrope").first).to_be_visible()
    page.get_by_role("textbox", name="Preferred impression").fill("Grief <b>of</b> a kind")
    page.get_by_role("textbox", name="Reason").fill(f"I was there. {HOSTILE}")
    page.get_by_role("button", name="Override", exact=True).click()
    history = page.locator(".cc-votes li")
    expect(history.first).to_contain_text("prefers Grief <b>of</b> a kind: I was there.")
    expect(history.last).to_contain_text(f"you chose {GOOD} over rules")
    expect(history.last).not_to_contain_text("not blind")


def test_neither_a_stopped_nor_an_open_session_has_a_card(
    page: Page, product: Product, runtime: InterviewRuntime
) -> None:
    view = say(runtime, runtime.start(), "Nearly every day")
    open_tab(page, product, view.session_id, "benchmark")
    expect(page.get_by_text("So far 1 of 23 items are answered.", exact=False)).to_be_visible()
    runtime.stop(view.session_id)
    expect(page.get_by_text("There is no report card and no comparison of it.", exact=False)).to_be_visible()
    expect(page.locator(".cc-verdict, .cc-metrics")).to_have_count(0)
    expect(page.get_by_role("button", name="Benchmark", exact=True)).to_have_count(0)


def _open_batch(page: Page, product: Product) -> None:
    page.goto(product.address)
    page.get_by_test_id("stSidebar").get_by_role("link", name="Batch").click()
    expect(page.get_by_role("heading", name="Batch")).to_be_visible()


def test_a_run_is_started_by_the_form_watched_read_and_deleted(page: Page, product: Product) -> None:
    _open_batch(page, product)
    page.get_by_label("Name").fill("Two <b>of</b> them :smile:")
    box = page.get_by_role("combobox", name="Personas")
    for persona in ("grey-mornings", "no-way-out"):
        box.fill(persona)
        page.get_by_role("option", name=persona).click()
    box.press("Escape")
    page.get_by_role("button", name="Start the run").click()
    expect(page.get_by_role("heading", name="Two <b>of</b> them :smile:")).to_be_visible()
    outcomes = page.locator(".cc-tables table").first
    expect(outcomes).to_be_visible(timeout=120_000)
    assert outcomes.locator("tbody tr").all_inner_texts() == ["rules\t2\t1\t1\t0\t0\t1 / 0 / 0"]
    assert b"grey-mornings,rules,diagnostic,1,done,completed" in _downloaded(page, "CSV, every cell")
    assert _downloaded(page, "Everything, as ZIP").startswith(b"PK")
    assert _downloaded(page, "Accuracy by model, PNG").startswith(b"\x89PNG")
    page.get_by_role("button", name="All runs").click()
    page.get_by_role("button", name="Open").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    page.get_by_role("button", name="Delete this run").click()
    expect(page.get_by_role("button", name="Start the run")).to_be_visible()
    expect(page.get_by_role("heading", name="Runs")).to_have_count(0)


def test_a_spec_reads_no_file_of_this_machine_and_says_what_is_wrong(page: Page, product: Product) -> None:
    _open_batch(page, product)
    page.get_by_role("tab", name="By spec").click()
    spec = page.get_by_label("The spec (YAML)")
    spec.fill("name: x\nanswers: /etc/hostname\n")
    page.get_by_role("button", name="Start from this spec").click()
    expect(page.locator(".cc-error")).to_contain_text("choose that file as well")
    spec.fill("name: x\npersonas: [nobody-<b>]\n")
    page.get_by_role("button", name="Start from this spec").click()
    expect(page.locator(".cc-error").first).to_contain_text("there is no persona 'nobody-<b>'")
