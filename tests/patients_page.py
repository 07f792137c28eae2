"""A patient's own page in a real browser: beginning an interview, answering, and being answered."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.attached import Attached

ITEMS = 23


def start(page: Page, attached: Attached) -> str:
    """A new interview on its patient's screen; gives its session."""
    session_id = attached.runtime.start(owner="local").session_id
    page.goto(attached.link(session_id))
    answered(page, 0)
    return session_id


def answer(page: Page, text: str) -> None:
    box = page.get_by_test_id("stChatInputTextArea")
    expect(box).to_be_enabled()
    box.fill(text)
    box.press("Enter")


def answered(page: Page, items: int) -> None:
    """So many items are done and, until the last one is, the next question waits: a page that is drawn within a turn
    may tell the new count before that turn's own question is there.
    """
    expect(page.get_by_text(f"{items} of 23 questions answered")).to_be_visible()
    if items < ITEMS:
        expect(page.get_by_test_id("stChatInputTextArea")).to_be_enabled()
