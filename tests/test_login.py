"""Signing in, in a real browser against a real provider: whose sessions are whose, and what a stranger gets."""

from __future__ import annotations

import re
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from storage.audit import Audit
from storage.library import Library, NewBook
from storage.runs import Runs
from storage.supervisor import http_ready
from tests.answers import answer_all
from tests.attached import attached_to
from tests.browser import Watched, chromium
from tests.oidc import Provider, provider
from tests.product import ROOT, Product, environment, free_port, run_cli, started
from tests.support import temporary_home, wait_until
from tests.workspace import settle
from workers.login import secrets_path

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

PEOPLE = {
    "Ada": {"sub": "1", "name": "Ada <b>Therapist</b>", "email": "Ada@clinic.example", "email_verified": True},
    "Ben": {"sub": "2", "name": "Ben", "email": "ben@clinic.example", "email_verified": True},
    "Cleo": {"sub": "7", "name": "Cleo", "email": "cleo@clinic.example", "email_verified": True},
    "Eve": {"sub": "3", "name": "Eve", "email": "ada@clinic.example", "email_verified": False},
    "Cora": {"sub": "4", "name": "Cora", "email": "cora@clinic.example", "email_verified": True},
    "Max": {"sub": "5", "name": "Max", "email": "max@clinic.example", "email_verified": True},
    "Rae": {"sub": "6", "name": "Rae", "email": "rae@clinic.example", "email_verified": True},
}
ROLES = {
    "OIDC_THERAPISTS": "ada@clinic.example, ben@clinic.example, cora@clinic.example",
    "OIDC_ADMINS": "ben@clinic.example, max@clinic.example",
    "OIDC_RESEARCHERS": "rae@clinic.example, cleo@clinic.example",
}
PROVIDERS_OWN = re.compile(r"^asked http://127\.0\.0\.1:\d+/(authorize|grant)\?")
WORDS, LABEL = "Several days, and nobody else may read this.", "C-019"
ANYBODYS = ["Sessions", "Library", "Settings and health"]
PLACES = {
    "Batch": ("batch", "Start the run"),
    "Library": ("library", "Look something up"),
    "Settings and health": ("health", "What leaves this machine"),
}
"""Where a page is, and what stands on it for whoever may open it."""
NOTHING = "There is nothing at this address, or nothing that you may see."
MANAGED = "sessions?manage="


@pytest.fixture(scope="module")
def idp() -> Iterator[Provider]:
    with provider(PEOPLE) as running:
        yield running


@pytest.fixture(scope="module")
def clinic(idp: Provider) -> Iterator[Product]:
    with temporary_home() as home, started(home, **idp.settings, **ROLES) as running:
        yield running


@pytest.fixture(scope="module")
def adas(clinic: Product, idp: Provider) -> Iterator[str]:
    """A finished session of Ada's, with a report."""
    with attached_to(clinic) as attached:
        view = answer_all(attached.runtime, attached.runtime.start(owner=f"{idp.issuer} 1"), WORDS)
        attached.label(view.session_id, LABEL)
        attached.runtime.reports.newest(view.session_id)
        yield view.session_id


@pytest.fixture(scope="module")
def demo(clinic: Product, idp: Provider) -> str:
    """A persona's interview of Ada's that was left."""
    with attached_to(clinic) as attached:
        return attached.runtime.start(owner=f"{idp.issuer} 1", persona="grey-mornings").session_id


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    expect.set_options(timeout=60_000)
    with chromium() as opened:
        yield opened


@contextmanager
def _signed_in(browser: Browser, clinic: Product, who: str) -> Iterator[Page]:
    """From here on nothing may raise in the page, or ask anybody else for anything but the way in and out."""
    context = browser.new_context()
    watched = Watched(context.new_page(), clinic.address)
    page = watched.page
    page.set_default_timeout(60_000)
    page.goto(clinic.address)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name=who).click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    yield page
    context.close()
    assert [one for one in watched.problems if not PROVIDERS_OWN.search(one)] == []


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
        for somebodys in (session_id, "never-was"):
            ben.goto(f"{clinic.address}/sessions?live={somebodys}")
            expect(ben.get_by_text("There is nothing at this address, or nothing that you may see.")).to_be_visible()
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


@pytest.mark.parametrize(
    ("who", "pages", "manages"),
    [
        ("Ada", ANYBODYS, "The patient’s link"),
        ("Cora", ANYBODYS, "none that you may manage"),
        ("Rae", [*ANYBODYS, "Batch"], "none that you may manage"),
        ("Max", [*ANYBODYS, "Batch"], "Delete this session"),
        ("Eve", [], None),
    ],
    ids=["owner", "another therapist", "researcher", "admin", "no role"],
)
def test_owner_by_role_by_page(
    browser: Browser, clinic: Product, adas: str, demo: str, who: str, pages: list[str], manages: str | None
) -> None:
    with _signed_in(browser, clinic, who) as page:
        ways = page.get_by_test_id("stSidebar").get_by_role("link")
        expect(ways).to_have_count(len(pages))
        for title, (path, sign) in PLACES.items():
            page.goto(f"{clinic.address}/{path}")
            expect(page.get_by_role("button", name="Sign out")).to_be_visible()
            told = sign if title in pages else NOTHING if pages else "No access yet"
            expect(page.get_by_text(told).first).to_be_visible()
            assert title in pages or page.get_by_text(sign).count() == 0
        for where, owners, others in _ways_to(adas, demo):
            page.goto(f"{clinic.address}/{where}")
            if who == "Ada":
                expect(page.get_by_text(owners).first).to_be_visible()
                continue
            told = manages if manages and MANAGED in where else others if pages else "No access yet"
            expect(page.get_by_text(told, exact=False).first).to_be_visible()
            settle(page)
            assert not [one for one in (WORDS, LABEL, "The patient’s link") if one in page.content()]


def _ways_to(session_id: str, demo: str) -> list[tuple[str, str, str]]:
    """Every address that names a session: what its owner sees there, and what all others do."""
    named, live, managed = f"?session={session_id}", "sessions?live=", f"{MANAGED}{session_id}"
    return [
        (f"{named}&tab=chat", WORDS, NOTHING),
        (f"{named}&tab=report", "Item-Level Appendix", NOTHING),
        (f"{named}&tab=benchmark", "Report revision", NOTHING),
        (f"{named}&tab=replay", "Timeline", NOTHING),
        (f"{live}{demo}", "Demo interview", NOTHING),
        (f"{live}{session_id}", NOTHING, NOTHING),  # a person answers there
        (managed, "The patient’s link", "none that you may manage"),
    ]


def test_whoever_is_not_signed_in_sees_no_page_at_all(browser: Browser, clinic: Product, adas: str, demo: str) -> None:
    watched = Watched(browser.new_page(), clinic.address)
    for where in [*(path for path, _ in PLACES.values()), *(address for address, _, _ in _ways_to(adas, demo))]:
        watched.page.goto(f"{clinic.address}/{where}")
        expect(watched.page.get_by_role("button", name="Sign in")).to_be_visible()
        assert watched.page.get_by_test_id("stSidebar").count() == 0
    watched.page.close()
    assert watched.problems == []


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


def test_runs_and_books_are_their_owners_and_an_admin_goes_through_all_sessions(
    browser: Browser, clinic: Product, idp: Provider
) -> None:
    ada, cleo = (f"{idp.issuer} {PEOPLE[who]['sub']}" for who in ("Ada", "Cleo"))
    with attached_to(clinic) as attached:
        runs, library, sessions = Runs(attached.database), Library(attached.database), attached.runtime.sessions
        theirs = runs.create("Run of Ada", {}, {}, [], owner=ada)
        runs.create("Run of Cleo", {}, {}, [], owner=cleo)
        for number, (owner, name) in enumerate(((ada, "Book of Ada"), (cleo, "Book of Cleo"))):
            library.replace(NewBook(f"{number}" * 64, name, True, 1, [], [], "embedded/minilm-l6-v2", owner), [])
        oldest = sessions.create(owner=ada).id
        for _ in range(45):
            sessions.create(owner=cleo)
    with _signed_in(browser, clinic, "Cleo") as page:
        page.goto(f"{clinic.address}/batch")
        expect(page.get_by_text("Run of Cleo")).to_be_visible()
        expect(page.get_by_text("Run of Ada")).to_have_count(0)
        page.goto(f"{clinic.address}/batch?run={theirs}")
        expect(page.get_by_text("There is no such run any more.")).to_be_visible()
        page.goto(f"{clinic.address}/library")
        _expect_removable(page, {"Book of Ada": 0, "Book of Cleo": 1})
    with _signed_in(browser, clinic, "Ben") as page:
        page.goto(f"{clinic.address}/batch")
        expect(page.get_by_text("Run of Ada")).to_be_visible()
        page.goto(f"{clinic.address}/library")
        _expect_removable(page, {"Book of Ada": 1, "Book of Cleo": 1})
        page.goto(clinic.address)
        listed = page.locator("[class*=st-key-any-]")
        expect(listed).to_have_count(20)
        for more in (40, 46):
            page.get_by_role("button", name="Show more").last.click()
            expect(listed.nth(more - 1)).to_be_visible()
        settle(page)
        search = page.get_by_role("textbox", name="Search all sessions")
        search.fill(f"progress {oldest}")
        search.press("Enter")
        expect(listed).to_have_count(1)
        expect(listed).to_contain_text(ada)


def test_a_name_in_an_error_is_text_and_fetches_nothing(browser: Browser, clinic: Product, idp: Provider) -> None:
    """Whoever is signed in here may ask nobody else for anything, be it a picture."""
    name = "![x](http://elsewhere.example/x.png) **b**"
    with attached_to(clinic) as attached:
        book = NewBook("a" * 64, name, True, 1, [], [], "embedded/minilm-l6-v2", f"{idp.issuer} 1")
        Library(attached.database).replace(book, [])
    with _signed_in(browser, clinic, "Cleo") as page:
        page.goto(f"{clinic.address}/library")
        file = {"name": "file.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1.7"}
        page.get_by_test_id("stFileUploaderDropzoneInput").set_input_files(file)  # type: ignore[arg-type]
        expect(page.get_by_text("file.pdf")).to_be_visible()
        page.get_by_label("The name by which it is cited").fill(name)
        page.get_by_role("button", name="Put it in").click()
        expect(page.get_by_test_id("stAlert")).to_contain_text(f"this would replace '{name}', which somebody else")
        settle(page)
        assert page.get_by_test_id("stMain").locator("img").count() == 0


def _expect_removable(page: Page, books: dict[str, int]) -> None:
    for name, count in books.items():
        card = page.locator("[class*=st-key-book-]").filter(has_text=name)
        expect(card.get_by_text("put in", exact=False)).to_be_visible()
        expect(card.get_by_role("button", name="Remove")).to_have_count(count)


def test_streamlit_started_by_hand_for_other_machines_shows_nobody_a_workbench(
    browser: Browser, tmp_path: Path
) -> None:
    """`crosscut` refuses such a start; whoever goes around it gets a page that says why it is empty."""
    port = free_port()
    command = [
        sys.executable, "-m", "streamlit", "run", str(ROOT / "app.py"), "--server.address", "0.0.0.0",  # noqa: S104
        "--server.port", str(port), "--server.headless", "true", "--browser.gatherUsageStats", "false",
    ]  # fmt: skip
    with (tmp_path / "said").open("wb") as said:
        running = subprocess.Popen(
            command, env=environment(tmp_path / "home"), cwd=tmp_path, stdout=said, stderr=subprocess.STDOUT
        )
    try:
        wait_until(http_ready(f"http://127.0.0.1:{port}/_stcore/health"), 120)
        page = browser.new_page()
        page.set_default_timeout(60_000)
        page.goto(f"http://127.0.0.1:{port}")
        refused = page.get_by_test_id("stAlert")
        expect(refused).to_contain_text("this page can be reached from other machines and has no login")
        expect(page.get_by_test_id("stSidebar")).to_have_count(0)
        page.close()
    finally:
        running.terminate()
        running.wait(60)
    assert not (tmp_path / "home" / "postgres").exists(), "nothing was opened"


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
