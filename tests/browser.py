"""Chromium for tests, told to call nobody but the page."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Page, sync_playwright

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


@contextmanager
def chromium() -> Iterator[Browser]:
    path = find_browser()
    assert path is not None, "no Chromium: run `make test`, which installs it or says how"
    with sync_playwright() as playwright:
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
