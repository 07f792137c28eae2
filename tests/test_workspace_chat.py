"""The chat tab in a real browser: the patient writes, and the therapist sees it without doing anything."""

from __future__ import annotations

import re

import psycopg
import pytest
from playwright.sync_api import Page, expect

from errors import StaleTurn
from graph.runtime import InterviewRuntime
from graph.view import View
from storage.corrections import Corrections
from storage.database import Database
from storage.labels import Labels
from storage.notices import Notices
from tests.answers import answer_all
from tests.attached import Attached
from tests.product import Product
from tests.workspace import open_tab, say, settle, turn

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

HOSTILE = "Several days <script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\"> **b**"
WORRY = "Several days. <b>I wish I was dead</b>, then it passes."
DANGER = "I am going to kill myself tonight."
FOCUSED = """() => {
  const element = document.activeElement;
  return element.matches("a, button, textarea, [role=tab]") ? element.innerText.replaceAll("\\n", " ") + "\\n" : "\\n";
}"""


@pytest.fixture(scope="module")
def runtime(attached: Attached) -> InterviewRuntime:
    return attached.runtime


@pytest.fixture(scope="module")
def database(attached: Attached) -> Database:
    return attached.database


@pytest.fixture(scope="module")
def half(runtime: InterviewRuntime) -> View:
    """Five items in: the second unclear, the answer to the third hostile, the one to the fourth worrying."""
    answers = (
        "Several days.",
        "It comes and goes.",
        "It comes and goes, really.",
        HOSTILE,
        "Several days.",
        WORRY,
        "Not at all.",
    )
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
    expect(risks).to_contain_text("talk of one’s own death own-death")
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

    with pytest.raises(StaleTurn):  # a worry that is no turn of the conversation is read here all the same
        runtime.submit(view.session_id, f"{WORRY} Again.", expected_turn=1)
    expect(risks).to_contain_text("not part of the conversation")
    expect(risks.locator("mark.flag").first).to_contain_text("wish I was dead")
    page.get_by_role("button", name="Acknowledge").click()
    expect(page.get_by_role("button", name="Acknowledge")).to_have_count(0)

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


def test_a_stop_shows_while_a_correction_waits_for_its_report(
    page: Page, product: Product, runtime: InterviewRuntime, database: Database
) -> None:
    view = answer_all(runtime, runtime.start(seed=3))
    session_id = view.session_id
    runtime.reports.newest(session_id)
    open_tab(page, product, session_id)
    page.get_by_role("button", name="Correct a score").click()
    page.get_by_role("radiogroup", name="Score").get_by_text("3 · More than half the days").first.click()
    page.get_by_role("textbox", name="Reason").fill("Said so on the phone.")
    with psycopg.connect(database.url) as elsewhere:
        key = f"report:{session_id}"  # as if another report of the session took its time
        elsewhere.execute("SELECT pg_advisory_lock(hashtextextended(%s, 0))", (key,))
        page.get_by_role("button", name="Correct", exact=True).click()
        expect(page.get_by_text("a report that exists is written again", exact=False)).to_be_visible()
        runtime.stop(session_id)
        expect(page.get_by_text("This session was stopped for safety.", exact=False)).to_be_visible()
        expect(page.locator(".st-key-risks")).to_contain_text("stopped by hand")
    expect(page.get_by_text("a report that exists is written again", exact=False)).to_have_count(0)
    expect(page.locator(".cc-history")).to_contain_text("Said so on the phone.")


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
        page.get_by_role("radiogroup", name="Score").get_by_text(score).first.click()
        page.get_by_role("textbox", name="Reason").fill(reason)
        page.get_by_role("button", name="Correct", exact=True).click()
        expect(page.locator(".cc-history")).to_contain_text(reason)
        page.keyboard.press("Escape")
    history = page.locator(".cc-history")
    expect(history.locator("li")).to_have_count(2)
    expect(history.locator("li").first).to_contain_text("Said so on the phone.")
    expect(page.locator(".cc-item").filter(has_text="L1-02")).to_contain_text("1 · ambiguity 1 of 10")
    expect(unclear).to_have_count(0)  # a person has decided
    assert [(c.item, c.score) for c in Corrections(database).history(half.session_id)] == [(2, 3), (2, 1)]
    scored = runtime.view(half.session_id).profile.response("L1-02")
    assert scored is not None
    assert scored.score == 2  # what was scored stays as it was

    page.get_by_role("button", name="Label a turn").click()
    expect(page.get_by_text("wrong score")).to_have_count(1)  # while a form is drawn anew it is there twice
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
    focused = reached = ""
    while not ("Label a turn" in focused and "All sessions" in reached):  # what is drawn anew has no words for a moment
        page.keyboard.press("Tab")
        focused = page.evaluate(FOCUSED)
        reached += focused
        assert reached.count("\n") < 200, reached
    for name in ("All sessions", "Stop for safety", "Chat", "turn 6", "Acknowledge", "Correct a score"):
        assert name in reached, reached
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Take mine away")).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("tab", name="Chat").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.get_by_role("tab", name="Report")).to_have_attribute("aria-selected", "true")
