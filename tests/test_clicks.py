"""What a therapist clicks is done, and done once, even where every run of the page ends at the worst moment."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from playwright.sync_api import Page, expect

from storage.clients import ClientLabels
from storage.corrections import Corrections
from storage.notices import Notices
from tests.attached import Attached
from tests.product import ROOT, Product, started
from tests.support import temporary_home, wait_until
from tests.workspace import open_tab, say, turn
from ui import clicks
from ui.clicks import Once

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

WORRY = "Several days. I wish I was dead, then it passes."
LATE = Path(__file__).parent / "late"


@pytest.fixture(scope="module")
def product() -> Iterator[Product]:
    path = os.pathsep.join([str(LATE), str(ROOT)])
    with temporary_home(made=True) as home, started(home, PYTHONPATH=path) as running:
        yield running


def test_of_a_double_click_one_interview_is_begun(page: Page, product: Product, attached: Attached) -> None:
    sessions = attached.runtime.sessions
    page.goto(product.address)
    page.get_by_role("button", name="Watch a demo interview").dblclick()
    page.wait_for_url("**/?live=*")
    (demo,) = sessions.newest()
    assert demo.persona == "grey-mornings"

    page.goto(f"{product.address}/sessions")
    page.get_by_role("button", name="New interview").click()
    page.get_by_role("textbox", name="Client label").fill("C-020")
    page.get_by_role("button", name="Start", exact=True).dblclick()
    expect(page.get_by_text("The patient’s link")).to_be_visible()
    assert [one.persona for one in sessions.newest()] == [None, "grey-mornings"]

    panel = page.get_by_role("dialog")
    session_id = page.url.partition("manage=")[2]
    panel.get_by_role("textbox", name="Client label").fill("C-021")
    panel.get_by_role("button", name="Save").dblclick()
    wait_until(lambda: ClientLabels(attached.database).of([session_id]) == {session_id: "C-021"}, 30)
    expect(panel.get_by_text("Saved.")).to_be_visible()
    panel.get_by_text("Delete this session").click()
    panel.get_by_text("I want it deleted for good.").click()
    panel.get_by_role("button", name="Delete", exact=True).dblclick()
    wait_until(lambda: sessions.newest()[0].id == demo.id, 30)


def test_what_is_asked_for_twice_is_done_once_and_both_get_what_came_of_it() -> None:
    once, done = Once(), list[int]()
    assert [once.do(done.append, 1), once.do(done.append, 2)] == [None, None]
    assert done == [1]
    failing = Once()
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            failing.do(divmod, 1, 0)


def test_a_click_after_another_is_done_anew_and_the_second_of_a_double_click_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, done = [0.0], list[int]()
    monkeypatch.setattr(clicks, "time", SimpleNamespace(monotonic=lambda: now[0]))
    click = clicks._Click()
    steps = ((0.0, 1, False), (4.0, 2, False), (4.5, 3, True), (6.0, 4, False), (12.0, 5, False))
    for at, number, redrawn in steps:
        now[0] = at
        if redrawn:
            click.draw()
        click.note()
        assert click.waits
        click.answer(partial(done.append, number))
        assert not click.waits
    assert done == [1, 4, 5]
    click.note()
    now[0] = 60.0
    assert not click.waits, "the page was left before it was heard"


def test_what_went_wrong_is_tried_again_at_the_next_click() -> None:
    click = clicks._Click()
    click.note()
    with pytest.raises(ZeroDivisionError):
        click.answer(partial(divmod, 1, 0))
    click.note()
    assert click.answer(partial(int, 7)).result == 7


def test_whatever_else_is_entered_is_done_however_soon_and_an_emptied_form_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(clicks, "time", SimpleNamespace(monotonic=lambda: 0.0))
    click, done = clicks._Click(), list[int]()
    for number, entered in enumerate([("one", ""), ("one", ""), ("", None), ("another", ""), ("one", "")]):
        click.note()
        click.answer(partial(done.append, number), entered)
    assert done == [0, 3, 4]


def test_of_a_double_click_one_copy_takes_another_way(page: Page, product: Product, attached: Attached) -> None:
    runtime = attached.runtime
    view = say(runtime, runtime.start(owner="local", seed=4), "Several days.", "Not at all.")
    session_id = view.session_id
    open_tab(page, product, session_id, "replay")
    box = page.get_by_role("textbox", name="The patient answers instead")
    for copies, text in enumerate(("Nearly every day.", "Not at all."), start=1):
        box.fill(text)
        page.get_by_role("button", name="Fork from checkpoint", exact=False).dblclick()
        expect(page.get_by_role("link", name="Copy ", exact=False)).to_have_count(copies)
        expect(page.get_by_text("A copy took the other way", exact=False)).to_have_count(1)
    page.reload()
    expect(page.get_by_role("link", name="Copy ", exact=False)).to_have_count(2)
    assert len(runtime.sessions.forks_of(session_id)) == 2


def test_no_click_is_lost_while_the_page_looks_for_changes(page: Page, product: Product, attached: Attached) -> None:
    runtime, database = attached.runtime, attached.database
    view = say(runtime, runtime.start(owner="local", seed=1), WORRY)
    session_id = view.session_id
    open_tab(page, product, session_id)
    page.get_by_role("textbox", name="Note").fill("Called the patient.")
    page.get_by_role("button", name="Acknowledge").click()
    expect(page.get_by_text("Acknowledged by", exact=False)).to_contain_text("Called the patient.")
    assert [notice.note for notice in Notices(database).of_session(session_id)] == ["Called the patient."]

    page.get_by_role("button", name="Correct a score").click()
    page.get_by_text("3 · More than half the days").click()
    page.get_by_role("textbox", name="Reason").fill("Said so on the phone.")
    page.get_by_role("button", name="Correct", exact=True).dblclick()
    expect(page.locator(".cc-history")).to_contain_text("Said so on the phone.")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Label a turn").click()
    expect(page.get_by_text("wrong score")).to_have_count(1)  # a form of before the correction goes late as well
    page.get_by_text("wrong score").click()
    page.get_by_role("button", name="Label", exact=True).dblclick()
    expect(turn(page, 1).locator(".cc-label")).to_have_count(1)
    page.keyboard.press("Escape")
    assert [(one.item, one.score) for one in Corrections(database).history(session_id)] == [(1, 3)]

    page.get_by_role("button", name="Stop for safety").click()
    page.get_by_text("The patient shall see the safety script at once.", exact=False).click()
    page.get_by_role("button", name="Stop now").click()
    wait_until(lambda: runtime.sessions.get(session_id).status == "terminated_for_safety", 60)
    expect(page.get_by_text("This session was stopped for safety.", exact=False)).to_be_visible()
