"""The page in a real browser: a whole interview, with a reload half-way."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser import Watched, chromium
from tests.product import Product

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    expect.set_options(timeout=40_000)
    with chromium() as opened:
        yield opened


@pytest.fixture
def page(browser: Browser, product: Product) -> Iterator[Page]:
    watched = Watched(browser.new_page(), product.address)
    watched.page.set_default_timeout(40_000)
    yield watched.page
    watched.page.close()
    assert watched.problems == []


def _start(page: Page, product: Product) -> None:
    page.goto(product.address)
    page.get_by_role("button", name="Start an interview").click()
    expect(page.get_by_text("0 of 23 questions answered")).to_be_visible()


def _answer(page: Page, text: str) -> None:
    box = page.get_by_test_id("stChatInputTextArea")
    expect(box).to_be_enabled()
    box.fill(text)
    box.press("Enter")


def _answered(page: Page, items: int) -> None:
    expect(page.get_by_text(f"{items} of 23 questions answered")).to_be_visible()


def test_all_23_questions_with_a_reload_half_way(page: Page, product: Product) -> None:
    _start(page, product)
    for item in range(1, 13):
        _answer(page, f"Several days, and this is answer {item}.")
        _answered(page, item)
    page.reload()
    _answered(page, 12)
    for item in range(1, 13):
        expect(page.get_by_text(f"this is answer {item}.", exact=False).first).to_be_attached()
    for item in range(13, 24):
        _answer(page, "Not at all.")
        _answered(page, item)
    expect(page.get_by_text("That was the last question.", exact=False)).to_be_visible()
    expect(page.get_by_role("heading", name="Profile")).to_be_visible()
    expect(page.get_by_test_id("stDataFrame")).to_be_visible()
    expect(page.get_by_test_id("stChatInputTextArea")).to_have_count(0)


def test_an_unclear_answer_is_followed_up_once(page: Page, product: Product) -> None:
    _start(page, product)
    _answer(page, "Hard to say.")
    expect(page.get_by_text("Hard to say.", exact=True)).to_be_visible()
    _answered(page, 0)
    _answer(page, "Still hard to say.")
    _answered(page, 1)


def test_markup_in_an_answer_is_shown_as_it_was_typed(page: Page, product: Product) -> None:
    _start(page, product)
    _answer(page, "**Several days** <img src=x onerror=\"document.title='owned'\"> # not a heading $x$")
    _answered(page, 1)
    expect(page.get_by_text("**Several days** <img src=x", exact=False)).to_be_visible()
    assert page.locator("img[src=x]").count() == 0
    assert page.title() == "Crosscut"


def test_a_second_tab_cannot_answer_the_same_question_twice(page: Page, browser: Browser, product: Product) -> None:
    _start(page, product)
    other = browser.new_page()
    other.goto(page.url)
    _answered(other, 0)
    _answer(page, "Most days.")
    _answered(page, 1)
    _answer(other, "Not at all.")
    expect(other.get_by_text("That question was already answered", exact=False)).to_be_visible()
    _answered(other, 1)
    expect(other.get_by_text("Most days.", exact=True)).to_be_visible()
    expect(other.get_by_text("Not at all.", exact=True)).to_have_count(0)
    other.close()


def test_a_stop_shows_the_script_and_takes_no_more(page: Page, product: Product) -> None:
    _start(page, product)
    _answer(page, "I am going to kill myself.")
    expect(page.get_by_text("I am stopping the questions here", exact=False)).to_be_in_viewport()
    expect(page.get_by_test_id("stChatInputTextArea")).to_have_count(0)
    expect(page.get_by_test_id("stChatMessage")).to_have_count(1)
    page.reload()
    expect(page.get_by_text("I am stopping the questions here", exact=False)).to_be_visible()
    expect(page.get_by_test_id("stChatInputTextArea")).to_have_count(0)


def test_a_therapist_sees_a_worry_at_once_in_the_patients_words_and_acknowledges_it(
    page: Page, browser: Browser, product: Product
) -> None:
    _start(page, product)
    _answer(page, "Several days. <b>I wish I was dead</b>, then it passes.")
    _answered(page, 1)
    desk = Watched(browser.new_page(), product.address)
    desk.page.goto(page.url.replace("session=", "review="))
    expect(desk.page.get_by_text("suicidality mentioned")).to_be_visible()
    expect(desk.page.get_by_text("wish I was dead", exact=False).first).to_be_visible()
    desk.page.get_by_role("button", name="Acknowledge").click()
    expect(desk.page.get_by_role("button", name="Acknowledge")).to_have_count(0)
    desk.page.get_by_text("The patient shall see the safety script at once.", exact=False).click()
    expect(desk.page.get_by_role("button", name="Stop now")).to_be_enabled()
    desk.page.get_by_role("button", name="Stop now").click()
    expect(desk.page.get_by_text("This session was stopped for safety.", exact=False)).to_be_visible()
    desk.page.close()
    assert desk.problems == []
    page.reload()
    expect(page.get_by_text("I am stopping the questions", exact=False)).to_be_visible()
    expect(page.get_by_test_id("stChatInputTextArea")).to_have_count(0)


def test_a_link_that_leads_nowhere_says_so(page: Page, product: Product) -> None:
    page.goto(f"{product.address}/?session=no-such-session")
    expect(page.get_by_text("This link does not lead to a session.")).to_be_visible()
