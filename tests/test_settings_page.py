"""Settings and health in a real browser: models that answer or do not, the locale, what leaves, the doctor."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest
from playwright.sync_api import Locator, Page, expect
from pydantic import SecretStr

from benchmark.judge import JUDGE_MODEL
from settings import Settings
from tests.browser import chromium
from tests.gateway import Gateway, gateway, text_reply, unauthorised
from tests.product import Product, started
from tests.support import temporary_home
from tests.workspace import therapist
from ui.health import what_leaves

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

KEY = "a-key-that-nobody-may-read"
WORKS, FAILS = "openai/gpt-4.1", "openai/gpt-4.1-mini"


@dataclass(frozen=True)
class Wired:
    """A product with a gateway that can be taken away from it."""

    product: Product
    gate: Gateway
    unplug: ExitStack


@pytest.fixture(scope="module")
def wired() -> Iterator[Wired]:
    with ExitStack() as stack, temporary_home(made=True) as home:
        gate = stack.enter_context(gateway())
        models = {"MODEL_INTERVIEWER": WORKS, "MODEL_SCORER": FAILS, "GATEWAY_API_KEY": KEY}
        mail = {"CROSSCUT_WEBHOOK_URL": "https://notices.example.org/secret-path", "CROSSCUT_WEBHOOK_SECRET": "s" * 32}
        with started(home, GATEWAY_BASE_URL=gate.base_url, CROSSCUT_LOCALE="GB", **models, **mail) as running:
            yield Wired(running, gate, stack)


@pytest.fixture(scope="module")
def page(wired: Wired) -> Iterator[Page]:
    with chromium() as browser, therapist(browser, wired.product) as opened:
        yield opened


def _role(page: Page, role: str) -> Locator:
    return page.locator(f".st-key-role-{role}")


def test_each_role_says_which_model_plays_it_and_can_be_tried(page: Page, wired: Wired) -> None:
    wired.gate.script(text_reply("Here <b>I</b> am"), model=WORKS)
    wired.gate.script(*[unauthorised()] * 3, model=FAILS)
    page.goto(f"{wired.product.address}/health")
    for role, model in (("interviewer", WORKS), ("scorer", FAILS), ("risk", "embedded rules")):
        expect(_role(page, role)).to_contain_text(model)
        _role(page, role).get_by_role("button", name="Test").click()
        expect(_role(page, role).get_by_test_id("stAlert")).to_be_visible()
    expect(_role(page, "interviewer")).to_contain_text(f"{WORKS} answered: Here <b>I</b> am")
    expect(_role(page, "risk")).to_contain_text("there is nothing to call")
    failed = _role(page, "scorer").get_by_test_id("stAlertContentError")
    expect(failed).to_contain_text("key")
    assert KEY not in page.content()


def test_the_locale_what_leaves_and_what_the_doctor_says_are_told(page: Page, wired: Wired) -> None:
    expect(page.get_by_text("Locale GB", exact=False)).to_contain_text("emergency 999")
    page.get_by_text("What a patient sees after a stop").click()
    expect(page.get_by_text("I am stopping the questions here", exact=False)).to_be_visible()
    for line in (
        f"Answers and questions of interviews, to {WORKS}, {FAILS} at {wired.gate.base_url}.",
        "Passages of books and what is looked for, to openai/text-embedding-3-small",
        "Notices that a session needs attention, without content, by webhook.",
    ):
        expect(page.get_by_role("listitem").filter(has_text=line)).to_be_visible()
    assert "secret-path" not in page.content()
    said = page.locator(".st-key-checks")
    for name, state in (("postgres", "ok"), ("worker", "ok"), ("app", "ok"), ("models", "ok"), ("notices", "ok")):
        expect(said.get_by_test_id("stMarkdown").filter(has_text=f"{state} {name} · ")).to_be_visible()


def test_a_gateway_that_has_gone_is_found_by_the_check_and_by_the_test(page: Page, wired: Wired) -> None:
    wired.unplug.close()
    page.get_by_role("button", name="Check now").click()
    expect(page.get_by_text("1 of", exact=False)).to_contain_text("needs mending")
    first = page.locator(".st-key-checks").get_by_test_id("stMarkdown").first
    expect(first).to_contain_text("broken models · ")
    expect(first).to_contain_text("check GATEWAY_BASE_URL and GATEWAY_API_KEY")
    _role(page, "interviewer").get_by_role("button", name="Test").click()
    expect(_role(page, "interviewer").get_by_test_id("stAlertContentError")).to_be_visible()


def test_nothing_leaves_an_installation_as_it_comes() -> None:
    assert what_leaves(Settings(_env_file=None)) == []


def test_with_a_key_the_judge_and_named_models_are_told_of_even_where_the_rules_do_everything_else() -> None:
    keyed = Settings(_env_file=None, gateway_api_key=SecretStr("k"), model_embedding="rules")
    judge, compared, batch = what_leaves(keyed)
    assert JUDGE_MODEL in judge
    assert "conversation and report" in judge
    assert "conversation and scores" in compared
    assert "Of a batch run" in batch
    offered, *_ = what_leaves(keyed.model_copy(update={"model_choices": "a/b"}))
    assert offered.startswith("Answers and questions of sessions that are started with a/b, to that model at http")
