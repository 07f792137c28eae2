"""Pages and tabs in a filled state, on a desk and on a telephone, light and dark: it can be read, and it fits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from playwright.sync_api import Browser, Page, expect
from psycopg.types.json import Jsonb
from pydantic import SecretStr

from benchmark.comparison import open_desk
from benchmark.personas import persona
from benchmark.replies import simulated
from benchmark.runs.aggregate import aggregated
from benchmark.simulator import SimulatedPatient
from graph.conversation import converse
from graph.replay import Replay
from instruments.profile import SessionStatus
from tests.attached import Attached
from tests.gateway import gateway, json_reply
from tests.product import Product
from tests.test_run_report import SPEC, made_cells
from tests.workspace import DESK, PHONE, UNREADABLE, open_tab, say, settle, therapist

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

WORRY = "Several days. I wish I was dead, then it passes."
DANGER = "I am going to kill myself tonight."
MODEL = "tests/another"
LONG_WORD = "a_very_long_word_" + "x" * 90


@dataclass(frozen=True)
class Cast:
    """Sessions in every state; the finished one has a report of two revisions and a copy that took another way. Both
    finished ones were compared with a model. And a batch run that is done."""

    finished: str
    again: str
    flagged: str
    stopped: str
    demo: str
    run: str


@pytest.fixture(scope="module")
def cast(attached: Attached) -> Cast:
    runtime = attached.runtime
    finished, again = (_held(attached, seed) for seed in (1, 2))
    runtime.reports.newest(finished)
    runtime.reports.correct(finished, 3, 2, "Said so on the telephone.", "therapist")
    checkpoints = Replay(attached.database, runtime).checkpoints(finished)
    asked = next(one for one in checkpoints if one.nodes == ("ASK_ITEM",) and one.item == 2)
    Replay(attached.database, runtime).fork(finished, str(asked.number), "Not at all.")
    flagged = say(runtime, runtime.start(owner="local", seed=3), f"Several days, {LONG_WORD}.", WORRY, "Hard to say.")
    stopped = say(runtime, runtime.start(owner="local", seed=4), "Several days.", DANGER)
    for session_id in (finished, again):
        attached.label(session_id, "C-017")
        _compare(attached, session_id)
    demo = say(runtime, runtime.start(owner="local", persona="grey-mornings", seed=5), "Several days.")
    return Cast(finished, again, flagged.session_id, stopped.session_id, demo.session_id, _run(attached))


def _compare(attached: Attached, session_id: str) -> None:
    """With a model at a stand-in, which the product itself does not know of."""
    said = next(line.text for line in attached.runtime.view(session_id).lines if line.role == "patient")
    impression = {
        "name": "Major Depressive Disorder", "confidence": 0.6, "itemIds": ["L1-01"], "quotes": [said],
        "citations": [], "steps": [f"Told so, {LONG_WORD}."],
    }  # fmt: skip
    made = {"summary": "Weighed by a model.", "diagnoses": [impression], "reasoning": [], "citations": []}
    with gateway() as gate:
        gate.default = json_reply({**made, "limitations": [], "ragUsed": False})
        known = {"gateway_base_url": gate.base_url, "gateway_api_key": SecretStr("k"), "model_tries": 1}
        ours = attached.product.settings.model_copy(update=known)
        desk = open_desk(ours, attached.database, attached.runtime)
        run_id = desk.ask(desk.snapshots.freeze(session_id), [MODEL])
        desk.work(desk.job_of(run_id))
        assert [column.error for column in desk.columns(run_id)] == [None, None]


def _run(attached: Attached) -> str:
    made = aggregated(SPEC, made_cells()).model_dump(mode="json")
    attached.database.run(
        "INSERT INTO runs (id, name, spec, status, aggregate, finished_at) VALUES (%s, %s, %s, 'done', %s, now())",
        "readable", f"A run, {LONG_WORD}", Jsonb(SPEC.to_json_dict()), Jsonb(made),
    )  # fmt: skip
    return "readable"


def _held(attached: Attached, seed: int) -> str:
    runtime, patient = attached.runtime, SimulatedPatient(persona("grey-mornings"), seed)
    view = converse(runtime, runtime.start(owner="local", seed=seed), simulated(patient))
    assert view.profile.session_status is SessionStatus.COMPLETED
    return view.session_id


Opened = Callable[[Page], None]


def _places(product: Product, attached: Attached, cast: Cast) -> dict[str, Opened]:
    return {
        "sessions": lambda page: _go(page, f"{product.address}/sessions", "New interview"),
        "new interview": _new_interview,
        "manage": lambda page: _go(page, f"{product.address}/sessions?manage={cast.finished}", "Delete this session"),
        "demo": lambda page: _go(page, f"{product.address}/sessions?live={cast.demo}", "Go on"),
        "batch": lambda page: _go(page, f"{product.address}/batch", "Start a run"),
        "start a run": _start_a_run,
        "run": lambda page: _finished_run(page, f"{product.address}/batch?run={cast.run}"),
        "library": lambda page: _go(page, f"{product.address}/library", "Look something up"),
        "passages": _look_something_up,
        "settings": lambda page: _go(page, f"{product.address}/health", "Health"),
        "chat": lambda page: _tab(page, product, cast.flagged, "chat", ".cc-turn"),
        "correct a score": _correct_a_score,
        "stopped chat": lambda page: _tab(page, product, cast.stopped, "chat", ".cc-turn.stop"),
        "report": lambda page: _tab(page, product, cast.finished, "report", ".cc-chart"),
        "benchmark": lambda page: _tab(page, product, cast.finished, "benchmark", ".cc-verdict"),
        "ballot": _ballot,
        "columns": lambda page: _columns(page, product, cast.again),
        "replay": lambda page: _tab(page, product, cast.finished, "replay", ".st-key-timeline tr"),
        "no such session": lambda page: _go(
            page, f"{product.address}/?session=none", "There is nothing at this address"
        ),
        "no such link": lambda page: _go(page, f"{product.address}/?patient=none", "This link does not lead anywhere"),
        "patient": lambda page: _go(page, attached.link(cast.flagged), "questions answered"),
        "closing": lambda page: _go(page, attached.link(cast.finished), "That was the last question"),
        "stop": lambda page: _go(page, attached.link(cast.stopped), "I am stopping the questions here"),
    }


def _go(page: Page, address: str, words: str) -> None:
    page.goto(address)
    expect(page.get_by_text(words, exact=False).first).to_be_visible()


def _new_interview(page: Page) -> None:
    """From the list of sessions."""
    page.get_by_role("button", name="New interview").click()
    expect(page.get_by_role("button", name="Start", exact=True)).to_be_visible()


def _tab(page: Page, product: Product, session_id: str, tab: str, sign: str) -> None:
    open_tab(page, product, session_id, tab)
    expect(page.locator(sign).first).to_be_visible()


def _start_a_run(page: Page) -> None:
    """From the list of runs."""
    page.get_by_text("Start a run", exact=True).click()
    expect(page.get_by_role("button", name="Start the run")).to_be_visible()


def _finished_run(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.locator(".cc-picture img").last).to_be_visible()
    expect(page.get_by_text("Reliability, PNG")).to_be_visible()


def _look_something_up(page: Page) -> None:
    """From the library, which has the sample handbook by itself."""
    expect(page.locator("[class*=st-key-book-]").first).to_be_visible(timeout=150_000)
    settle(page)
    page.get_by_label("What to look for").fill("sudden fear with a racing heart")
    page.get_by_label("What to look for").press("Enter")
    expect(page.get_by_text("similarity", exact=False).first).to_be_visible()


def _part(page: Page, name: str) -> None:
    page.get_by_test_id("stButtonGroup").get_by_text(name).click()


def _ballot(page: Page) -> None:
    """From the card. Once it has been handed out it stays."""
    _part(page, "Blind vote")
    ask, ballot = page.get_by_role("button", name="Give me a ballot"), page.get_by_text("Which report would you rather")
    expect(ask.or_(ballot)).to_be_visible()
    if ask.is_visible():
        ask.click()
    expect(ballot).to_be_visible()


def _columns(page: Page, product: Product, session_id: str) -> None:
    open_tab(page, product, session_id, "benchmark")
    expect(page.locator(".cc-verdict")).to_be_visible()
    _part(page, "Comparison")
    show, history = page.get_by_role("button", name="Show the columns"), page.get_by_role("heading", name="Override")
    expect(show.or_(history)).to_be_visible()
    if show.is_visible():
        show.click()
    expect(history).to_be_visible()


def _correct_a_score(page: Page) -> None:
    """From the chat."""
    page.get_by_role("button", name="Correct a score").click()
    expect(page.get_by_role("textbox", name="Reason")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_contrast_and_stays_on_the_screen(
    browser: Browser, product: Product, attached: Attached, cast: Cast, scheme: str
) -> None:
    found: dict[str, list[str]] = {}
    with therapist(browser, product, color_scheme=scheme, reduced_motion="reduce") as page:
        for name, opened in _places(product, attached, cast).items():
            page.set_viewport_size(DESK)  # type: ignore[arg-type]
            opened(page)
            for size in (DESK, PHONE):
                page.set_viewport_size(size)  # type: ignore[arg-type]
                settle(page)
                found[f"{name}, {size['width']}"] = page.evaluate(UNREADABLE)
        page.add_style_tag(content=".cc-script, [data-testid=stText] { opacity: 0.3; min-width: 500px }")
        seen = page.evaluate(UNREADABLE)
    assert {name: problems for name, problems in found.items() if problems} == {}
    assert [told.partition(" ")[0] for told in seen][:2] == ["contrast", "leaves"]  # so it would have been seen
