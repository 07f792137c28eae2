"""The beginning of an interview: the form for one, and the greeting of an installation that has none yet."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from agents.escalation import GENERIC, Escalation, escalation, known_locales
from benchmark.personas import load_personas
from graph.assembly import Workbench
from instruments.tools import DiagnosticMode
from settings import RULES
from storage.clients import LONGEST_LABEL, ClientLabels
from storage.links import PatientLinks
from storage.sessions import Choice
from ui import live
from ui.access import User, may_interview_people
from ui.bench import live_interviews, settings, workbench
from ui.clicks import Once, clicked
from ui.guard import guarded
from ui.routes import MANAGE

FIRST_PERSONA = "grey-mornings"
_AS_CONFIGURED = "as configured"
_CLIENT, _PERSONA = "A client", "A persona, as a demo"
_MODES: dict[DiagnosticMode, str] = {
    "diagnostic": "diagnostic: impressions name disorders",
    "categorical": "categorical: impressions name groups of disorders",
    "screening": "screening: domains only, no impressions",
}


def greet(user: User) -> None:
    """One button, and a finished report a minute later."""
    st.title("Welcome to Crosscut", anchor=False)
    st.write(
        "Crosscut holds the DSM-5 Level-1 Cross-Cutting Symptom Measure as a conversation: 23 questions on the past "
        "two weeks, answered in one’s own words, scored with evidence, and written up as a report for you."
    )
    st.write("See it at work first: an invented patient answers, you watch, and the report opens by itself.")
    with st.container(horizontal=True):
        st.button(
            "Watch a demo interview",
            type="primary",
            icon=":material/play_arrow:",
            on_click=_begin_first,
            args=(user, Once()),
        )
        if may_interview_people(user) and st.button("Start with a client"):
            open_form(user)
    st.caption(_what_leaves())


def _begin_first(user: User, once: Once) -> None:
    """Of a double click the second, which ends the run of the first, leads to what the first has begun."""
    with guarded():
        live.watch(once.do(live_interviews().start, FIRST_PERSONA, owner=user.owner))


def _what_leaves() -> str:
    ours = settings()
    if ours.gateway_api_key is None and all(model == RULES for model in ours.models.values()):
        return "Everything runs on this machine, without any outside service."
    return "A gateway for models is configured: Settings and health says what goes to it, and when."


@st.dialog("New interview", width="medium")
def open_form(user: User) -> None:
    with guarded():
        whom = _PERSONA
        if may_interview_people(user):
            whom = st.segmented_control("Who is interviewed", [_CLIENT, _PERSONA], default=_CLIENT, required=True)
        label, persona = "", FIRST_PERSONA
        if whom == _CLIENT:
            label = st.text_input(
                "Client label",
                max_chars=LONGEST_LABEL,
                placeholder="such as C-017, or leave it empty",
                help="Your own pseudonym for this person, encrypted. The same label joins repeated interviews.",
            )
        else:
            people = load_personas()
            persona = st.selectbox(
                "Persona", people, index=list(people).index(FIRST_PERSONA), format_func=lambda p: people[p].description
            )
        mode, choice = _ask_how()
        if whom == _CLIENT:
            _offer_start(partial(_begin, workbench(), user, label, mode, choice), _manage)
        else:
            begin = partial(live_interviews().start, persona, mode=mode, owner=user.owner, choice=choice)
            _offer_start(begin, live.watch)


def _offer_start(begin: Callable[[], str], lead_to: Callable[[str], None]) -> None:
    if begun := clicked("Start", begin, key="start", type="primary"):
        lead_to(begun.result)
        st.rerun()


def _manage(session_id: str) -> None:
    st.query_params.from_dict({MANAGE: session_id})


def _ask_how() -> tuple[DiagnosticMode, Choice]:
    mode: DiagnosticMode = st.selectbox("Mode", list(_MODES), format_func=_MODES.__getitem__)
    models, numbers = st.columns(2)
    offered = [_AS_CONFIGURED, *settings().offered_models]
    model = models.selectbox(
        "Model",
        offered,
        format_func=lambda name: "embedded rules" if name == RULES else name,
        help="Words the questions, scores the answers and forms the impressions. The risk check stays as configured.",
    )
    locales = known_locales()
    ours = escalation(settings().crosscut_locale).locale
    locale = numbers.selectbox(
        "Emergency numbers", locales, index=list(locales).index(ours), format_func=lambda name: _named(locales[name])
    )
    return mode, Choice(None if model == _AS_CONFIGURED else model, None if locale == ours else locale)


def _named(words: Escalation) -> str:
    if words.locale == GENERIC:
        return "elsewhere (no numbers)"
    return f"{words.locale} ({', '.join(filter(None, [words.emergency, words.crisis_line]))})"


def _begin(bench: Workbench, user: User, label: str, mode: DiagnosticMode, choice: Choice) -> str:
    session_id = bench.runtime.start(mode=mode, owner=user.owner, choice=choice).session_id
    ClientLabels(bench.database).put(session_id, user.owner, label)
    PatientLinks(bench.database).token(session_id)
    return session_id
