"""A therapist's hands: a connection that drops, double clicks, and the keyboard alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from graph.replay import Replay
from graph.runtime import InterviewRuntime
from graph.view import View
from storage.notices import Notices
from tests.answers import answer_all
from tests.attached import Attached
from tests.product import Product
from tests.support import wait_until
from tests.workspace import open_tab, press, say, settle, tab_to, turn

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

WORRY = "Several days. I wish I was dead, then it passes."
KEEP_SOCKETS = """
window.sockets = [];
window.WebSocket = class extends WebSocket {
  constructor(...given) { super(...given); window.sockets.push(this); }
};
"""


@pytest.fixture(scope="module")
def runtime(attached: Attached) -> InterviewRuntime:
    return attached.runtime


@pytest.fixture(scope="module")
def finished(runtime: InterviewRuntime) -> View:
    view = answer_all(runtime, runtime.start(owner="local", seed=1))
    runtime.reports.newest(view.session_id)
    return view


@pytest.fixture
def unwatched(browser: Browser) -> Iterator[Page]:
    """Without a watch on the console, where Streamlit itself may tell of a connection that was lost."""
    context = browser.new_context()
    context.add_init_script(KEEP_SOCKETS)
    page = context.new_page()
    page.set_default_timeout(60_000)
    expect.set_options(timeout=60_000)
    yield page
    context.close()


def test_a_lost_connection_is_made_again_and_the_page_goes_on_being_true(
    unwatched: Page, product: Product, attached: Attached, runtime: InterviewRuntime
) -> None:
    view = say(runtime, runtime.start(owner="local", seed=1), WORRY)
    open_tab(unwatched, product, view.session_id)
    unwatched.get_by_role("textbox", name="Note").fill("Called the patient.")
    with unwatched.expect_event("websocket", timeout=60_000):
        unwatched.evaluate("window.sockets.forEach(socket => socket.close())")
    say(runtime, view, "Not at all, said later.")
    expect(turn(unwatched, 2)).to_contain_text("Not at all, said later.")
    unwatched.get_by_role("button", name="Acknowledge").click()
    expect(unwatched.get_by_text("Acknowledged by", exact=False)).to_contain_text("Called the patient.")
    assert [notice.note for notice in Notices(attached.database).of_session(view.session_id)] == ["Called the patient."]


def test_a_double_click_starts_one_interview_and_acknowledges_once(
    page: Page, product: Product, attached: Attached, runtime: InterviewRuntime
) -> None:
    view = say(runtime, runtime.start(owner="local", seed=1), WORRY)
    open_tab(page, product, view.session_id)
    page.get_by_role("button", name="Acknowledge").dblclick()
    expect(page.get_by_text("Acknowledged by", exact=False)).to_have_count(1)
    expect(page.get_by_role("button", name="Acknowledge")).to_have_count(0)
    expect(page.get_by_test_id("stAlert")).to_have_count(0)

    before = {session.id for session in runtime.sessions.newest(1000)}
    page.goto(f"{product.address}/sessions")
    page.get_by_role("button", name="New interview").dblclick()
    expect(page.get_by_role("dialog")).to_have_count(1)
    page.get_by_role("button", name="Start", exact=True).dblclick()
    expect(page.get_by_text("The patient’s link")).to_be_visible()
    settle(page)
    new = [session.id for session in runtime.sessions.newest(1000) if session.id not in before]
    assert new == [page.url.partition("manage=")[2]]


def test_an_interview_is_started_and_managed_by_the_keyboard_alone(
    page: Page, product: Product, attached: Attached, runtime: InterviewRuntime, finished: View
) -> None:
    page.goto(f"{product.address}/sessions")
    expect(page.locator(f".st-key-row-{finished.session_id}")).to_be_visible()
    settle(page)
    press(page, page.get_by_role("button", name="New interview"))
    label = page.get_by_role("textbox", name="Client label")
    tab_to(page, label)
    page.keyboard.type("K-001")
    press(page, page.get_by_role("button", name="Start", exact=True))
    expect(page.get_by_text("The patient’s link")).to_be_visible()
    session_id = page.url.partition("manage=")[2]
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    row = page.locator(f".st-key-row-{session_id}")
    expect(row).to_contain_text("K-001")

    press(page, row.get_by_role("link", name="Manage"))
    panel = page.get_by_role("dialog")
    expect(panel.get_by_text("Delete this session")).to_be_visible()
    settle(page)
    press(page, panel.locator("summary"))
    press(page, panel.get_by_role("checkbox"), "Space")
    expect(panel.get_by_role("button", name="Delete", exact=True)).to_be_enabled()
    press(page, panel.get_by_role("button", name="Delete", exact=True))
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(row).to_have_count(0)
    wait_until(lambda: session_id not in {one.id for one in runtime.sessions.newest(1000)}, 60)


def test_a_report_is_written_again_and_another_way_taken_by_the_keyboard_alone(
    page: Page, product: Product, attached: Attached, runtime: InterviewRuntime, finished: View
) -> None:
    session_id = finished.session_id
    open_tab(page, product, session_id, "report")
    expect(page.get_by_role("heading", name="Limitations")).to_be_visible()
    settle(page)
    press(page, page.get_by_role("button", name="Write again"))
    expect(page.get_by_text("The report is written.")).to_be_visible()
    assert [report.revision for report in runtime.reports.revisions(session_id)] == [1, 2]
    settle(page)

    tab_to(page, page.get_by_role("tab", name="Report"), "Shift+Tab")
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    expect(page.get_by_role("tab", name="Replay")).to_have_attribute("aria-selected", "true")
    checkpoints = Replay(attached.database, runtime).checkpoints(session_id)
    asked = next(one for one in checkpoints if one.nodes == ("ASK_ITEM",) and one.item == 2)
    expect(page.locator(".st-key-timeline tbody tr")).to_have_count(len(checkpoints))
    settle(page)
    tab_to(page, page.get_by_role("spinbutton", name="Checkpoint"))
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type(str(asked.number))
    page.keyboard.press("Enter")
    tab_to(page, page.get_by_role("textbox", name="The patient answers instead"))
    page.keyboard.type("Nearly every day.")
    press(page, page.get_by_role("button", name=f"Fork from checkpoint {asked.number}"))
    expect(page.get_by_text("A copy took the other way", exact=False)).to_be_visible()
    assert len(runtime.sessions.forks_of(session_id)) == 1
