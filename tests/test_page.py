"""The patient's page in a real browser: a whole interview under the therapist's eyes, and what can go wrong."""

from __future__ import annotations

import re
from contextlib import suppress

import pytest
from playwright.sync_api import Browser, Locator, Page, WebSocket, expect

from agents.escalation import escalation
from errors import StorageError, UnrecordedStop
from instruments.profile import SessionStatus
from storage.links import PatientLinks
from tests.answers import answer_all
from tests.attached import Attached
from tests.browser import Watched
from tests.patients_page import answer, answered, start
from tests.support import wait_until
from tests.workspace import UNREADABLE, settle, therapist

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

NAMES = (
    "riskFlags", "suicidalityMentioned", "suicidality_mentioned", "selfHarmIdeation", "self_harm_ideation",
    "sessionStatus", "session_status", "itemResponses", "item_responses", "ambiguity1to10", "evidenceQuotes",
    "evidence_quotes", "syntheticPersonaId", "grey-mornings", "C-017", "Settings and health", "Library",
)  # fmt: skip
"""What a profile, a list or the workbench is made of, and none of which a patient gets."""


def _frames(page: Page) -> list[bytes]:
    """Everything that reaches the browser from now on."""
    kept: list[bytes] = []

    def listen(socket: WebSocket) -> None:
        socket.on("framereceived", lambda data: kept.append(data if isinstance(data, bytes) else data.encode()))

    page.on("websocket", listen)
    return kept


def _row(page: Page, session_id: str) -> Locator:
    return page.locator(f".st-key-row-{session_id}")


@pytest.mark.timeout(600)
def test_all_23_questions_with_a_reload_half_way_under_the_therapists_eyes(
    page: Page, browser: Browser, attached: Attached
) -> None:
    session_id = attached.runtime.start(owner="local", persona="grey-mornings").session_id
    attached.label(session_id, "C-017")
    frames = _frames(page)
    page.goto(attached.link(session_id))
    answered(page, 0)
    desk = Watched(browser.new_page(), attached.product.address)
    desk.page.goto(f"{attached.product.address}/sessions")
    expect(_row(desk.page, session_id).get_by_text("0 of 23 items")).to_be_visible()
    chat = Watched(browser.new_page(), attached.product.address)
    chat.page.goto(f"{attached.product.address}/?session={session_id}&tab=chat")
    expect(chat.page.get_by_text("0 of 23 items")).to_be_visible()
    answer(page, "Several days, and this is answer 1. Sometimes I wish I was dead, then it passes.")
    answered(page, 1)
    _expect_scored(chat.page, 1)
    expect(chat.page.locator(".st-key-risks mark.flag")).to_contain_text("wish I was dead")
    for item in range(2, 13):
        answer(page, f"Several days, and this is answer {item}.")
        answered(page, item)
        _expect_scored(chat.page, item)
    row = _row(desk.page, session_id)  # which nobody has touched since
    expect(row.get_by_text("12 of 23 items")).to_be_visible()
    expect(row.get_by_text("suicidality")).to_be_visible()
    expect(row.get_by_text("new flag")).to_be_visible()
    page.reload()
    answered(page, 12)
    for item in range(1, 13):
        expect(page.get_by_text(f"this is answer {item}.", exact=False).first).to_be_attached()
    for item in range(13, 24):
        answer(page, "Not at all.")
        answered(page, item)
    expect(page.get_by_text("That was the last question.", exact=False)).to_be_visible()
    expect(page.get_by_test_id("stChatInputTextArea")).to_have_count(0)
    expect(row.get_by_text("completed")).to_be_visible()
    page.reload()
    expect(page.get_by_text("That was the last question.", exact=False)).to_be_visible()
    _assert_nothing_leaked(frames, session_id)
    expect(chat.page.locator(".cc-item .number b")).to_have_count(23)
    expect(chat.page.get_by_text("23 of 23 items")).to_be_visible()
    for watched in (desk, chat):
        watched.page.close()
        assert watched.problems == []


def _expect_scored(chat: Page, item: int) -> None:
    """On the page of a therapist who does nothing: the answer, and its score with its ambiguity and quote."""
    expect(chat.locator(f"#turn-{item} .patient")).to_contain_text(f"this is answer {item}.")
    score = chat.locator(".cc-item").nth(item - 1)
    expect(score).to_contain_text(re.compile(r"2 · ambiguity \d+ of 10"))
    expect(score.locator(".quote")).to_contain_text("Several days")


def _assert_nothing_leaked(frames: list[bytes], session_id: str) -> None:
    sent = b"\n".join(frames)
    assert b"this is answer 12." in sent  # so it is the conversation that is looked at
    assert [name for name in (*NAMES, session_id) if name.encode() in sent] == []


def test_an_unclear_answer_is_followed_up_once(page: Page, attached: Attached) -> None:
    start(page, attached)
    answer(page, "Hard to say.")
    expect(page.get_by_text("Hard to say.", exact=True)).to_be_visible()
    answered(page, 0)
    answer(page, "Still hard to say.")
    answered(page, 1)


def test_markup_in_an_answer_is_shown_as_it_was_typed(page: Page, attached: Attached) -> None:
    start(page, attached)
    answer(page, "**Several days** <img src=x onerror=\"document.title='owned'\"> # not a heading $x$")
    answered(page, 1)
    expect(page.get_by_text("**Several days** <img src=x", exact=False)).to_be_visible()
    assert page.locator("img[src=x]").count() == 0
    assert page.title() == "Crosscut"


def test_a_second_tab_cannot_answer_the_same_question_twice(page: Page, attached: Attached) -> None:
    start(page, attached)
    watched = Watched(page.context.new_page(), attached.product.address)
    other = watched.page
    other.goto(page.url)
    answered(other, 0)
    answer(page, "Most days.")
    answered(page, 1)
    answer(other, "Not at all.")
    expect(other.get_by_text("That question was already answered", exact=False)).to_be_visible()
    answered(other, 1)
    expect(other.get_by_text("Most days.", exact=True)).to_be_visible()
    expect(other.get_by_text("What you wrote:")).to_be_visible()
    expect(other.get_by_text("Not at all.", exact=True)).to_have_count(1)
    expect(other.get_by_test_id("stChatMessage").get_by_text("Not at all.", exact=True)).to_have_count(0)
    assert watched.problems == []


def test_a_double_click_sends_once_and_the_keyboard_alone_is_enough(page: Page, attached: Attached) -> None:
    session_id = start(page, attached)
    page.get_by_test_id("stChatInputTextArea").fill("Most days.")
    page.get_by_test_id("stChatInputSubmitButton").dblclick()
    answered(page, 1)
    expect(page.get_by_text("Most days.", exact=True)).to_have_count(1)
    page.reload()
    answered(page, 1)
    box = page.get_by_test_id("stChatInputTextArea")
    expect(box).to_be_enabled()
    for _ in range(12):
        if box.evaluate("it => it === document.activeElement"):
            break
        page.keyboard.press("Tab")
    page.keyboard.type("Not at all.")
    page.keyboard.press("Enter")
    answered(page, 2)
    assert attached.runtime.sessions.get(session_id).items_completed == 2


def test_a_lost_connection_is_made_again_and_nothing_is_lost(browser: Browser, attached: Attached) -> None:
    """Without a watch on the console, where Streamlit itself may tell of it."""
    context = browser.new_context()
    context.add_init_script(_KEEP_SOCKETS)
    page = context.new_page()
    start(page, attached)
    answer(page, "Most days.")
    answered(page, 1)
    with page.expect_event("websocket", timeout=60_000):
        page.evaluate("window.sockets.forEach(socket => socket.close())")
    answer(page, "Not at all.")
    answered(page, 2)
    expect(page.get_by_text("Most days.", exact=True)).to_have_count(1)
    context.close()


_KEEP_SOCKETS = """
window.sockets = [];
window.WebSocket = class extends WebSocket {
  constructor(...given) { super(...given); window.sockets.push(this); }
};
"""


def test_a_stop_shows_the_script_and_takes_no_more(page: Page, attached: Attached) -> None:
    start(page, attached)
    answer(page, "I am going to kill myself.")
    expect(page.get_by_text("I am stopping the questions here", exact=False)).to_be_in_viewport()
    expect(page.get_by_test_id("stChatInputTextArea")).to_have_count(0)
    expect(page.get_by_test_id("stChatMessage")).to_have_count(1)
    page.reload()
    expect(page.get_by_text("I am stopping the questions here", exact=False)).to_be_visible()
    expect(page.get_by_test_id("stChatInputTextArea")).to_have_count(0)
    shown = page.get_by_test_id("stMain").inner_text().removeprefix("clinical_notes")  # the icon's name
    assert " ".join(shown.split()) == " ".join(escalation("en-US").script.split())


def test_a_therapist_sees_a_worry_at_once_in_the_patients_words_and_acknowledges_it(
    page: Page, browser: Browser, attached: Attached
) -> None:
    session_id = start(page, attached)
    answer(page, "Several days. <b>I wish I was dead</b>, then it passes.")
    answered(page, 1)
    desk = Watched(browser.new_page(), attached.product.address)
    desk.page.goto(f"{attached.product.address}/?session={session_id}")
    expect(desk.page.get_by_text("Risk: suicidality mentioned")).to_be_visible()
    expect(desk.page.get_by_text("wish I was dead", exact=False).first).to_be_visible()
    desk.page.get_by_role("button", name="Acknowledge").click()
    expect(desk.page.get_by_role("button", name="Acknowledge")).to_have_count(0)
    desk.page.get_by_role("button", name="Stop for safety").click()
    desk.page.get_by_text("The patient shall see the safety script at once.", exact=False).click()
    expect(desk.page.get_by_role("button", name="Stop now")).to_be_enabled()
    desk.page.get_by_role("button", name="Stop now").click()
    expect(desk.page.get_by_text("This session was stopped for safety.", exact=False)).to_be_visible()
    desk.page.close()
    assert desk.problems == []
    expect(page.get_by_text("I am stopping the questions", exact=False)).to_be_visible()  # without a reload
    expect(page.get_by_test_id("stChatInputTextArea")).to_have_count(0)


def test_a_link_that_leads_nowhere_says_so_and_no_more(page: Page, attached: Attached) -> None:
    link = attached.link(attached.runtime.start(owner="local").session_id)
    said = set()
    for address in (link[:-1], f"{link}A", f"{attached.product.address}/?patient=", f"{link[:-3]}abc"):
        page.goto(address)
        expect(page.get_by_role("heading", name="Not found")).to_be_visible()
        expect(page.get_by_text("ask your therapist for a new one", exact=False)).to_be_visible()
        expect(page.get_by_text("Nobody watches this page live", exact=False)).to_be_visible()
        said.add(page.get_by_test_id("stMain").inner_text())
        assert page.get_by_test_id("stSidebar").count() == 0
    assert len(said) == 1
    page.goto(f"{attached.product.address}/?session=no-such-session")
    expect(page.get_by_role("heading", name="Not found")).to_be_visible()


WAYS_TO_END = ["withdrawn", "deleted"]
LOOKS_NO_MORE = "window.setInterval = () => 0"
"""The page does not notice by itself, so that a message comes first."""


def _end(attached: Attached, session_id: str, how: str) -> None:
    if how == "withdrawn":
        PatientLinks(attached.database).renew(session_id)
    else:
        attached.runtime.delete(session_id)


def test_a_withdrawn_link_and_a_deleted_session_leave_the_patients_screen_by_themselves(
    page: Page, browser: Browser, attached: Attached
) -> None:
    with therapist(browser, attached.product) as desk:
        for press in (_withdraw, _delete):
            session_id = start(page, attached)
            answer(page, "Several days, and nobody else may read this.")
            answered(page, 1)
            desk.goto(f"{attached.product.address}/sessions?manage={session_id}")
            press(desk.get_by_role("dialog"))
            _expect_not_found(page)  # without a reload
            expect(page.get_by_text("nobody else may read this", exact=False)).to_have_count(0)
            page.reload()
            _expect_not_found(page)
    done = answer_all(attached.runtime, attached.runtime.start(owner="local"))
    page.goto(attached.link(done.session_id))
    expect(page.get_by_text("That was the last question.", exact=False)).to_be_visible()
    attached.runtime.delete(done.session_id)
    _expect_not_found(page)


def _withdraw(panel: Locator) -> None:
    link = panel.get_by_test_id("stCode")
    before = link.inner_text()
    panel.get_by_role("button", name="Withdraw it and make a new one").click()
    expect(link).not_to_have_text(before)


def _delete(panel: Locator) -> None:
    panel.get_by_text("Delete this session").click()
    settle(panel.page)  # a box that is ticked while it is drawn anew loses its tick
    panel.get_by_text("I want it deleted for good.").click()
    panel.get_by_role("button", name="Delete", exact=True).click()


def _expect_not_found(page: Page) -> None:
    expect(page.get_by_role("heading", name="Not found")).to_be_visible()
    expect(page.get_by_test_id("stChatInputTextArea")).to_have_count(0)
    expect(page.get_by_test_id("stChatMessage")).to_have_count(0)


def _started_and_ended(page: Page, attached: Attached, how: str) -> str:
    """A session whose link ends while the patient's page is open and does not notice."""
    page.add_init_script(LOOKS_NO_MORE)
    session_id = start(page, attached)
    _end(attached, session_id, how)
    return session_id


@pytest.mark.parametrize("how", WAYS_TO_END)
def test_what_is_sent_after_the_end_of_a_link_is_given_back_and_not_taken(
    page: Page, attached: Attached, how: str
) -> None:
    session_id = _started_and_ended(page, attached, how)
    answer(page, "Most <b>days</b>.")
    _expect_not_found(page)
    expect(page.get_by_test_id("stAlert")).to_contain_text("Your message was not taken.")
    expect(page.get_by_test_id("stAlert")).to_contain_text("call 911 or the crisis line on 988")
    expect(page.get_by_text("Most <b>days</b>.")).to_be_visible()
    if how == "withdrawn":
        assert attached.runtime.view(session_id).turn == 1


@pytest.mark.parametrize("how", WAYS_TO_END)
def test_danger_that_is_sent_after_the_end_of_a_link_is_met_with_the_script(
    page: Page, attached: Attached, how: str
) -> None:
    session_id = _started_and_ended(page, attached, how)
    answer(page, "I am going to kill myself.")
    expect(page.get_by_text("I am stopping the questions here", exact=False)).to_be_visible()
    expect(page.get_by_role("heading", name="Not found")).to_have_count(0)
    if how == "withdrawn":
        assert not attached.runtime.view(session_id).open


def test_a_database_that_has_gone_is_told_with_the_help_line(page: Page, attached: Attached) -> None:
    session_id = start(page, attached)
    with attached.gone():
        answer(page, "Most <b>days</b>.")
        warning = page.get_by_test_id("stAlert")
        expect(warning).to_contain_text("could not be saved, so it was not taken")
        expect(warning).to_contain_text("call 911 or the crisis line on 988")
        expect(page.get_by_text("Most <b>days</b>.")).to_be_visible()
    _try_again(page)
    _send_until_taken(page, "Most days.")
    assert attached.runtime.sessions.get(session_id).items_completed == 1


def test_danger_is_met_with_the_script_though_the_database_has_gone(page: Page, attached: Attached) -> None:
    session_id = start(page, attached)
    with attached.gone():
        answer(page, "I am going to kill myself tonight.")
        expect(page.get_by_text("I am stopping the questions here", exact=False)).to_be_visible()
        expect(page.get_by_test_id("stChatInputTextArea")).to_have_count(0)
    wait_until(attached.database.is_there)
    wait_until(lambda: _is_drained(attached, session_id), every=0.5)
    stopped = attached.runtime.view(session_id)
    assert stopped.profile.session_status is SessionStatus.TERMINATED
    assert [line.text for line in stopped.lines if line.role == "patient"] == ["I am going to kill myself tonight."]
    _reload_until_script(page)


def _reload_until_script(page: Page) -> None:
    """The page's own connections come back one after the other."""
    script = page.get_by_text("I am stopping the questions here", exact=False)
    for _ in range(20):
        page.reload()
        expect(script.or_(page.get_by_role("button", name="Try again")).first).to_be_visible()
        if script.is_visible():
            return
    raise AssertionError("the script is not shown although the database is back")


def _is_drained(attached: Attached, session_id: str) -> bool:
    """The next turn of anybody enters what waits."""
    with suppress(StorageError, UnrecordedStop):
        attached.runtime.start(owner="local")
        return attached.runtime.sessions.get(session_id).status == SessionStatus.TERMINATED.value
    return False


def _send_until_taken(page: Page, text: str) -> None:
    """As the page asks for: a turn needs two connections, and the second may come back later than the first."""
    for _ in range(20):
        page.reload()  # what was told before is not told again
        expect(page.get_by_text("0 of 23 questions answered")).to_be_visible()
        answer(page, text)
        taken, refused = page.get_by_text("1 of 23 questions answered"), page.get_by_text("What you wrote:")
        expect(taken.or_(refused).first).to_be_visible()
        if taken.is_visible():
            return
    raise AssertionError("no message was taken although the database is back")


def _try_again(page: Page) -> None:
    """Connections to a database that was away come back one after the other."""
    progress = page.get_by_text("0 of 23 questions answered")
    for _ in range(20):
        page.get_by_role("button", name="Try again").click()
        page.wait_for_function("!document.querySelector('[data-testid=stStatusWidget]')")
        expect(progress.or_(page.get_by_text("cannot be shown right now", exact=False)).first).to_be_visible()
        if progress.is_visible():
            return
    raise AssertionError("the page did not come back with its database")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_telephone(browser: Browser, attached: Attached, scheme: str) -> None:
    narrow = {"width": 360, "height": 740}
    with therapist(browser, attached.product, viewport=narrow, color_scheme=scheme, has_touch=True) as page:
        start(page, attached)
        answer(page, "Most days, and a_very_long_word_" + "x" * 80)
        answered(page, 1)
        ground = page.get_by_test_id("stApp").evaluate("it => getComputedStyle(it).backgroundColor")
        assert (min(map(int, re.findall(r"\d+", ground)[:3])) < 60) == (scheme == "dark")
        expect(page.get_by_text("Nobody watches this page live", exact=False)).to_be_visible()
        assert page.evaluate(UNREADABLE) == []


def test_the_end_of_a_finished_interview_is_in_sight_on_a_telephone(browser: Browser, attached: Attached) -> None:
    runtime = attached.runtime
    done = answer_all(runtime, runtime.start(owner="local", seed=3))
    with therapist(browser, attached.product, viewport={"width": 360, "height": 740}, has_touch=True) as page:
        page.goto(attached.link(done.session_id))
        expect(page.get_by_text("23 of 23 questions answered")).to_be_in_viewport()
        expect(page.get_by_text("Hello", exact=False).first).not_to_be_in_viewport()
