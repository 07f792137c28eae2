"""The patient's side of a session, behind its link: the conversation and nothing of what is made of it."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from time import sleep

import streamlit as st

from agents.escalation import Escalation
from errors import NotFoundError, StaleTurn, StorageError, TurnInProgress, UnrecordedStop
from graph.runtime import MAX_MESSAGE_CHARACTERS
from graph.state import Line
from graph.view import View
from instruments.profile import SessionStatus
from storage.links import PatientLinks
from ui.bench import workbench
from ui.calling import show_callable
from ui.guard import log_fault
from ui.scrolling import stay_here

_AVATARS = {"interviewer": ":material/clinical_notes:", "patient": ":material/person:"}
_ANSWER, _KNOWN, _NOTICE, _SEEN, _STOPPED, _UNSENT = "answer", "known", "notice", "seen", "stopped", "unsent"
_DRAWN = "drawn while busy"
_LOOK_EVERY_SECONDS, _TRY_EVERY_SECONDS = 5.0, 1.0
_BETWEEN_WORDS_SECONDS = 0.03
_NOT_TAKEN = "Your message was not taken."
_OUT_OF_REACH = "This page cannot be shown right now. Everything that was saved before is safe."


def show(token: str) -> None:
    if _STOPPED in st.session_state:  # known here, whatever can be read of the session now
        _show_script(st.session_state[_STOPPED])
        return
    try:
        session_id = _session_of(token)
        view, busy = _viewed(session_id)
    except NotFoundError:
        _show_not_found()
    except UnrecordedStop as stop:
        _show_script(stop.script)
    except StorageError as error:
        log_fault(error)
        _show_out_of_reach(token)
    else:
        _show_session(token, view, busy=busy)


def _session_of(token: str) -> str:
    """Asked anew each time: a link may be withdrawn while its page is open.

    What was known stands in while the database is away, for the help line and for danger in a message.
    """
    known: dict[str, str] = st.session_state.setdefault(_KNOWN, {})
    try:
        found = PatientLinks(workbench().database).session_id(token)
    except StorageError:
        if token not in known:
            raise
        return known[token]
    known[token] = found
    return found


def _viewed(session_id: str) -> tuple[View, bool]:
    """And whether it is within a turn, as after a reload while the last message is being worked on."""
    try:
        return workbench().runtime.view(session_id), False
    except TurnInProgress:
        return workbench().runtime.stored(session_id), True


def _show_session(token: str, view: View, *, busy: bool) -> None:
    if view.profile.session_status is SessionStatus.TERMINATED:
        _show_script(_script_of(view))
        return
    st.title("Your interview", anchor=False)
    if view.open and not busy:
        _ask_for_answer(token, view)
    _show_lines(view.lines)
    st.progress(view.items_completed / 23, text=f"{view.items_completed} of 23 questions answered")  # stays in sight
    show_callable(workbench().runtime.words(view.session_id).help_line, "help-line")
    _show_notice()
    if busy:
        st.caption("One moment, your last message is being worked on …")
    if not view.open:  # Streamlit keeps the end in sight only where there is an input
        stay_here("end")
    st.fragment(_watch, run_every=_TRY_EVERY_SECONDS if busy else _LOOK_EVERY_SECONDS)(token, busy=busy)


def _show_not_found() -> None:
    """The same for a link that was mistyped, guessed, withdrawn, or whose session was deleted."""
    st.title("Not found", anchor=False)
    st.write("This link does not lead anywhere. Please check it, or ask your therapist for a new one.")
    show_callable(workbench().runtime.words("").help_line, "help-line")
    _show_notice()


def _show_out_of_reach(token: str) -> None:
    st.title("Your interview", anchor=False)
    if not _show_notice():
        st.warning(_OUT_OF_REACH)
        known = st.session_state.get(_KNOWN, {})
        show_callable(workbench().runtime.words(known.get(token, "")).help_line, "help-line")
    st.button("Try again", type="primary", on_click=st.session_state.pop, args=(_NOTICE, None))


def _script_of(view: View) -> str:
    said = (line.text for line in view.lines if line.kind == "safety_script")
    return next(said, workbench().runtime.words(view.session_id).script)


def _show_script(script: str) -> None:
    """The script and nothing else: no question, no input."""
    with st.chat_message("interviewer", avatar=_AVATARS["interviewer"]):
        show_callable(script, "script")


# ---- what was said ----


def _show_lines(lines: tuple[Line, ...]) -> None:
    """What is new since the last look is revealed word by word, if it is the newest; after a reload nothing is new."""
    seen = st.session_state.get(_SEEN, len(lines))
    st.session_state[_SEEN] = len(lines)
    for number, line in enumerate(lines):
        is_newest = number == len(lines) - 1 and number >= seen and line.role == "interviewer"
        with st.chat_message(line.role, avatar=_AVATARS[line.role]):
            _reveal(line.text) if is_newest else _plain(line.text)


def _plain(text: str) -> None:
    """Text as it was written: never Markdown, never HTML."""
    st.text(text, width="stretch")


def _reveal(text: str) -> None:
    """All of it has been committed before; only the page takes its time."""
    place = st.empty()
    for end in (index for index, sign in enumerate(text) if sign == " "):
        place.text(text[:end], width="stretch")
        sleep(_BETWEEN_WORDS_SECONDS)
    place.text(text, width="stretch")


def _watch(token: str, *, busy: bool) -> None:
    """A therapist may stop or delete the session, or withdraw its link, while its patient is thinking."""
    if busy and st.session_state.pop(_DRAWN, False):
        st.rerun(scope="app")
    st.session_state[_DRAWN] = busy
    try:
        is_over = workbench().runtime.sessions.get(_session_of(token)).status == SessionStatus.TERMINATED.value
    except NotFoundError:
        is_over = True
    except Exception as error:  # a look that failed tells nothing; the next message will
        log_fault(error)
        return
    if is_over:
        st.rerun(scope="app")


# ---- answering ----


@dataclass(frozen=True)
class Asked:
    """The question on the screen, which an answer belongs to."""

    session_id: str
    turn: int
    item: int
    paused: bool

    @property
    def words(self) -> Escalation:
        return workbench().runtime.words(self.session_id)

    def answer(self, text: str, message_id: str, invited: Callable[[], bool]) -> View:
        return workbench().runtime.submit(
            self.session_id,
            text,
            expected_turn=self.turn,
            message_id=message_id,
            item=self.item,
            paused=self.paused,
            invited=invited,
        )


def _ask_for_answer(token: str, view: View) -> None:
    st.chat_input(
        "Your answer",
        key=_ANSWER,
        max_chars=MAX_MESSAGE_CHARACTERS,
        submit_mode="disable",
        on_submit=_submit,
        args=(token, Asked(view.session_id, view.turn, view.item, view.paused), uuid.uuid4().hex),
    )


def _submit(token: str, asked: Asked, message_id: str) -> None:
    """Runs before the page is drawn again, so the patient's bubble appears only once the message is in the ledger."""
    text = st.session_state.get(_ANSWER)
    if not text:
        return
    for told in (_NOTICE, _UNSENT):
        st.session_state.pop(told, None)
    link = _Link(PatientLinks(workbench().database), token)
    try:
        view = asked.answer(text, message_id, link.leads_here)
        if view.profile.session_status is SessionStatus.TERMINATED:
            st.session_state[_STOPPED] = _script_of(view)
        elif link.has_ended:
            _keep(text, f"{_NOT_TAKEN} {asked.words.help_line}")
    except UnrecordedStop as stop:
        st.session_state[_STOPPED] = stop.script
    except Exception as error:
        _keep(text, _told_why(error, asked, link))


def _told_why(error: Exception, asked: Asked, link: _Link) -> str:
    """Whatever failed, the patient must know that the message may not have been saved."""
    if link.has_ended and isinstance(error, (StaleTurn, TurnInProgress, NotFoundError)):
        return f"{_NOT_TAKEN} {asked.words.help_line}"
    if isinstance(error, TurnInProgress):
        return "Your last message is still being worked on, so this one was not taken. Please wait a moment."
    if isinstance(error, StaleTurn):
        return "That question was already answered, perhaps in another tab. Here is the newest."
    log_fault(error)
    return asked.words.not_saved


class _Link:
    """The patient's way in, about which the runtime asks once it has read the message: danger does not wait for that.

    Only a plain no ends it: whatever else goes wrong, the message is still to be read.
    """

    def __init__(self, links: PatientLinks, token: str) -> None:
        self._links, self._token = links, token
        self.has_ended = False

    def leads_here(self) -> bool:
        try:
            self._links.session_id(self._token)
        except NotFoundError:
            self.has_ended = True
        except Exception as error:
            log_fault(error)
        return not self.has_ended


def _keep(text: str, notice: str) -> None:
    """What was written is never lost: it stands below the notice, to be sent again."""
    st.session_state[_NOTICE], st.session_state[_UNSENT] = notice, text


def _show_notice() -> bool:
    """Until the next message: a page that waits for its turn to be done is drawn again and again."""
    notice, unsent = st.session_state.get(_NOTICE), st.session_state.get(_UNSENT)
    if notice:
        st.warning(notice)
    if unsent:
        st.caption("What you wrote:")
        _plain(unsent)
    return notice is not None
