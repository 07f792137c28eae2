"""Signing in, in a real browser against a real provider: whose sessions are whose, and what a stranger gets."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Page, expect

from storage.audit import Audit
from tests.attached import attached_to
from tests.browser import chromium
from tests.oidc import Provider, provider
from tests.product import Product, run_cli, started
from tests.support import temporary_home
from workers.login import secrets_path

pytestmark = pytest.mark.browser

PEOPLE = {
    "Ada": {"sub": "1", "name": "Ada <b>Therapist</b>", "email": "Ada@clinic.example", "email_verified": True},
    "Ben": {"sub": "2", "name": "Ben", "email": "ben@clinic.example", "email_verified": True},
    "Eve": {"sub": "3", "name": "Eve", "email": "ada@clinic.example", "email_verified": False},
}


@pytest.fixture(scope="module")
def idp() -> Iterator[Provider]:
    with provider(PEOPLE) as running:
        yield running


@pytest.fixture(scope="module")
def clinic(idp: Provider) -> Iterator[Product]:
    people = {"OIDC_THERAPISTS": "ada@clinic.example, ben@clinic.example", "OIDC_ADMINS": "ben@clinic.example"}
    with temporary_home() as home, started(home, **idp.settings, **people) as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    expect.set_options(timeout=60_000)
    with chromium() as opened:
        yield opened


@contextmanager
def _signed_in(browser: Browser, clinic: Product, who: str) -> Iterator[Page]:
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.goto(clinic.address)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name=who).click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    yield page
    context.close()


def test_a_session_belongs_to_whoever_started_it(browser: Browser, clinic: Product) -> None:
    with _signed_in(browser, clinic, "Ada") as ada:
        expect(ada.get_by_text("Ada <b>Therapist</b>", exact=True)).to_be_visible()
        ada.get_by_role("button", name="Start with a client").click()
        ada.get_by_role("textbox", name="Client label").fill("C-017")
        ada.get_by_role("button", name="Start", exact=True).click()
        expect(ada.get_by_text("The patient’s link")).to_be_visible()
        link = ada.get_by_test_id("stCode").inner_text().strip()
        session_id = ada.url.partition("manage=")[2]
        ada.goto(f"{clinic.address}/?session={session_id}")
        expect(ada.get_by_role("heading", name="Not found")).to_have_count(0)
        expect(ada.get_by_role("button", name="Stop for safety")).to_be_visible()
    with _signed_in(browser, clinic, "Ben") as ben:
        expect(ben.get_by_text("All sessions of this installation")).to_be_visible()
        expect(ben.get_by_text("C-017")).to_have_count(0)
        ben.goto(f"{clinic.address}/?session={session_id}")
        expect(ben.get_by_role("heading", name="Not found")).to_be_visible()
        ben.goto(f"{clinic.address}/sessions?manage={session_id}")
        expect(ben.get_by_role("dialog").get_by_text("Delete this session")).to_be_visible()
        expect(ben.get_by_text("The patient’s link")).to_have_count(0)
        ben.keyboard.press("Escape")
        ben.get_by_role("button", name="Sign out").click()
        expect(ben.get_by_role("button", name="Sign in")).to_be_visible()
    stranger = browser.new_page()
    stranger.goto(link)  # a patient has no account
    expect(stranger.get_by_text("0 of 23 questions answered")).to_be_visible()
    stranger.goto(f"{clinic.address}/?session={session_id}")
    expect(stranger.get_by_role("button", name="Sign in")).to_be_visible()
    stranger.close()


def test_an_admin_who_is_a_therapist_takes_over_what_was_made_before_there_was_a_login(
    browser: Browser, clinic: Product
) -> None:
    with attached_to(clinic) as attached:
        session_id = attached.runtime.start(owner="local").session_id
        attached.label(session_id, "C-018")
        with _signed_in(browser, clinic, "Ada") as ada:
            ada.goto(f"{clinic.address}/sessions?manage={session_id}")
            expect(ada.get_by_text("There is no such session", exact=False)).to_be_visible()
        with _signed_in(browser, clinic, "Ben") as ben:
            expect(ben.get_by_text("nobody’s").first).to_be_visible()
            ben.goto(f"{clinic.address}/sessions?manage={session_id}")
            ben.get_by_role("button", name="Take it over").click()
            expect(ben.get_by_text("The patient’s link")).to_be_visible()
            ben.goto(f"{clinic.address}/health")
            owner = ben.get_by_test_id("stCode").inner_text().strip()
        assert attached.runtime.sessions.get(session_id).owner == owner
        assert [entry["kind"] for entry in Audit(attached.database).entries(session_id)] == ["assignment"]


def test_an_address_that_the_provider_has_not_verified_gives_no_role(browser: Browser, clinic: Product) -> None:
    with _signed_in(browser, clinic, "Eve") as eve:
        expect(eve.get_by_role("heading", name="No access yet")).to_be_visible()
        eve.goto(f"{clinic.address}/library")
        expect(eve.get_by_role("button", name="Sign out")).to_be_visible()
        expect(eve.get_by_text("Put a book in")).to_have_count(0)


def test_what_streamlit_must_know_is_for_nobody_elses_eyes(clinic: Product) -> None:
    file = secrets_path(clinic.settings)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert f'redirect_uri = "{clinic.address}/oauth2callback"' in file.read_text()


@pytest.mark.parametrize("command", ["up", "page"])
def test_the_page_is_not_opened_to_other_machines_without_a_login(command: str) -> None:
    with temporary_home() as home:
        refused = run_cli(home, command, CROSSCUT_HOST="0.0.0.0")  # noqa: S104
    assert refused.returncode == 1
    assert "there is no login. Set OIDC_DISCOVERY_URL" in refused.stderr
    assert "Traceback" not in refused.stderr
