"""The patient's page in a real browser: a whole interview under the therapist's eyes, and what can go wrong."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, Locator, Page, WebSocket, expect

from agents.escalation import escalation
from tests.attached import Attached
from tests.browser import Watched

pytestmark = pytest.mark.browser

NAMES = (
    "riskFlags", "suicidalityMentioned", "suicidality_mentioned", "selfHarmIdeation", "self_harm_ideation",
    "sessionStatus", "session_status", "itemResponses", "item_responses", "ambiguity1to10", "evidenceQuotes",
    "evidence_quotes", "syntheticPersonaId", "grey-mornings", "C-017", "Settings and health", "Library",
)  # fmt: skip
"""What a profile, a list or the workbench is made of, and none of which a patient gets."""


def _start(page: Page, attached: Attached) -> str:
    """A new interview on its patient's screen; gives its session."""
    session_id = attached.runtime.start(owner="local").session_id
    page.goto(attached.link(session_id))
    _answered(page, 0)
    return session_id


def _answer(page: Page, text: str) -> None:
    box = page.get_by_test_id("stChatInputTextArea")
    expect(box).to_be_enabled()
    box.fill(text)
    box.press("Enter")


def _answered(page: Page, items: int) -> None:
    expect(page.get_by_text(f"{items} of 23 questions answered")).to_be_visible()


def _frames(page: Page) -> list[bytes]:
    """Everything that reaches the browser from now on."""
    kept: list[bytes] = []

    def listen(socket: WebSocket) -> None:
        socket.on("framereceived", lambda data: kept.append(data if isinstance(data, bytes) else data.encode()))

    page.on("websocket", listen)
    return kept


def _row(page: Page, session_id: str) -> Locator:
    return page.locator(f".st-key-row-{session_id}")


def test_all_23_questions_with_a_reload_half_way_under_the_therapists_eyes(
    page: Page, browser: Browser, attached: Attached
) -> None:
    session_id = attached.runtime.start(owner="local", persona="grey-mornings").session_id
    attached.label(session_id, "C-017")
    frames = _frames(page)
    page.goto(attached.link(session_id))
    _answered(page, 0)
    desk = Watched(browser.new_page(), attached.product.address)
    desk.page.goto(f"{attached.product.address}/sessions")
    expect(_row(desk.page, session_id).get_by_text("0 of 23 items")).to_be_visible()
    _answer(page, "Several days, and this is answer 1. Sometimes I wish I was dead, then it passes.")
    _answered(page, 1)
    for item in range(2, 13):
        _answer(page, f"Several days, and this is answer {item}.")
        _answered(page, item)
    row = _row(desk.page, session_id)  # which nobody has touched since
    expect(row.get_by_text("12 of 23 items")).to_be_visible()
    expect(row.get_by_text("suicidality")).to_be_visible()
    expect(row.get_by_text("new flag")).to_be_visible()
    page.reload()
    _answered(page, 12)
    for item in range(1, 13):
        expect(page.get_by_text(f"this is answer {item}.", exact=False).first).to_be_attached()
    for item in range(13, 24):
        _answer(page, "Not at all.")
        _answered(page, item)
    expect(page.get_by_text("That was the last question.", exact=False)).to_be_visible()
    expect(page.get_by_test_id("stChatInputTextArea")).to_have_count(0)
    expect(row.get_by_text("completed")).to_be_visible()
    page.reload()
    expect(page.get_by_text("That was the last question.", exact=False)).to_be_visible()
    _assert_nothing_leaked(frames, session_id)
    desk.page.close()
    assert desk.problems == []


def _assert_nothing_leaked(frames: list[bytes], session_id: str) -> None:
    sent = b"\n".join(frames)
    assert b"this is answer 12." in sent  # so it is the conversation that is looked at
    assert [name for name in (*NAMES, session_id) if name.encode() in sent] == []


def test_an_unclear_answer_is_followed_up_once(page: Page, attached: Attached) -> None:
    _start(page, attached)
    _answer(page, "Hard to say.")
    expect(page.get_by_text("Hard to say.", exact=True)).to_be_visible()
    _answered(page, 0)
    _answer(page, "Still hard to say.")
    _answered(page, 1)


def test_markup_in_an_answer_is_shown_as_it_was_typed(page: Page, attached: Attached) -> None:
    _start(page, attached)
    _answer(page, "**Several days** <img src=x onerror=\"document.title='owned'\"> # not a heading $x$")
    _answered(page, 1)
    expect(page.get_by_text("**Several days** <img src=x", exact=False)).to_be_visible()
    assert page.locator("img[src=x]").count() == 0
    assert page.title() == "Crosscut"


def test_a_second_tab_cannot_answer_the_same_question_twice(page: Page, attached: Attached) -> None:
    _start(page, attached)
    other = page.context.new_page()
    other.goto(page.url)
    _answered(other, 0)
    _answer(page, "Most days.")
    _answered(page, 1)
    _answer(other, "Not at all.")
    expect(other.get_by_text("That question was already answered", exact=False)).to_be_visible()
    _answered(other, 1)
    expect(other.get_by_text("Most days.", exact=True)).to_be_visible()
    expect(other.get_by_text("Not at all.", exact=True)).to_have_count(0)


def test_a_double_click_sends_once_and_the_keyboard_alone_is_enough(page: Page, attached: Attached) -> None:
    session_id = _start(page, attached)
    page.get_by_test_id("stChatInputTextArea").fill("Most days.")
    page.get_by_test_id("stChatInputSubmitButton").dblclick()
    _answered(page, 1)
    expect(page.get_by_text("Most days.", exact=True)).to_have_count(1)
    page.reload()
    _answered(page, 1)
    box = page.get_by_test_id("stChatInputTextArea")
    expect(box).to_be_enabled()
    for _ in range(12):
        if box.evaluate("it => it === document.activeElement"):
            break
        page.keyboard.press("Tab")
    page.keyboard.type("Not at all.")
    page.keyboard.press("Enter")
    _answered(page, 2)
    assert attached.runtime.sessions.get(session_id).items_completed == 2


def test_a_lost_connection_is_made_again_and_nothing_is_lost(browser: Browser, attached: Attached) -> None:
    """Without a watch on the console, where Streamlit itself may tell of it."""
    context = browser.new_context()
    context.add_init_script(_KEEP_SOCKETS)
    page = context.new_page()
    _start(page, attached)
    _answer(page, "Most days.")
    _answered(page, 1)
    with page.expect_event("websocket", timeout=60_000):
        page.evaluate("window.sockets.forEach(socket => socket.close())")
    _answer(page, "Not at all.")
    _answered(page, 2)
    expect(page.get_by_text("Most days.", exact=True)).to_have_count(1)
    context.close()


_KEEP_SOCKETS = """
window.sockets = [];
window.WebSocket = class extends WebSocket {
  constructor(...given) { super(...given); window.sockets.push(this); }
};
"""


def test_a_stop_shows_the_script_and_takes_no_more(page: Page, attached: Attached) -> None:
    _start(page, attached)
    _answer(page, "I am going to kill myself.")
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
    session_id = _start(page, attached)
    _answer(page, "Several days. <b>I wish I was dead</b>, then it passes.")
    _answered(page, 1)
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
        said.add(page.get_by_test_id("stMain").inner_text())
        assert page.get_by_test_id("stSidebar").count() == 0
    assert len(said) == 1
    page.goto(f"{attached.product.address}/?session=no-such-session")
    expect(page.get_by_role("heading", name="Not found")).to_be_visible()


def test_a_database_that_has_gone_is_told_with_the_help_line(page: Page, attached: Attached) -> None:
    session_id = _start(page, attached)
    with attached.gone():
        _answer(page, "Most <b>days</b>.")
        warning = page.get_by_test_id("stAlert")
        expect(warning).to_contain_text("could not be saved, so it was not taken")
        expect(warning).to_contain_text("call 911 or the crisis line on 988")
        expect(page.get_by_text("Most <b>days</b>.")).to_be_visible()
    _try_again(page)
    _answer(page, "Most days.")
    _answered(page, 1)
    assert attached.runtime.sessions.get(session_id).items_completed == 1


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
    context = browser.new_context(
        viewport={"width": 360, "height": 740},
        color_scheme=scheme,  # type: ignore[arg-type]
        has_touch=True,
    )
    page = context.new_page()
    _start(page, attached)
    _answer(page, "Most days, and a_very_long_word_" + "x" * 80)
    _answered(page, 1)
    ground = page.get_by_test_id("stApp").evaluate("it => getComputedStyle(it).backgroundColor")
    assert (min(map(int, re.findall(r"\d+", ground)[:3])) < 60) == (scheme == "dark")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert _contrast(page.get_by_text("Nobody watches this page live", exact=False)) >= 4.5
    context.close()


def _contrast(words: Locator) -> float:
    """Of a text and what it stands on, as WCAG counts it."""
    return float(words.evaluate(_CONTRAST))


_CONTRAST = """it => {
  const numbers = text => (text.match(/[0-9.]+/g) || []).map(Number);
  let fade = 1;
  for (let at = it; at; at = at.parentElement) fade *= Number(getComputedStyle(at).opacity);
  const solid = at => { const n = numbers(getComputedStyle(at).backgroundColor); return n.length === 3 || n[3] === 1; };
  let ground = it;
  while (ground.parentElement && !solid(ground)) ground = ground.parentElement;
  const under = numbers(getComputedStyle(ground).backgroundColor).slice(0, 3);
  const ink = numbers(getComputedStyle(it).color), alpha = (ink[3] ?? 1) * fade;
  const over = under.map((below, i) => ink[i] * alpha + below * (1 - alpha));
  const light = rgb => { const [r, g, b] = rgb.map(v => v / 255).map(
    v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const [a, b] = [light(over), light(under)].sort((x, y) => y - x);
  return (a + 0.05) / (b + 0.05);
}"""
