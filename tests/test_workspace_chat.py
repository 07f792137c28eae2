"""The chat tab in a real browser: the patient writes, and the therapist sees it without doing anything."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from graph.runtime import InterviewRuntime
from graph.view import View
from storage.corrections import Corrections
from storage.database import Database
from storage.labels import Labels
from storage.notices import Notices
from tests.attached import Attached
from tests.product import Product
from tests.workspace import DESK, PHONE, open_tab, say, settle, therapist, turn

pytestmark = pytest.mark.browser

HOSTILE = "Several days <script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\"> **b**"
WORRY = "Several days. <b>I wish I was dead</b>, then it passes."
DANGER = "I am going to kill myself tonight."
FOCUSED = """() => {
  const element = document.activeElement;
  return element.matches("a, button, textarea, [role=tab]") ? element.innerText.replaceAll("\\n", " ") + "\\n" : "\\n";
}"""
UNREADABLE = """() => {
  const parse = value => {
    const found = value.match(/[\\d.]+(?:e-?\\d+)?/g).map(Number), scale = value.startsWith("color(") ? 255 : 1;
    return [found[0] * scale, found[1] * scale, found[2] * scale, found.length > 3 ? found[3] : 1];
  };
  const over = (top, under) => [0, 1, 2].map(i => top[i] * top[3] + under[i] * (1 - top[3])).concat(1);
  const behind = element => {
    if (!element) return [255, 255, 255, 1];
    const own = parse(getComputedStyle(element).backgroundColor);
    return own[3] === 1 ? own : over(own, behind(element.parentElement));
  };
  const light = colour => colour.slice(0, 3).map(c => c / 255)
    .map(c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const found = [];
  for (const element of document.querySelectorAll(".cc, .cc *, [role=tab], [data-testid=stBaseButton-secondary]")) {
    const words = [...element.childNodes].filter(n => n.nodeType === 3).map(n => n.textContent.trim()).join("");
    if (!words || !element.getClientRects().length || element.closest(".cc-who")) continue;
    const ground = behind(element), ink = over(parse(getComputedStyle(element).color), ground);
    const [high, low] = [light(ground), light(ink)].sort((a, b) => b - a);
    const ratio = (high + 0.05) / (low + 0.05);
    if (ratio < 4.5) found.push(`${ratio.toFixed(2)} ${element.className}: ${words.slice(0, 40)}`);
  }
  return found;
}"""
"""Texts of the workspace whose contrast is below what WCAG AA asks for."""


@pytest.fixture(scope="module")
def runtime(attached: Attached) -> InterviewRuntime:
    return attached.runtime


@pytest.fixture(scope="module")
def database(attached: Attached) -> Database:
    return attached.database


@pytest.fixture(scope="module")
def half(runtime: InterviewRuntime) -> View:
    """Five items in: the second unclear, the answer to the third hostile, the one to the fourth worrying."""
    answers = ("Several days.", "Hard to say.", "Still hard to say.", HOSTILE, "Several days.", WORRY, "Not at all.")
    return say(runtime, runtime.start(seed=5), *answers)


def test_a_therapist_sees_the_patient_write_and_keeps_what_is_being_typed(
    page: Page, product: Product, runtime: InterviewRuntime, database: Database
) -> None:
    view = runtime.start(seed=1)
    open_tab(page, product, view.session_id)
    expect(page.get_by_text("0 of 23 items")).to_be_visible()
    expect(page.get_by_text("No risk flag is set.")).to_be_visible()
    view = say(runtime, view, "Nearly every day.")
    expect(turn(page, 1)).to_contain_text("Nearly every day.")
    expect(turn(page, 2).locator(".word").first).to_be_visible()  # the next question, as it comes
    expect(page.get_by_text("1 of 23 items")).to_be_visible()
    first = page.locator(".cc-item").first
    expect(first).to_contain_text("4 · ambiguity")
    expect(first.get_by_role("link", name="“Nearly every day”")).to_be_visible()

    view = say(runtime, view, WORRY)  # a worry: at once, in the patient's words, and it is text
    risks = page.locator(".st-key-risks")
    expect(risks).to_contain_text("Risk: suicidality mentioned")
    expect(risks.locator("mark.flag")).to_contain_text("wish I was dead")
    expect(risks).to_contain_text("<b>I wish I was dead</b>")
    expect(turn(page, 2).locator("mark.flag")).to_be_visible()

    note = page.get_by_role("textbox", name="Note")
    note.press_sequentially("Called the pa")
    page.get_by_role("button", name="Stop for safety").click()
    page.get_by_text("The patient shall see the safety script at once.", exact=False).click()
    expect(page.get_by_role("button", name="Stop now")).to_be_enabled()
    page.keyboard.press("Escape")
    note.click()
    note.press("End")
    view = say(runtime, view, "On some days.")
    expect(turn(page, 3)).to_contain_text("On some days.")
    expect(note).to_be_focused()
    note.press_sequentially("tient.")
    expect(note).to_have_value("Called the patient.")
    page.get_by_role("button", name="Acknowledge").click()
    expect(page.get_by_text("Acknowledged by", exact=False)).to_contain_text("Called the patient.")
    expect(page.get_by_role("button", name="Acknowledge")).to_have_count(0)
    assert [notice.note for notice in Notices(database).of_session(view.session_id)] == ["Called the patient."]

    page.get_by_role("button", name="Stop for safety").click()  # what was ticked before is still ticked
    page.get_by_role("button", name="Stop now").click()
    expect(page.get_by_text("This session was stopped for safety.", exact=False)).to_be_visible()
    expect(page.get_by_role("button", name="Stop for safety")).to_have_count(0)
    expect(page.get_by_role("button", name="Correct a score")).to_have_count(0)
    expect(page.locator(".cc-said").last).to_contain_text("I am stopping the questions here")
    expect(page.locator(".st-key-risks")).to_contain_text("stopped by hand")
    assert not runtime.view(view.session_id).open


def test_a_stop_shows_at_once_on_whatever_tab_is_open(page: Page, product: Product, runtime: InterviewRuntime) -> None:
    view = say(runtime, runtime.start(seed=2), "Several days.")
    open_tab(page, product, view.session_id, "report")
    expect(page.get_by_text("So far 1 of 23 items are answered.", exact=False)).to_be_visible()
    say(runtime, view, DANGER)
    expect(page.get_by_text("stopped for safety", exact=True)).to_be_visible()
    expect(page.get_by_text("No report is written for it.", exact=False)).to_be_visible()
    page.get_by_role("tab", name="Chat").click()
    expect(page.locator(".st-key-risks mark.stop")).to_contain_text("kill myself tonight")
    expect(page).to_have_url(re.compile("tab=chat"))
    page.go_back()
    expect(page.get_by_role("tab", name="Report")).to_have_attribute("aria-selected", "true")
    page.reload()
    expect(page.get_by_text("No report is written for it.", exact=False)).to_be_visible()


def test_a_score_is_corrected_with_a_reason_and_a_turn_labelled(
    page: Page, product: Product, half: View, runtime: InterviewRuntime, database: Database
) -> None:
    open_tab(page, product, half.session_id, turn=3)
    expect(turn(page, 3)).to_have_class(re.compile("chosen"))
    expect(page.get_by_text("Clarify in person")).to_be_visible()
    unclear = page.locator(".cc-open").filter(has_text="L1-02")
    expect(unclear).to_contain_text("unclear (score 2, ambiguity")
    for score, reason in (
        ("3 · More than half the days", "Said so on the phone."),
        ("1 · Rarely", "My mistake."),
    ):
        page.get_by_role("button", name="Correct a score").click()
        page.get_by_role("combobox", name="Item").click()
        page.get_by_role("option", name="L1-02", exact=False).click()
        page.get_by_role("button", name="Correct", exact=True).click()
        expect(page.get_by_text("A correction needs a score and a reason.")).to_be_visible()
        page.get_by_text(score).click()
        page.get_by_role("textbox", name="Reason").fill(reason)
        page.get_by_role("button", name="Correct", exact=True).click()
        expect(page.locator(".cc-history")).to_contain_text(reason)
        page.keyboard.press("Escape")
    history = page.locator(".cc-history")
    expect(history.locator("li")).to_have_count(2)
    expect(history.locator("li").first).to_contain_text("Said so on the phone.")
    expect(page.locator(".cc-item").filter(has_text="L1-02")).to_contain_text("1 · ambiguity 1")
    expect(unclear).to_have_count(0)  # a person has decided
    assert [(c.item, c.score) for c in Corrections(database).history(half.session_id)] == [(2, 3), (2, 1)]
    scored = runtime.view(half.session_id).profile.response("L1-02")
    assert scored is not None
    assert scored.score == 2  # what was scored stays as it was

    page.get_by_role("button", name="Label a turn").click()
    page.get_by_text("wrong score").click()
    page.get_by_role("button", name="Label", exact=True).click()
    expect(turn(page, 3).locator(".cc-label")).to_contain_text("wrong score")
    assert [(one.turn, one.label) for one in Labels(database).all_of(half.session_id)] == [(3, "wrong score")]
    page.get_by_text("wrong score", exact=True).last.click()  # in the form, which is empty again
    page.get_by_role("button", name="Take mine away").click()
    expect(turn(page, 3).locator(".cc-label")).to_have_count(0)


def test_what_a_patient_typed_is_shown_letter_for_letter_and_does_nothing(
    page: Page, product: Product, half: View
) -> None:
    open_tab(page, product, half.session_id)
    expect(turn(page, 4)).to_contain_text(HOSTILE)
    assert page.locator(".cc img, .cc script, .cc em, .cc strong").count() == 0
    assert page.title() == "Crosscut"


def test_everything_can_be_reached_by_keyboard(page: Page, product: Product, half: View) -> None:
    open_tab(page, product, half.session_id)
    expect(turn(page, 1)).to_be_visible()
    settle(page)
    reached = ""
    while "Label a turn" not in reached:
        page.keyboard.press("Tab")
        reached += page.evaluate(FOCUSED)
        assert reached.count("\n") < 60, reached
    for name in ("All sessions", "Stop for safety", "Chat", "turn 6", "Acknowledge", "Correct a score"):
        assert name in reached, reached
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Take mine away")).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("tab", name="Chat").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.get_by_role("tab", name="Report")).to_have_attribute("aria-selected", "true")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
def test_it_fits_the_screen_and_can_be_read(
    browser: Browser, product: Product, half: View, scheme: str, size: dict[str, int]
) -> None:
    with therapist(browser, product, color_scheme=scheme, viewport=size) as page:
        for tab in ("chat", "report", "replay"):
            open_tab(page, product, half.session_id, tab)
            expect(page.get_by_role("tabpanel")).not_to_be_empty()
            expect(page.get_by_test_id("stAlert").or_(page.locator(".cc-turn")).first).to_be_visible()
            assert page.evaluate(UNREADABLE) == []
            assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
