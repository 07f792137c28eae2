"""A patient who reloads or goes back at the worst moment, and a stop that comes while a question appears."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from threading import Event

import pytest
from playwright.sync_api import Page, expect

from agents.escalation import escalation
from tests.attached import Attached
from tests.browser import Watched
from tests.gateway import Behaviour, Exchange, Gateway, gateway, unauthorised
from tests.patients_page import answer, answered, start
from tests.product import Product, started
from tests.support import temporary_home
from tests.workspace import settle

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

MODEL = "openai/gpt-4.1"
DANGER = "I am going to kill myself tonight."
MOST_TRIES = 5

BEGUN = """before => new Promise(resolve => {
  const look = () => {
    const said = [...document.querySelectorAll("[data-testid=stChatMessage]")];
    const words = said.length === before + 2 ? said.at(-1).querySelector("[data-testid=stText]")?.innerText : "";
    if (words) { observer.disconnect(); resolve(words); }
  };
  const observer = new MutationObserver(look);
  observer.observe(document.body, { subtree: true, childList: true, characterData: true });
  look();
})"""
"""Resolves at the first words of the next question."""
RELOAD_AT_ONCE = (
    f"""before => {{ ({BEGUN})(before).then(words => {{ sessionStorage.cut = words; location.reload(); }}) }}"""
)


@dataclass(frozen=True)
class Wired:
    product: Product
    gate: Gateway


@pytest.fixture(scope="module")
def wired() -> Iterator[Wired]:
    """The scorer asks a model that refuses, and then goes by the rules; unless a test holds it up."""
    with gateway() as gate, temporary_home(made=True) as home:
        gate.default = lambda _: unauthorised()
        models = {"GATEWAY_BASE_URL": gate.base_url, "GATEWAY_API_KEY": "k", "MODEL_EMBEDDING": "rules"}
        with started(home, MODEL_SCORER=MODEL, **models) as running:
            yield Wired(running, gate)


@pytest.fixture(scope="module")
def product(wired: Wired) -> Product:
    return wired.product


@pytest.fixture
def go_on(wired: Wired) -> Iterator[Event]:
    """The scorer's model answers nobody before this is set."""
    may, refuse = Event(), wired.gate.default

    def act(exchange: Exchange) -> None:
        may.wait(120)
        unauthorised().act(exchange)

    wired.gate.default = Behaviour("held", act)
    yield may
    may.set()
    wired.gate.default = refuse


def _assert_everything_is_there_once(page: Page, attached: Attached, session_id: str) -> None:
    lines = [line.text for line in attached.runtime.view(session_id).lines]
    expect(page.get_by_test_id("stChatMessage").get_by_test_id("stText")).to_have_text(lines)


def _assert_only_the_script(page: Page) -> None:
    words = escalation("en-US")
    expect(page.locator(".cc-script")).to_be_visible()
    assert page.locator(".cc-script").evaluate_all("all => all.map(it => it.textContent)") == [words.script]
    calls = page.locator(".cc-script a").evaluate_all("all => all.map(it => it.getAttribute('href'))")
    assert calls == [f"tel:{words.emergency}", f"tel:{words.crisis_line}"]
    expect(page.get_by_test_id("stText")).to_have_count(0)
    expect(page.get_by_test_id("stChatMessage")).to_have_count(1)
    expect(page.get_by_test_id("stChatInputTextArea")).to_have_count(0)
    expect(page.get_by_text("questions answered", exact=False)).to_have_count(0)


def test_a_reload_within_a_turn_waits_for_it_and_nothing_is_lost(
    page: Page, wired: Wired, attached: Attached, go_on: Event
) -> None:
    session_id, asked = start(page, attached), len(wired.gate.requests)
    answer(page, "Several days, and this was said once.")
    assert wired.gate.wait_for_requests(asked + 1, 60)
    page.reload()
    expect(page.get_by_text("your last message is being worked on", exact=False)).to_be_visible()
    expect(page.get_by_test_id("stChatInputTextArea")).to_have_count(0)
    go_on.set()
    answered(page, 1)
    _assert_everything_is_there_once(page, attached, session_id)
    expect(page.get_by_text("this was said once", exact=False)).to_have_count(1)
    answer(page, "Not at all.")
    answered(page, 2)

    page.go_back()
    page.go_forward()
    answered(page, 2)
    _assert_everything_is_there_once(page, attached, session_id)
    answer(page, "Not at all.")
    answered(page, 3)
    _assert_everything_is_there_once(page, attached, session_id)


def test_what_a_second_tab_sends_within_a_turn_is_given_back(
    page: Page, wired: Wired, attached: Attached, go_on: Event
) -> None:
    session_id = start(page, attached)
    watched = Watched(page.context.new_page(), attached.product.address)
    other = watched.page
    other.goto(page.url)
    answered(other, 0)
    asked = len(wired.gate.requests)
    answer(page, "Several days.")
    assert wired.gate.wait_for_requests(asked + 1, 60)
    answer(other, "Something <b>long</b> to say.")
    expect(other.get_by_test_id("stAlert")).to_contain_text("so this one was not taken")
    go_on.set()
    answered(other, 1)  # and what was written is there still
    expect(other.get_by_text("What you wrote:")).to_be_visible()
    expect(other.get_by_text("Something <b>long</b> to say.")).to_be_visible()
    answer(other, "Not at all.")
    answered(other, 2)
    expect(other.get_by_text("What you wrote:")).to_have_count(0)
    _assert_everything_is_there_once(other, attached, session_id)
    assert watched.problems == []


def test_a_reload_while_a_question_appears_shows_all_of_it(page: Page, attached: Attached) -> None:
    session_id, cut, items = start(page, attached), False, 0
    while not cut and items < MOST_TRIES:
        settle(page)
        page.evaluate("delete sessionStorage.cut")
        page.evaluate(RELOAD_AT_ONCE, page.get_by_test_id("stChatMessage").count())
        answer(page, "Several days.")
        items += 1
        page.wait_for_function("sessionStorage.cut && document.querySelector('[data-testid=stProgress]')")
        answered(page, items)
        _assert_everything_is_there_once(page, attached, session_id)
        question = attached.runtime.view(session_id).lines[-1].text
        cut = len(page.evaluate("sessionStorage.cut")) < len(question)
    assert cut, "no question was caught half way"
    expect(page.get_by_test_id("stChatInputTextArea")).to_be_enabled()


@pytest.mark.parametrize("by", ["therapist", "other tab"])
def test_a_stop_while_a_question_appears_leaves_the_script_alone(page: Page, attached: Attached, by: str) -> None:
    session_id = start(page, attached)
    watched = Watched(page.context.new_page(), attached.product.address)
    other = watched.page
    other.goto(page.url)
    answered(other, 0)
    settle(page)
    before = page.get_by_test_id("stChatMessage").count()
    answer(page, "Several days.")
    page.evaluate(BEGUN, before)
    if by == "therapist":
        attached.runtime.stop(session_id)
    else:
        answer(other, DANGER)
        _assert_only_the_script(other)
    _assert_only_the_script(page)
    page.reload()
    _assert_only_the_script(page)
    assert watched.problems == []
