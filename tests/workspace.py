"""A session's workspace in a real browser: for tests that look at it as a therapist does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Locator, Page, expect

from graph.runtime import InterviewRuntime
from graph.view import View
from tests.browser import Watched
from tests.product import Product

PATIENCE = 60_000
_MOST_STEPS = 200
UNREADABLE = (Path(__file__).parent / "readable.js").read_text()
"""For `page.evaluate`: what of the page cannot be read, in words."""
PHONE, DESK = {"width": 390, "height": 844}, {"width": 1280, "height": 900}


@contextmanager
def therapist(browser: Browser, product: Product, **how: object) -> Iterator[Page]:
    """A page of somebody's own; nothing may raise in it or ask anybody else for anything."""
    context = browser.new_context(**{"viewport": DESK, **how})  # type: ignore[arg-type]
    watched = Watched(context.new_page(), product.address)
    watched.page.set_default_timeout(PATIENCE)
    expect.set_options(timeout=PATIENCE)
    yield watched.page
    context.close()
    assert watched.problems == [], watched.problems


def open_tab(page: Page, product: Product, session_id: str, tab: str = "chat", **more: object) -> None:
    extra = "".join(f"&{name}={value}" for name, value in more.items())
    page.goto(f"{product.address}/?session={session_id}&tab={tab}{extra}")
    expect(page.get_by_role("tab", name=tab.capitalize())).to_have_attribute("aria-selected", "true")


def settle(page: Page) -> None:
    """Until the page is drawn whole: what is still being drawn can lose the focus."""
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")


def turn(page: Page, number: int) -> Locator:
    return page.locator(f"#turn-{number}")


def say(runtime: InterviewRuntime, view: View, *texts: str) -> View:
    for text in texts:
        view = runtime.submit(view.session_id, text, expected_turn=view.turn, item=view.item)
    return view


def tab_to(page: Page, wanted: Locator, key: str = "Tab") -> None:
    """By the keyboard alone; what is drawn anew on the way does not put an end to it."""
    expect(wanted).to_be_visible()
    for _ in range(_MOST_STEPS):
        if wanted.evaluate("it => it.contains(document.activeElement)"):
            return
        page.keyboard.press(key)
    raise AssertionError(f"{wanted} cannot be reached by the keyboard")


def press(page: Page, wanted: Locator, key: str = "Enter") -> None:
    tab_to(page, wanted)
    page.keyboard.press(key)
