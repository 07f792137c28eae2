"""How much of a page one click or one turn draws anew: elements and bytes over the wire, beside the whole page's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from playwright.sync_api import Page, WebSocket, expect
from rich.console import Console
from rich.table import Table
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from graph.runtime import InterviewRuntime
from tests.answers import CLEAR, answer_all, answer_until

_ELEMENTS = ("delta", "ref_hash")
_PATIENCE = 60_000
_CHAT_TURNS = 20
_WORRY = "Several days. I wish I was dead, then it passes."


@dataclass
class Drawn:
    elements: int = 0
    size: int = 0

    def hear(self, payload: str | bytes) -> None:
        if isinstance(payload, str):
            return
        message = ForwardMsg()
        message.ParseFromString(payload)
        self.elements += message.WhichOneof("type") in _ELEMENTS
        self.size += len(payload)

    def taken(self) -> Drawn:
        """What has come since the last time."""
        found = Drawn(self.elements, self.size)
        self.elements = self.size = 0
        return found


@dataclass(frozen=True)
class Redrawn:
    what: str
    whole: Drawn
    click: Drawn


def redrawn(page: Page, runtime: InterviewRuntime, address: str) -> list[Redrawn]:
    wire = Drawn()
    page.on("websocket", lambda socket: _listen(socket, wire))
    return [*_of_finished(page, wire, runtime, address), *_of_chat(page, wire, runtime, address)]


def _of_finished(page: Page, wire: Drawn, runtime: InterviewRuntime, address: str) -> list[Redrawn]:
    """In a finished session with reports in two modes."""
    session_id = answer_all(runtime, runtime.start(seed=3)).session_id
    for mode in ("diagnostic", "screening"):
        runtime.reports.newest(session_id, mode)
    where = f"{address}/?session={session_id}&tab="
    group = page.get_by_test_id("stButtonGroup")
    modes = (
        page.locator(".st-key-report")
        .get_by_text("This report was made in", exact=False)
        .or_(page.get_by_role("heading", name="Limitations"))
    )
    return [
        _measured(
            page, wire, f"{where}report", "Report: another mode",
            lambda: modes.first.wait_for(),
            lambda: group.get_by_text("diagnostic").click(),
        ),
        _measured(
            page, wire, f"{where}benchmark", "Benchmark: from the card to the comparison",
            lambda: page.get_by_text("Everything that can be measured", exact=False).wait_for(timeout=2 * _PATIENCE),
            lambda: group.get_by_text("Comparison").click(),
        ),
    ]  # fmt: skip


def _of_chat(page: Page, wire: Drawn, runtime: InterviewRuntime, address: str) -> list[Redrawn]:
    """In a session that goes on, and that a worry was raised in."""
    view = answer_until(runtime, runtime.start(seed=4), _CHAT_TURNS)
    view = runtime.submit(view.session_id, _WORRY, expected_turn=view.turn, item=view.item)
    newest = page.locator(f".st-key-transcript #turn-{view.turn}")
    where = f"{address}/?session={view.session_id}&tab=chat"
    return [
        _measured(
            page, wire, where, "Chat: a new turn, without a click", newest.wait_for,
            lambda: runtime.submit(view.session_id, CLEAR, expected_turn=view.turn, item=view.item),
            newest.locator(".patient").wait_for,
        ),
        _measured(
            page, wire, where, "Chat: acknowledge", newest.wait_for,
            lambda: page.get_by_role("button", name="Acknowledge").click(),
            page.get_by_text("Acknowledged by", exact=False).wait_for,
        ),
    ]  # fmt: skip


def show(console: Console, figures: list[Redrawn]) -> None:
    table = Table(
        "what happens", "elements", "of the page", "kB", "of the page", title="Drawn anew", title_justify="left"
    )
    for one in figures:
        table.add_row(
            one.what,
            f"{one.click.elements} of {one.whole.elements}",
            f"{one.click.elements / one.whole.elements:.2f}",
            f"{one.click.size / 1000:.1f} of {one.whole.size / 1000:.1f}",
            f"{one.click.size / one.whole.size:.2f}",
        )
    console.print(table)


def _listen(socket: WebSocket, wire: Drawn) -> None:
    socket.on("framereceived", wire.hear)


def _measured(
    page: Page,
    wire: Drawn,
    address: str,
    what: str,
    is_there: Callable[[], object],
    click: Callable[[], object],
    is_done: Callable[[], object] | None = None,
) -> Redrawn:
    """Without `is_done`, until the run that the click has begun is over."""
    page.goto(address)
    is_there()
    page.goto("about:blank")
    wire.taken()
    page.goto(address)  # now that nothing is pending any more and everything has been written
    is_there()
    _settled(page)
    whole = wire.taken()
    click()
    if is_done:
        is_done()
    else:
        page.wait_for_function("document.querySelector('[data-testid=stApp]').dataset.testScriptState !== 'notRunning'")
    _settled(page)
    return Redrawn(what, whole, wire.taken())


def _settled(page: Page) -> None:
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning", timeout=_PATIENCE)
    page.wait_for_timeout(300)  # what the last message brought
