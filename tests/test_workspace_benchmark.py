"""The benchmark of a session and batch runs, in a real browser, with a real worker and a stand-in gateway."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from threading import Event
from typing import Any

import pytest
import streamlit as st
from playwright.sync_api import Browser, Page, expect
from pydantic import SecretStr

from benchmark.comparison import RunState, open_desk
from benchmark.desk import open_benchmark
from benchmark.judge import CRITERIA, JUDGE_MODEL, judge_of
from graph.runtime import InterviewRuntime
from graph.view import View
from instruments.profile import SessionStatus
from storage.embedded import services
from storage.jobs import Job, JobStatus
from tests import gateway as stand_in
from tests.attached import Attached
from tests.gateway import Behaviour, Exchange, gateway
from tests.product import Product, started
from tests.support import temporary_home, wait_until
from tests.worker import send
from tests.workspace import UNREADABLE, open_tab, press, say, settle, therapist
from ui.workspace import voting
from ui.workspace.benchmark import how_far
from workers.celery_app import MEASURE

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

GOOD, BROKEN = "anthropic/claude-sonnet-4", "google/gemini-2.5-pro"
HOSTILE = "<img src=x onerror=\"document.title='owned'\"> :red[x] **b** $x^2$ [a](javascript:alert(1))"
SAID = f"Nearly every day {HOSTILE}"
SUMMARY = f"A heliotrope summary {HOSTILE}"
NOTE = f"Kindly done {HOSTILE}"
NOON = datetime(2026, 5, 4, 12, 30, 5).astimezone()


OPINION = stand_in.json_reply({criterion: {"score": 4, "note": NOTE} for criterion in CRITERIA})
silent = Event()
"""While it is set, the judge says nothing."""


def _in_its_own_time(exchange: Exchange) -> None:
    while silent.is_set() and not exchange.wait(0.05):
        pass
    OPINION.act(exchange)


def _answer(body: dict[str, Any]) -> Behaviour:
    """The judge judges, one model answers, the other fails whatever it is asked."""
    if body["model"] == JUDGE_MODEL:
        return Behaviour("judge", _in_its_own_time)
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
        with started(home, **models, MODEL_CALL_SECONDS="300") as running:
            yield running
        silent.clear()


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


@pytest.fixture
def silence() -> Iterator[None]:
    """However the test ends, the judge speaks again: the worker's places are needed by others."""
    silent.set()
    yield
    silent.clear()


@pytest.mark.usefixtures("silence")
def test_a_chat_goes_on_while_every_worker_is_busy_and_a_card_shows_how_far_it_is(
    page: Page, product: Product, browser: Browser, attached: Attached, finished: View
) -> None:
    """Two judges that say nothing take both places of the worker."""
    desk = replace(
        open_benchmark(product.settings, attached.database, attached.runtime),
        judge=judge_of(product.settings.model_copy(update={"gateway_api_key": SecretStr("k")})),
    )
    attached.runtime.reports.write(finished.session_id)
    snapshots = [desk.freeze(finished.session_id, revision) for revision in (1, 2)]
    judging = [next(job for job in desk.request(sha256) if job.asked["set"] == "judge") for sha256 in snapshots]
    with services(product.settings) as found:
        for job in judging:
            send(found.redis_url, MEASURE, job.id)
    wait_until(lambda: all(desk.jobs.get(job.id).progress.get("tries") for job in judging), 120)
    open_tab(page, product, finished.session_id, "benchmark")
    bars = page.get_by_test_id("stProgress")
    expect(bars.filter(has_text="The judge’s opinion · at work since")).to_be_visible()
    expect(bars.filter(has_text="BERTScore · queued since")).to_be_visible()
    chat = attached.runtime.start(owner="local").session_id
    with therapist(browser, product) as patient:
        patient.goto(attached.link(chat))
        patient.get_by_test_id("stChatInputTextArea").fill("Several days.")
        patient.get_by_test_id("stChatInputTextArea").press("Enter")
        expect(patient.get_by_text("1 of 23 questions answered")).to_be_visible()
    assert [desk.jobs.get(job.id).status for job in judging] == ["running", "running"]
    silent.clear()
    expect(bars).to_have_count(0)
    expect(page.get_by_text("Everything that can be measured here has been measured.")).to_be_visible()


@pytest.mark.parametrize(
    ("status", "progress", "part", "words"),
    [
        (None, {}, 0.0, "about to be queued"),
        ("queued", {"done": 3, "of": 9}, 0.0, "queued since 12:30:05"),
        ("running", {}, 0.0, "at work since just now"),
        ("running", {"since": f"{NOON.isoformat()}"}, 0.0, "at work since 12:30:05"),
        (
            "running",
            {"since": f"{NOON.isoformat()}", "done": 8, "of": 32},
            0.25,
            "at work since 12:30:05, 8 of 32 texts read",
        ),
    ],
)
def test_what_is_pending_is_told_in_words(
    status: JobStatus | None, progress: dict[str, Any], part: float, words: str
) -> None:
    job = None if status is None else Job("1", "benchmark", "key", None, status, progress, None, NOON, NOON, {})
    assert how_far(job) == (part, words)


def test_the_card_appears_and_what_takes_long_fills_in_by_itself(page: Page, product: Product, finished: View) -> None:
    open_tab(page, product, finished.session_id, "benchmark")
    verdict = page.locator(".cc-verdict")
    expect(verdict).to_contain_text("graded metrics pass")
    metrics = page.locator(".cc-metrics").first
    expect(metrics.get_by_text("BERTScore F1", exact=False).first).to_be_visible(timeout=120_000)
    expect(page.get_by_text("Everything that can be measured here has been measured.")).to_be_visible()
    notes = page.locator(".cc-metrics").nth(1)
    expect(notes.locator("tr")).to_have_count(len(CRITERIA))
    expect(notes.locator("tr").first).to_contain_text(NOTE)
    card = json.loads(_downloaded(page, "JSON"))
    assert card["pending"] == []
    assert card["headline"]["text"] in (verdict.text_content() or "")
    assert len(_downloaded(page, "CSV").splitlines()) > len(card["core"]["metrics"])
    assert card["core"]["provenance"]["snapshotSha256"].encode() in _downloaded(page, "Markdown")
    _assert_charts_and_origin(page, card)
    items = page.locator(".cc-wide tbody tr")
    expect(items).to_have_count(23)
    turn = items.nth(4).get_by_role("link").first
    number = (turn.text_content() or "").removeprefix("turn ")
    turn.click()
    expect(page.locator(".cc-turn.chosen")).to_have_attribute("id", f"turn-{number}")


def _assert_charts_and_origin(page: Page, card: dict[str, Any]) -> None:
    """What the charts show is counted here once more, from the card's file."""
    core = card["core"]
    graded = [one for one in (*core["metrics"], *card["judged"], *card["bertscore"]) if one.get("grade")]
    worth, groups = {"PASS": 1.0, "WARN": 0.5, "FAIL": 0.0}, dict[str, list[float]]()
    for one in graded:
        groups.setdefault(one["name"].partition(".")[0], []).append(worth[one["grade"]])
    radar = page.locator(".cc-radar")
    shares = [round(100 * sum(group) / len(group)) for group in groups.values()]
    assert [int(share) for share in re.findall(r"(\d+)%", radar.get_attribute("aria-label") or "")] == shares
    assert [int(name.rstrip("%")) for name in radar.locator("b").all_inner_texts()] == shares
    bars = page.locator(".cc-reached > div")
    expect(bars).to_have_count(len(graded))
    told = [bar.locator(".track").get_attribute("aria-label") or "" for bar in bars.all()]
    worst_first = sorted((one["grade"] for one in graded), key=["FAIL", "WARN", "PASS"].index)
    assert [one.partition(",")[0] for one in told] == worst_first
    assert sorted(bar.locator("span").first.inner_text() for bar in bars.all()) == sorted(g["label"] for g in graded)
    page.get_by_text("Where this comes from").click()
    origin = page.locator(".cc-origin li")
    expect(origin.first).to_have_text(f"Snapshot {core['provenance']['snapshotSha256']}")
    expect(origin.filter(has_text="Models: ")).to_contain_text("diagnostician rules")
    expect(origin.filter(has_text="Code ")).to_contain_text(core["provenance"]["report"]["sourceSha256"])


def test_models_are_compared_voted_on_blind_and_overruled(page: Page, product: Product, finished: View) -> None:
    open_tab(page, product, finished.session_id, "benchmark")
    _part(page, "Comparison")
    box = page.get_by_role("combobox", name="Compare it with")
    for model in (GOOD, BROKEN):
        box.fill(model)
        box.press("Enter")
    box.press("Escape")
    page.get_by_role("button", name="Benchmark", exact=True).dblclick()  # and yet it is asked for once
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
    settle(page)
    press(page, choices.filter(has_text="Left" if is_left else "Right"))
    expect(page.get_by_role("heading", name=f"You chose {GOOD}")).to_be_visible()
    page.get_by_role("button", name="See all columns").click()
    columns = page.locator(".cc-columns").first
    expect(columns).to_be_visible()
    expect(page.get_by_role("combobox", name="Comparison", exact=True)).to_have_count(0)  # there is but one
    expect(columns.locator("th").filter(has_text=BROKEN).first).to_be_visible()
    heads = [head.strip() for head in columns.locator("th").all_inner_texts()]
    assert [head.split()[0] for head in heads[1:]] == ["rules", GOOD, BROKEN]
    outcome = columns.locator("tbody tr").first.locator("td").all_inner_texts()
    assert outcome[3].startswith("failed: no usable answer")
    assert [text.split()[-1] for text in outcome[1:3]] in (["impressions", "impression"], ["impression", "impression"])
    expect(page.get_by_text("rules and anthropic/claude-sonnet-4")).to_have_count(1)
    page.get_by_text("Word by word, from", exact=False).click()
    expect(page.locator(".cc-diff ins").filter(has_text="heliotrope").first).to_be_visible()
    assert page.evaluate(UNREADABLE) == []
    made = json.loads(_downloaded(page, "JSON"))
    assert [column["model"] for column in made["columns"]] == ["rules", GOOD, BROKEN]
    assert ["error" in column for column in made["columns"]] == [False, False, True]
    written = _downloaded(page, "Markdown").decode()
    assert all(name in written for name in (GOOD, BROKEN, made["state"]["snapshotSha256"]))
    page.get_by_role("textbox", name="Preferred impression").fill("Grief <b>of</b> a kind")
    page.get_by_role("textbox", name="Reason").fill(f"I was there. {HOSTILE}")
    page.get_by_role("button", name="Override", exact=True).click()
    history = page.locator(".cc-votes li")
    expect(history.filter(has_text="prefers")).to_have_count(1)
    page.get_by_role("textbox", name="Reason").fill("On second thoughts.")  # at once: what differs is no double click
    page.get_by_role("textbox", name="Preferred impression").fill("Nothing at all")
    page.get_by_role("button", name="Override", exact=True).click()
    expect(history.filter(has_text="prefers")).to_have_count(2)
    expect(history.first).to_contain_text("prefers Nothing at all: On second thoughts.")
    expect(history.nth(1)).to_contain_text("prefers Grief <b>of</b> a kind: I was there.")
    expect(history.last).to_contain_text(f"you chose {GOOD} over rules")
    expect(history.last).not_to_contain_text("not blind")


def test_comparisons_of_the_same_minute_are_told_apart() -> None:
    at = datetime(2026, 3, 4, 5, 6, tzinfo=UTC)
    runs = [
        RunState(run_id=name, session_id="s", snapshot_sha256="0", status="done", columns=(), asked_at=at)
        for name in ("newer", "older")
    ]
    told = voting.told_apart(runs, lambda _: "2 models")
    assert [told[name].partition(" ")[0] for name in ("newer", "older")] == ["2", "1"]


def test_a_ballot_whose_session_was_deleted_since_is_forgotten(attached: Attached) -> None:
    desk = open_desk(attached.product.settings, attached.database, attached.runtime)
    st.session_state[voting._REVEALED] = "gone"
    assert voting._revealed(desk, "another run") is None
    assert voting._REVEALED not in st.session_state


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
    page.get_by_role("button", name="Start the run").dblclick()
    expect(page.get_by_role("heading", name="Two <b>of</b> them :smile:")).to_be_visible()
    outcomes = page.locator(".cc-tables table").first
    expect(outcomes).to_be_visible(timeout=120_000)
    assert outcomes.locator("tbody tr").all_inner_texts() == ["rules\t2\t1\t1\t0\t0\t1 / 0 / 0"]
    assert b"grey-mornings,rules,diagnostic,1,done,completed" in _downloaded(page, "CSV, every cell")
    assert _downloaded(page, "Everything, as ZIP").startswith(b"PK")
    assert _downloaded(page, "Accuracy by model, PNG").startswith(b"\x89PNG")
    page.get_by_role("button", name="All runs").click()
    page.get_by_role("button", name="Open").click()
    expect(page.get_by_text("Reliability, PNG", exact=False)).to_be_visible()
    drawn = page.locator(".cc-picture img")
    expect(drawn.last).to_be_visible()
    assert all(drawn.evaluate_all("found => found.map(it => it.naturalWidth > 300 && it.alt !== '')"))
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
