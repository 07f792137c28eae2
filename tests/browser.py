"""Chromium for tests, told to call nobody but the page."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps

import pytest
from playwright.sync_api import Browser, Locator, Page, sync_playwright
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from workers.health import find_browser

_FLAGS = [
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
    *(["--no-sandbox"] if os.geteuid() == 0 else []),
]


_TOUCHES = ("click", "dblclick", "fill")
_DRAWN = (
    "() => (document.querySelector('[data-testid=stApp]')?.dataset.testScriptState ?? 'notRunning') === 'notRunning'"
)
_PATIENCE = 5_000  # milliseconds: what takes longer is touched while it is at work


def _unhurried(touch: Callable[..., None]) -> Callable[..., None]:
    """As people are: what is only just being drawn can be replaced under a click that comes within the same instant."""

    @wraps(touch)
    def slowly(self: Locator, *given: object, **how: object) -> None:
        self.wait_for(state="visible")
        with suppress(PlaywrightTimeout):
            self.page.wait_for_function(_DRAWN, timeout=_PATIENCE)
        touch(self, *given, **how)

    return slowly


@contextmanager
def _unhurried_hands() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        for name in _TOUCHES:
            patched.setattr(Locator, name, _unhurried(getattr(Locator, name)))
        yield


@contextmanager
def chromium() -> Iterator[Browser]:
    path = find_browser()
    assert path is not None, "no Chromium: run `make test`, which installs it or says how"
    with sync_playwright() as playwright, _unhurried_hands():
        browser = playwright.chromium.launch(executable_path=str(path), args=_FLAGS)
        try:
            yield browser
        finally:
            browser.close()


class Watched:
    """A page whose console errors, uncaught exceptions and requests to anywhere else are kept."""

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        self.problems: list[str] = []
        own = (address, address.replace("http", "ws"), "data:", "blob:")
        page.on("request", lambda r: None if r.url.startswith(own) else self.problems.append(f"asked {r.url}"))
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("console", lambda m: self.problems.append(f"{m.text} {m.location}") if m.type == "error" else None)
