"""How soon a page is there: a session of sixty turns in a real browser, beside an empty page of Streamlit's.

Both are loaded in alternation in one browser whose cache is warm, as that of somebody who works with it is.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from playwright.sync_api import Page
from rich.console import Console
from rich.table import Table

from graph.runtime import InterviewRuntime
from graph.view import View
from storage.supervisor import http_ready
from tests.attached import attached_to
from tests.browser import chromium
from tests.product import free_port, started
from tests.support import temporary_home, wait_until
from tools.bench import redrawn
from tools.bench.aims import Aim
from tools.bench.timing import p50, p95, seconds

TURNS = 60
LOADS = 15
WATCHED = 8
CLICKS = 4
AIM_SECONDS = 1.0
_EMPTY_PAGE, _OURS = "an empty page", f"a session with {TURNS} turns"
_LAST_TURN = f".st-key-transcript #turn-{TURNS}"
"""Within the conversation, since the state on the Replay tab shows the last turns as well."""
_EMPTY = 'import streamlit\n\nstreamlit.html("<p id=here>here</p>")\n'
_OPTIONS = (
    "--server.address", "127.0.0.1", "--server.headless", "true", "--server.fileWatcherType", "none",
    "--browser.gatherUsageStats", "false",
)  # fmt: skip
_BREAK, _BACK, _VAGUE, _CLEAR = "Can we take a break?", "Let's go on.", "Hard to say.", "Several days."


@dataclass(frozen=True)
class PageFigures:
    """Seconds, by what was loaded and by what was done afterwards."""

    loads: dict[str, list[float]]
    done: dict[str, list[float]]
    redrawn: list[redrawn.Redrawn]


def measure() -> PageFigures:
    with (
        temporary_home() as home,
        started(home) as product,
        _empty_page() as empty,
        attached_to(product) as attached,
        chromium() as browser,
    ):
        long = _long(attached.runtime)
        address = f"{product.address}/?session={long.session_id}&tab=chat"
        page = browser.new_page()
        pages = {_EMPTY_PAGE: (empty, "#here"), _OURS: (address, _LAST_TURN)}
        loads: dict[str, list[float]] = {name: [] for name in pages}
        for _ in range(LOADS + 1):  # the first fills the cache
            for name, (where, last) in pages.items():
                loads[name].append(seconds(partial(_load, page, where, last)))
        warm = {name: times[1:] for name, times in loads.items()}
        done = {
            "a click on another tab": _clicked(page, address),
            "an answer, from being sent until the therapist sees it": _watched(page, attached.runtime, product.address),
        }
        fresh = browser.new_page()  # what it has not seen before comes over the wire in full
        return PageFigures(warm, done, redrawn.redrawn(fresh, attached.runtime, product.address))


def show(console: Console, figures: PageFigures) -> list[Aim]:
    """Both tables, and the aim that a run of the bench stands or falls by."""
    empty, ours = (p50(figures.loads[name]) for name in (_EMPTY_PAGE, _OURS))
    aim = Aim(f"{_OURS}, until it is on the screen (median)", ours, AIM_SECONDS, " s")
    table = Table("until it is on the screen", "p50 s", "p95 s", "aim", title="Pages", title_justify="left")
    for name, times in (figures.loads | figures.done).items():
        table.add_row(name, f"{p50(times):.2f}", f"{p95(times):.2f}", aim.verdict if name == _OURS else "")
    console.print(table)
    console.print(f"ratio of the medians of {_OURS} and {_EMPTY_PAGE}: {ours / empty:.2f}")
    redrawn.show(console, figures.redrawn)
    return [aim]


def _load(page: Page, address: str, last: str) -> None:
    """From another page, so that each load is a whole one."""
    page.goto(address)
    page.locator(last).wait_for(state="visible", timeout=60_000)


def _long(runtime: InterviewRuntime) -> View:
    """Breaks and unclear answers, until there are enough turns."""
    view = runtime.start(seed=1)
    while view.turn <= TURNS:
        if not view.open:
            raise RuntimeError(f"the interview ended after {view.turn} turns")
        view = _said(runtime, view, _BACK if view.paused else _BREAK if view.turn % 4 == 1 else _next(view))
    return view


def _next(view: View) -> str:
    return _CLEAR if view.lines[-1].kind == "follow_up" else _VAGUE


def _said(runtime: InterviewRuntime, view: View, text: str) -> View:
    return runtime.submit(view.session_id, text, expected_turn=view.turn, item=view.item)


def _clicked(page: Page, address: str) -> list[float]:
    """To the replay, which is the tab that reads most, and back to the conversation."""
    _load(page, address, _LAST_TURN)
    return [
        seconds(partial(_open_tab, page, tab, there))
        for _ in range(CLICKS)
        for tab, there in (("Replay", ".cc-changes"), ("Chat", _LAST_TURN))
    ]


def _open_tab(page: Page, tab: str, there: str) -> None:
    page.get_by_role("tab", name=tab).click()
    page.locator(there).first.wait_for()


def _watched(page: Page, runtime: InterviewRuntime, address: str) -> list[float]:
    session_id = runtime.start(seed=2).session_id
    _load(page, f"{address}/?session={session_id}&tab=chat", "#turn-1")
    return [seconds(partial(_answer, page, runtime, runtime.view(session_id))) for _ in range(WATCHED)]


def _answer(page: Page, runtime: InterviewRuntime, view: View) -> None:
    """The turn itself is a part of it: whoever watches waits for that as well."""
    _said(runtime, view, _CLEAR)
    page.locator(f"#turn-{view.turn} .patient").wait_for()


@contextmanager
def _empty_page() -> Iterator[str]:
    """The least that Streamlit can serve, with the options that ours is served with."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "empty.py"
        script.write_text(_EMPTY)
        command = [sys.executable, "-m", "streamlit", "run", str(script), "--server.port", str(port), *_OPTIONS]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)  # noqa: S603  # of our own making
        try:
            wait_until(http_ready(f"{address}/_stcore/health"), 60)
            yield address
        finally:
            process.terminate()
            process.wait(30)
