"""Takes the pictures of the guides anew: `python -m tools.pictures`, or `python -m tools.pictures NAME …` for some.

The whole product is started in a home of its own, filled with synthetic patients, and looked at in a real browser.
Behind its gateway stands the stand-in of the tests, so nothing leaves the machine.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Browser, Page, expect

from benchmark.personas import persona
from benchmark.replies import simulated
from benchmark.simulator import SimulatedPatient
from graph.conversation import converse
from graph.replay import Replay
from tests.attached import Attached, attached_to
from tests.browser import chromium
from tests.gateway import gateway
from tests.models import CARELESS, GOOD, answering
from tests.product import Product, started
from tests.support import temporary_home
from tests.workspace import DESK, PHONE, open_tab, say, settle

IMAGES = Path(__file__).parent.parent / "docs" / "images"
PATIENCE = 180_000
WORRY = "Several days. I wish I was dead, then it passes."
DANGER = "I am going to kill myself tonight."
TALL = {"width": 1280, "height": 1500}


@dataclass(frozen=True)
class Cast:
    """A finished session, one that goes on with a worry in it, one that was stopped."""

    finished: str
    going: str
    stopped: str


@dataclass(frozen=True)
class Picture:
    opened: Callable[[Page], None]
    size: dict[str, int]
    scheme: Literal["light", "dark"] = "light"


def main(*names: str) -> int:
    with _filled() as (product, attached, cast), chromium() as browser:
        expect.set_options(timeout=PATIENCE)
        pictures = _pictures(product, attached, cast)
        for name in names or pictures:
            _take(browser, name, pictures[name])
    return 0


@contextmanager
def _filled() -> Iterator[tuple[Product, Attached, Cast]]:
    with gateway() as gate, temporary_home(made=True) as home:
        gate.default = answering()
        reached = {"GATEWAY_BASE_URL": gate.base_url, "GATEWAY_API_KEY": "k", "MODEL_EMBEDDING": "rules"}
        with started(home, MODEL_CHOICES=f"{GOOD},{CARELESS}", **reached) as product, attached_to(product) as attached:
            yield product, attached, _cast(attached)


def _cast(attached: Attached) -> Cast:
    runtime = attached.runtime
    earlier, finished = (_held(attached, seed) for seed in (2, 1))
    for session_id in (earlier, finished):
        attached.label(session_id, "C-017")
    runtime.reports.newest(finished)
    replay = Replay(attached.database, runtime)
    asked = next(one for one in replay.checkpoints(finished) if one.nodes == ("ASK_ITEM",) and one.item == 2)
    replay.fork(finished, str(asked.number), "Not at all.")
    going = say(runtime, runtime.start(owner="local", seed=3), "Nearly every day, I just sit there.", WORRY, "Twice.")
    attached.label(going.session_id, "C-023")
    stopped = say(runtime, runtime.start(owner="local", seed=4), "Several days.", DANGER)
    attached.label(stopped.session_id, "C-031")
    return Cast(finished, going.session_id, stopped.session_id)


def _held(attached: Attached, seed: int) -> str:
    patient = SimulatedPatient(persona("grey-mornings"), seed)
    begun = attached.runtime.start(owner="local", seed=seed)
    return converse(attached.runtime, begun, simulated(patient)).session_id


def _pictures(product: Product, attached: Attached, cast: Cast) -> dict[str, Picture]:
    at = f"{product.address}/"
    sessions = partial(_go, address=f"{at}sessions", words="New interview")
    patient = partial(_go, address=attached.link(cast.going), words="questions answered")
    stopped = partial(_go, address=attached.link(cast.stopped), words="I am stopping the questions here")
    tab = partial(_tab, product=product)
    chat = partial(tab, session_id=cast.going, tab="chat", sign=".cc-turn")
    ended = partial(tab, session_id=cast.finished)
    return {
        "sessions": Picture(sessions, DESK),
        "sessions-dark": Picture(sessions, DESK, "dark"),
        "patient": Picture(patient, DESK),
        "patient-phone": Picture(patient, PHONE),
        "patient-stopped-phone": Picture(stopped, PHONE),
        "workspace-chat": Picture(chat, DESK),
        "workspace-chat-phone": Picture(chat, PHONE),
        "workspace-stopped-dark": Picture(
            partial(tab, session_id=cast.stopped, tab="chat", sign=".cc-turn.stop"), DESK, "dark"
        ),
        "workspace-report": Picture(partial(ended, tab="report", sign=".cc-chart"), TALL),
        "workspace-card": Picture(partial(ended, tab="benchmark", sign=".cc-verdict"), TALL),
        "workspace-replay": Picture(partial(ended, tab="replay", sign=".st-key-timeline"), TALL),
        "workspace-ballot": Picture(partial(_ballot, product=product, session_id=cast.finished), TALL),
        "batch": Picture(partial(_run, address=f"{at}batch"), TALL),
        "library": Picture(partial(_look_up, address=f"{at}library"), TALL),
        "health": Picture(partial(_go, address=f"{at}health", words="Models by role"), TALL),
    }


def _go(page: Page, *, address: str, words: str) -> None:
    page.goto(address)
    expect(page.get_by_text(words, exact=False).first).to_be_visible()


def _tab(page: Page, *, product: Product, session_id: str, tab: str, sign: str) -> None:
    open_tab(page, product, session_id, tab)
    expect(page.locator(sign).first).to_be_visible()


def _ballot(page: Page, *, product: Product, session_id: str) -> None:
    _tab(page, product=product, session_id=session_id, tab="benchmark", sign=".cc-verdict")
    page.get_by_text("Comparison", exact=True).first.click()
    box = page.get_by_role("combobox", name="Compare it with")
    box.fill(GOOD)
    box.press("Enter")
    box.press("Escape")
    page.get_by_role("button", name="Benchmark", exact=True).click()
    page.get_by_role("button", name="Vote blind first").click()
    page.get_by_role("button", name="Give me a ballot").click()
    expect(page.get_by_role("button", name="is better", exact=False)).to_have_count(2)


def _run(page: Page, *, address: str) -> None:
    page.goto(address)
    page.get_by_label("Name").fill("Rules on four personas")
    box = page.get_by_role("combobox", name="Personas")
    for name in ("grey-mornings", "no-way-out", "steady-nurse", "orders"):
        box.fill(name)
        page.get_by_role("option", name=name).click()
    box.press("Escape")
    page.get_by_role("heading", name="Batch").click()  # a list that is left grows smaller, and what is below it moves
    page.get_by_role("button", name="Start the run").click()
    expect(page.locator(".cc-picture img").last).to_be_visible()


def _look_up(page: Page, *, address: str) -> None:
    _go(page, address=address, words="passages")
    page.get_by_role("textbox", name="What to look for").fill("sudden fear with a racing heart")
    page.get_by_role("textbox", name="What to look for").press("Enter")
    expect(page.get_by_text("Panic Disorder", exact=False).first).to_be_visible()


def _take(browser: Browser, name: str, picture: Picture) -> None:
    how: dict[str, Any] = {"viewport": picture.size, "color_scheme": picture.scheme, "reduced_motion": "reduce"}
    context = browser.new_context(**how)
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    picture.opened(page)
    settle(page)
    expect(page.get_by_test_id("stSkeleton")).to_have_count(0)
    page.evaluate("window.scrollTo(0, 0)")
    page.screenshot(path=str(IMAGES / f"{name}.png"), animations="disabled")
    context.close()
    sys.stdout.write(f"{name}\n")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
