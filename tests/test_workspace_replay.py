"""The replay tab in a real browser: states, differences and other ways, none of which touches the session."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from graph.replay import Replay
from tests.attached import Attached
from tests.product import Product
from tests.workspace import open_tab, say, settle

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

DANGER = "I am going to kill myself tonight."


def _choose(page: Page, name: str, number: int) -> None:
    field = page.get_by_role("spinbutton", name=name)
    field.fill(str(number))
    field.press("Enter")


def test_states_differences_and_another_way(page: Page, product: Product, attached: Attached) -> None:
    runtime, database = attached.runtime, attached.database
    view = say(runtime, runtime.start(seed=4), "Several days.", "Not at all.", "Not at all.")
    checkpoints = Replay(database, runtime).checkpoints(view.session_id)
    asked_second = next(one for one in checkpoints if one.nodes == ("ASK_ITEM",) and one.item == 2)
    open_tab(page, product, view.session_id, "replay")
    rows = page.locator(".st-key-timeline tbody tr")
    expect(rows).to_have_count(len(checkpoints))
    settle(page)
    scored = rows.filter(has_text="SCORE_ITEM").first
    cells = [cell.inner_text() for cell in scored.locator("td").all()]
    assert cells[1:5] == ["answer scored SCORE_ITEM", "2", "L1-01", "2"]

    _choose(page, "Checkpoint", asked_second.number)
    _choose(page, "Compare with", len(checkpoints))
    expect(page.get_by_text(f"State at checkpoint {asked_second.number}")).to_be_visible()
    expect(page.locator(".st-key-state")).to_contain_text("1 of 23 items · waits for turn 2, L1-02")
    expect(page.locator(f"#checkpoint-{asked_second.number}")).to_be_in_viewport()
    changes = page.locator(".cc-changes")
    expect(changes).to_contain_text(re.compile(r"L1-02 feeling down: none → 0, ambiguity \d+ of 10"))
    expect(changes).to_contain_text("waits for: the answer to L1-02 feeling down (turn 2) → the answer to L1-")
    expect(changes).to_contain_text("said in turn 2, patient: “Not at all.”")

    expect(page.get_by_text("This replaces turn 2, about L1-02: “Not at all.”")).to_be_visible()
    settle(page)
    page.get_by_role("button", name=f"Fork from checkpoint {asked_second.number}").click()
    expect(page.get_by_text("Write the answer that the copy is to be given.")).to_be_visible()
    settle(page)  # what is typed into a form that is being drawn is lost
    page.get_by_role("textbox", name="The patient answers instead").fill("Nearly every day <b>x</b>.")
    page.get_by_role("button", name=f"Fork from checkpoint {asked_second.number}").click()
    expect(page.get_by_text("A copy took the other way: 1 later answer was replayed", exact=False)).to_be_visible()
    outcome = page.get_by_role("row").filter(has_text="L1-02 feeling down")
    expect(outcome).to_contain_text("4, ambiguity")
    fork = runtime.sessions.get(runtime.sessions.forks_of(view.session_id)[0])
    assert fork.parent_checkpoint == asked_second.checkpoint_id
    assert runtime.view(view.session_id).lines == view.lines  # the session is as it was
    page.get_by_role("link", name="Copy", exact=False).click()
    expect(page.get_by_text("a copy for looking back", exact=False)).to_be_visible()
    expect(page.locator("#turn-2")).to_contain_text("Nearly every day <b>x</b>.")


def test_what_goes_wrong_on_the_tab_is_told_in_words(page: Page, product: Product, attached: Attached) -> None:
    """A fragment that fails by itself would show, and log, whatever its error quotes."""
    page.add_init_script("window.setInterval = () => 0")  # so that the page does not notice the deletion by itself
    runtime = attached.runtime
    view = say(runtime, runtime.start(seed=7), "Several days.")
    open_tab(page, product, view.session_id, "replay")
    expect(page.get_by_text("Take another way from here")).to_be_visible()
    runtime.delete(view.session_id)
    _choose(page, "Checkpoint", 1)
    expect(page.get_by_test_id("stAlert")).to_contain_text("there is no session")
    expect(page.get_by_test_id("stException")).to_have_count(0)
    assert "Traceback" not in product.said()


def test_a_stopped_session_is_read_up_to_its_stop_and_left_only_from_before(
    page: Page, product: Product, attached: Attached
) -> None:
    runtime, database = attached.runtime, attached.database
    view = say(runtime, runtime.start(seed=6), "Several days.", DANGER)
    checkpoints = Replay(database, runtime).checkpoints(view.session_id)
    before = next(one for one in checkpoints if one.nodes == ("ASK_ITEM",) and one.item == 2)
    open_tab(page, product, view.session_id, "replay")
    expect(page.get_by_text("It can be looked at up to the stop.", exact=False)).to_be_visible()
    expect(page.locator(".st-key-timeline tr").last).to_contain_text("stopped")
    expect(page.get_by_text("there is no other way from here", exact=False)).to_be_visible()
    expect(page.get_by_role("button", name="Fork from checkpoint", exact=False)).to_have_count(0)
    _choose(page, "Checkpoint", before.number)
    expect(page.get_by_text(f"State at checkpoint {before.number}")).to_be_visible()
    settle(page)  # what is typed into a form that is being drawn is lost
    page.get_by_role("textbox", name="The patient answers instead").fill("Not at all.")
    fork = page.get_by_role("button", name=f"Fork from checkpoint {before.number}")
    fork.click(delay=300)  # milliseconds, in which a page that still brings the checkpoint into sight would move away
    expect(page.get_by_text("from before the stop, for looking back only")).to_be_visible()
    expect(page.get_by_text("stopped for safety → in progress", exact=False)).to_be_visible()
    assert not runtime.view(view.session_id).open
