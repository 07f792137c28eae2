"""The page of sessions in a real browser, from an empty installation to a deleted session."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

import pytest
from playwright.sync_api import Locator, Page, expect

from storage.audit import Audit
from storage.clients import ClientLabels
from storage.corrections import Corrections
from storage.reports import Reports
from tests.answers import answer_all, answer_until
from tests.attached import Attached
from tests.product import Product, started
from tests.support import temporary_home
from tests.tables import rows_naming
from tests.workspace import DESK, PHONE, UNREADABLE, say, settle
from ui import sessions
from ui.access import LOCAL_USER

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

WHOLE_INTERVIEW, FIRST_DEMO = 300_000, 180_000
"""Milliseconds. From the greeting's button to the report it takes three minutes at most, at the pace that is set."""

DANGER = "I am going to kill myself tonight."
WORRY = "Several days. I wish I was dead, then it passes."


@pytest.fixture(scope="module")
def product() -> Iterator[Product]:
    """An installation of its own, since the first test needs an empty one."""
    with temporary_home(made=True) as home, started(home) as running:
        yield running


@dataclass(frozen=True)
class Cast:
    """Sessions in the order in which they were begun."""

    stopped: str
    flagged: str
    before: str
    after: str
    going: str


@pytest.fixture(scope="module")
def cast(attached: Attached) -> Cast:
    runtime = attached.runtime
    made = Cast(*(runtime.start(owner="local", seed=seed).session_id for seed in range(5)))
    say(runtime, runtime.view(made.stopped), DANGER)
    say(runtime, runtime.view(made.flagged), WORRY)
    low = answer_until(runtime, runtime.view(made.before), 3, "Nearly every day.")  # the two items of depression
    answer_all(runtime, low, "Not at all.")
    answer_all(runtime, runtime.view(made.after), "Not at all.")
    answer_until(runtime, runtime.view(made.going), 4)
    attached.label(made.before, "C-017")
    attached.label(made.after, "c-017")
    attached.label(made.flagged, "K <b>9</b>")
    return made


def _row(page: Page, session_id: str) -> Locator:
    return page.locator(f".st-key-row-{session_id}")


def _listed(page: Page) -> list[str]:
    rows = page.locator("[class*=st-key-row-]").evaluate_all("found => found.map(it => it.className)")
    return [re.findall(r"st-key-row-([\w-]+)", name)[0] for name in rows]


def _search(page: Page, words: str, rows: int) -> None:
    settle(page)
    page.get_by_role("textbox", name="Search").fill(words)
    page.get_by_role("textbox", name="Search").press("Enter")
    expect(page.locator("[class*=st-key-row-]")).to_have_count(rows)


def _manage(page: Page, product: Product, session_id: str) -> Locator:
    page.goto(f"{product.address}/sessions?manage={session_id}")
    expect(page.get_by_role("dialog").get_by_text("Delete this session")).to_be_visible()
    return page.get_by_role("dialog")


def _choose(page: Page, field: str, option: str) -> None:
    """By typing, since a long list is not drawn whole."""
    box = page.get_by_role("combobox", name=field, exact=True)
    box.click()
    box.fill(option)
    page.get_by_role("option", name=option, exact=False).click()


def test_an_empty_installation_greets_with_one_button_that_ends_at_a_report(
    page: Page, product: Product, attached: Attached
) -> None:
    page.goto(product.address)
    expect(page.get_by_role("heading", name="Welcome to Crosscut")).to_be_visible()
    expect(page.get_by_text("Everything runs on this machine, without any outside service.")).to_be_visible()
    expect(page.get_by_test_id("stBaseButton-primary")).to_have_count(1)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        for size in (PHONE, DESK):
            page.set_viewport_size(size)  # type: ignore[arg-type]
            settle(page)
            assert page.evaluate(UNREADABLE) == []
    page.get_by_role("button", name="Watch a demo interview").dblclick()  # and yet there is one interview
    expect(page.get_by_role("heading", name="Symptom Domain Table")).to_be_visible(timeout=FIRST_DEMO)
    expect(page).to_have_url(re.compile(r"\?session=[\w-]+&tab=report$"))
    expect(page.get_by_role("tab", name="Report")).to_have_attribute("aria-selected", "true")
    expect(page.get_by_text("23 of 23 items ·", exact=False)).to_be_visible()
    expect(page.locator(".cc-report .quote").first).to_be_visible()
    (session,) = attached.runtime.sessions.newest()
    assert (session.status, session.persona, session.owner) == ("completed", "grey-mornings", "local")
    assert Reports(attached.database).newest(session.id) is not None
    page.get_by_role("link", name="All sessions").click()
    expect(_row(page, session.id)).to_contain_text("Persona grey-mornings")


def test_who_waits_is_listed_however_many_came_after(
    cast: Cast, attached: Attached, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "workbench", lambda: attached)
    rows, total = sessions.listed(LOCAL_USER, limit=2)
    assert [row.session.id for row in rows] == [cast.stopped, cast.flagged]
    assert total > len(rows)
    found = [
        sessions.listed(LOCAL_USER, words, limit=1) for words in ("C-01", f"complete {cast.before}", "%", "c-01 stop")
    ]
    assert [([row.session.id for row in rows], total) for rows, total in found] == [
        ([cast.after], 2),  # by a part of a sealed label, in whatever letters
        ([cast.before], 1),
        ([], 0),  # no sign has a meaning of its own
        ([], 0),  # every word is to be there
    ]


def test_every_row_fits_a_telephone(page: Page, product: Product, cast: Cast) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(product.address)
    expect(_row(page, cast.going)).to_be_visible()
    for session_id in (cast.going, cast.before):
        for name in ("Manage", "20"):  # the link with the date
            box = _row(page, session_id).get_by_role("link", name=name).first.bounding_box()
            assert box is not None
            assert 0 <= box["x"] <= box["x"] + box["width"] <= 360


def test_what_needs_somebody_comes_first_and_everything_can_be_found(page: Page, product: Product, cast: Cast) -> None:
    page.goto(product.address)
    wanted = [cast.stopped, cast.flagged, cast.going, cast.after, cast.before]
    for session_id in wanted:
        expect(_row(page, session_id)).to_be_visible()
    assert [one for one in _listed(page) if one in wanted] == wanted  # a demo's persona may be among them, with a flag
    for session_id, told in (
        (cast.stopped, ["stop, not acknowledged", "stopped for safety", "0 of 23 items", "suicidality"]),
        (cast.flagged, ["new flag", "in progress", "1 of 23 items", "suicidality", "K <b>9</b> · "]),
        (cast.going, ["in progress", "3 of 23 items"]),
        (cast.after, ["completed", "23 of 23 items", f"c-017 · {datetime.now().astimezone():%d %b %Y}, "]),
    ):
        for words in told:
            expect(_row(page, session_id)).to_contain_text(words)
    _search(page, "C-017", 2)
    assert _listed(page) == [cast.after, cast.before]
    _search(page, f"completed {cast.before}", 1)
    assert _listed(page) == [cast.before]
    _search(page, "stopped for safety", 1)
    _search(page, "nothing of the kind", 0)
    expect(page.get_by_text("No session matches this search.")).to_be_visible()


def test_a_stop_that_nobody_has_acknowledged_is_told_on_every_page(page: Page, product: Product, cast: Cast) -> None:
    for name in ("batch", "library", "health"):
        page.goto(f"{product.address}/{name}")
        expect(page.get_by_role("link", name="1 session stopped for safety", exact=False)).to_be_visible()
    page.get_by_role("link", name="1 session stopped for safety", exact=False).click()
    expect(_row(page, cast.stopped)).to_be_visible()


def test_back_and_forward_lead_between_the_list_and_a_session(page: Page, product: Product, cast: Cast) -> None:
    page.goto(f"{product.address}/sessions")
    _row(page, cast.before).get_by_role("link", name="C-017").click()
    expect(page.get_by_role("tab", name="Chat")).to_be_visible()
    page.get_by_role("tab", name="Report").click()
    expect(page.get_by_role("heading", name="Symptom Domain Table")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("tab", name="Chat")).to_have_attribute("aria-selected", "true")
    page.go_back()
    expect(page.get_by_role("heading", name="Sessions")).to_be_visible()
    expect(page.get_by_role("tab", name="Chat")).to_have_count(0)
    page.go_forward()
    expect(page.get_by_role("tab", name="Chat")).to_have_attribute("aria-selected", "true")
    page.get_by_role("link", name="All sessions").click()
    expect(_row(page, cast.going)).to_be_visible()
    page.go_back()
    expect(page).to_have_url(re.compile(cast.before))
    expect(page.get_by_role("tab", name="Chat")).to_be_visible()


@pytest.mark.parametrize("address", ["", "/sessions"])
def test_from_either_address_of_the_list_a_session_stays_open_at_the_next_click(
    page: Page, product: Product, cast: Cast, address: str
) -> None:
    page.goto(f"{product.address}{address}")
    _row(page, cast.before).get_by_role("link", name="C-017").click()
    for tab in ("Report", "Replay", "Chat"):
        page.get_by_role("tab", name=tab).click()
        expect(page.get_by_role("tab", name=tab)).to_have_attribute("aria-selected", "true")
        expect(page).to_have_url(re.compile(rf"/\?session={cast.before}&tab={tab.lower()}$"))
        settle(page)
        expect(page.get_by_role("tab", name=tab)).to_be_visible()


def test_a_new_interview_is_started_as_chosen_and_its_link_given_to_the_client(
    page: Page, product: Product, attached: Attached, cast: Cast
) -> None:
    page.goto(product.address)
    page.get_by_role("button", name="New interview").click()
    page.get_by_role("textbox", name="Client label").fill("C-018")
    _choose(page, "Mode", "categorical")
    _choose(page, "Model", "embedded rules")
    _choose(page, "Emergency numbers", "GB (")
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.get_by_text("The patient’s link")).to_be_visible()
    expect(page.get_by_text("It opens on this computer alone.", exact=False)).to_be_visible()
    session_id = page.url.partition("manage=")[2]
    made = attached.runtime.sessions.get(session_id)
    assert (made.mode, made.model, made.locale, made.owner) == ("categorical", "rules", "GB", "local")
    assert ClientLabels(attached.database).of([session_id]) == {session_id: "C-018"}
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    settle(page)
    page.get_by_role("button", name="Copy", exact=True).press("Enter")  # without a hover, as on a telephone
    expect(page.get_by_role("button", name="Copied", exact=True)).to_be_visible()
    link = page.get_by_test_id("stCode").inner_text().strip()
    assert page.evaluate("navigator.clipboard.readText()") == link == attached.link(session_id)
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(_row(page, session_id)).to_contain_text("0 of 23 items")
    patient = page.context.new_page()
    patient.goto(link)
    expect(patient.get_by_text("0 of 23 questions answered")).to_be_visible()
    patient.get_by_test_id("stChatInputTextArea").fill("Several days.")
    patient.get_by_test_id("stChatInputTextArea").press("Enter")
    expect(_row(page, session_id)).to_contain_text("1 of 23 items")  # which nobody has touched


def test_a_persona_is_interviewed_and_one_that_was_interrupted_goes_on(
    page: Page, product: Product, attached: Attached, cast: Cast
) -> None:
    page.goto(product.address)
    page.get_by_role("button", name="New interview").click()
    page.get_by_text("A persona, as a demo").click()
    _choose(page, "Persona", "Bankrupt shop owner")
    page.get_by_role("button", name="Start", exact=True).click()
    stop = page.get_by_text("This session was stopped for safety.", exact=False)
    expect(stop).to_be_visible(timeout=WHOLE_INTERVIEW)
    expect(page.get_by_role("tab", name="Chat")).to_have_attribute("aria-selected", "true")
    left = attached.runtime.start(owner="local", persona="grey-mornings").session_id
    answer_until(attached.runtime, attached.runtime.view(left), 3)
    _manage(page, product, left).get_by_role("button", name="Go on with the demo").click()
    expect(page.get_by_role("heading", name="Symptom Domain Table")).to_be_visible(timeout=WHOLE_INTERVIEW)
    assert attached.runtime.sessions.get(left).status == "completed"


def test_a_clients_domains_are_compared_over_interviews(
    page: Page, product: Product, attached: Attached, cast: Cast
) -> None:
    Corrections(attached.database).add(cast.after, 2, 1, "said so on the telephone", "local")
    panel = _manage(page, product, cast.after)
    trend = panel.locator(".cc-trend tr").filter(has_text="Depression")
    expect(trend.locator("td")).to_have_text(["4", "1"])
    expect(trend.locator(".reached")).to_have_text(["4"])
    panel.get_by_role("textbox", name="Client label").fill("Somebody else")
    panel.get_by_role("button", name="Save").click()
    expect(panel.get_by_text("A second completed interview", exact=False)).to_be_visible()
    expect(panel.locator(".cc-trend")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(_row(page, cast.after)).to_contain_text("Somebody else")


def test_a_deleted_session_is_gone_from_every_table_and_from_the_other_tab(
    page: Page, product: Product, attached: Attached, cast: Cast
) -> None:
    session_id = cast.before
    attached.runtime.reports.newest(session_id)
    assert rows_naming(attached.database, session_id).keys() > {"sessions", "turns", "client_labels", "reports"}
    other = page.context.new_page()
    other.goto(f"{product.address}/?session={session_id}")
    expect(other.locator("#turn-1")).to_contain_text("Nearly every day.")
    panel = _manage(page, product, session_id)
    panel.get_by_text("Delete this session").click()
    expect(panel.get_by_role("button", name="Delete", exact=True)).to_be_disabled()
    panel.get_by_text("I want it deleted for good.").click()
    expect(panel.get_by_role("button", name="Delete", exact=True)).to_be_enabled()
    assert attached.runtime.sessions.get(session_id)
    panel.get_by_role("button", name="Delete", exact=True).click()
    expect(_row(page, cast.going)).to_be_visible()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(_row(page, session_id)).to_have_count(0)
    assert rows_naming(attached.database, session_id).keys() == {"audit", "audit_ends"}
    kept = Audit(attached.database).entries(session_id)
    assert (kept[-1]["kind"], set(kept[-1])) == ("deletion", {"kind", "at", "with"})
    assert "Nearly every day" not in str(kept)
    expect(other.get_by_role("heading", name="Not found")).to_be_visible()  # without a reload
    expect(other.get_by_text("Nearly every day.")).to_have_count(0)
