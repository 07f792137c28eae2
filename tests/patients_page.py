"""A patient's own page in a real browser: beginning an interview, answering, and being answered."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.attached import Attached


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
    expect(page.get_by_text(f"{items} of 23 questions answered")).to_be_visible()
