"""Settings and health: what is found and runs, which models play, whom a patient in danger is told to call."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

import streamlit as st

from agents.escalation import escalation, verification_problem
from benchmark.judge import JUDGE_MODEL
from graph.trial import Tried, try_model
from settings import RULES, Settings
from ui.bench import settings
from ui.guard import guarded
from ui.identity import me
from ui.markdown import plain
from workers.health import Check, all_checks
from workers.notify import channels_of, notice_settings

_MARKS = {"ok": ":green-badge[ok]", "off": ":gray-badge[off]", "broken": ":red-badge[broken]"}
_ROLES = {
    "interviewer": "words the questions",
    "scorer": "scores the answers",
    "risk": "second reader beside the risk rules",
    "diagnostician": "forms the impressions",
    "patient": "plays personas, the invented patients of demos and batch runs",
    "embedding": "makes the vectors for search",
}
_NO_PATIENTS_WORDS = ("embedding", "patient")
_TRIED = "tried models"


def show() -> None:
    st.title("Settings and health", anchor=False)
    st.caption("Settings are read from the environment and .env at start; .env.example explains each of them.")
    ours = settings()
    _show_who()
    _show_models(ours)
    _show_safety(ours)
    _show_what_leaves(ours)
    _show_health(ours)


def _show_who() -> None:
    """What `crosscut sessions assign` needs to be told; an installation without a login has no need of it."""
    user = me()
    if not user.is_local:
        st.subheader("You", anchor=False)
        st.write("Your sessions are kept under this name:")
        st.code(user.owner, language=None, wrap_lines=True)


# ---- models ----


def _show_models(ours: Settings) -> None:
    st.subheader("Models by role", anchor=False)
    tried: dict[str, Tried] = st.session_state.setdefault(_TRIED, {})
    for role, model in ours.models.items():
        with st.container(border=True, key=f"role-{role}"):
            with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
                name = "embedded rules" if model == RULES and role != "embedding" else model
                name = "the personas’ own script" if model == RULES and role == "patient" else name
                name = "embedded MiniLM" if model == RULES and role == "embedding" else name
                st.markdown(f"**{role}** · {plain(name)}  \n:small[{_ROLES[role]}]")
                if st.button("Test", key=f"test-{role}", icon=":material/bolt:", help="One tiny real call."):
                    with guarded(), st.spinner("Asking …"):
                        tried[role] = try_model(ours, role)
            if result := tried.get(role):
                _show_result(result)
    if ours.model_choices:
        st.caption(plain(f"Sessions can also be started with: {', '.join(ours.offered_models)}"))


def _show_result(result: Tried) -> None:
    if result.error:
        st.error(plain(result.error))
    else:
        st.success(plain(f"{result.said} ({result.seconds:.2f} s)"))


# ---- safety ----


def _show_safety(ours: Settings) -> None:
    st.subheader("Safety script", anchor=False)
    words = escalation(ours.crosscut_locale)
    numbers = " · ".join(filter(None, [f"emergency {words.emergency}" if words.emergency else "", words.crisis_line]))
    st.markdown(
        f"Locale **{plain(ours.crosscut_locale)}** · {plain(numbers or 'no numbers')} · version {words.version}"
    )
    if problem := verification_problem(ours.crosscut_locale, date.today()):
        st.warning(f"Not verified: {plain(problem)}")
    else:
        st.success(f"Verified by a person on {words.verified_at}.")
    with st.expander("What a patient sees after a stop"):
        st.text(words.script, width="stretch")


# ---- what leaves ----


def _show_what_leaves(ours: Settings) -> None:
    st.subheader("What leaves this machine", anchor=False)
    found = what_leaves(ours)
    if not found:
        st.success("Nothing. No telemetry is sent, no model outside is asked, and nobody is notified.")
        return
    st.markdown("\n".join(f"- {plain(line)}" for line in found))
    st.caption("Nothing else: no telemetry of ours, of Streamlit or of LangSmith is sent.")


def what_leaves(ours: Settings) -> list[str]:
    """One line a receiver; an empty list when there is none."""
    return [*_to_models(ours), *_to_services(ours)]


def _to_models(ours: Settings) -> Iterator[str]:
    gateway = str(ours.gateway_base_url).rstrip("/")
    chat = sorted({model for role, model in ours.models.items() if model != RULES and role not in _NO_PATIENTS_WORDS})
    if chat:
        yield f"Answers and questions of interviews, to {', '.join(chat)} at {gateway}."
    if extra := [model for model in ours.offered_models if model != RULES and model not in chat]:
        yield f"Answers and questions of sessions that are started with {', '.join(extra)}, to that model at {gateway}."
    if ours.model_patient != RULES:
        told = "Of interviews with personas: what is made up about the persona, and the questions put to it"
        yield f"{told}, to {ours.model_patient} at {gateway}. Nothing that a patient said."
    if ours.gateway_api_key is not None:
        yield f"Once a report card is looked at: conversation and report, to the judge {JUDGE_MODEL} at {gateway}."
        yield f"Of a comparison: conversation and scores, to the models that are named there, at {gateway}."
        yield f"Of a batch run: its interviews, to the models that it names, at {gateway}."
    if ours.embedding != RULES:
        yield f"Passages of books and what is looked for, to {ours.embedding} at {gateway}."


def _to_services(ours: Settings) -> Iterator[str]:
    if ours.database_url:
        yield "Everything that is stored, sealed where it holds what was said, to your own Postgres."
    if ours.redis_url:
        yield "Ids of jobs, to your own Redis or Valkey."
    if ours.crosscut_s3_url:
        yield f"Uploaded books, sealed, to {ours.crosscut_s3_url}."
    if ours.grobid_url:
        yield f"Uploaded books, to the GROBID server at {ours.grobid_url}."
    if channels := channels_of(notice_settings(ours)):
        yield f"Notices that a session needs attention, without content, by {' and '.join(channels)}."
    if ours.oidc_discovery_url:
        yield f"Sign-ins, to the provider at {ours.oidc_discovery_url.host}."


# ---- the doctor ----


def _show_health(ours: Settings) -> None:
    st.subheader("Health", anchor=False)
    if st.button("Check now", icon=":material/stethoscope:", help="What `crosscut doctor` says."):
        st.session_state["checks"] = None
    with guarded():
        if st.session_state.get("checks") is None:
            with st.spinner("Looking …"):
                st.session_state["checks"] = all_checks(ours)
        with st.container(key="checks"):
            _show_checks(st.session_state["checks"])


def _show_checks(checks: list[Check]) -> None:
    broken = [check for check in checks if check.state == "broken"]
    if broken:
        st.error(f"{len(broken)} of {len(checks)} checks {'needs' if len(broken) == 1 else 'need'} mending.")
    for check in sorted(checks, key=lambda c: c.state != "broken"):
        fix = f"  \n:small[{plain(check.fix)}]" if check.fix else ""
        st.markdown(f"{_MARKS[check.state]} **{plain(check.name)}** · {plain(check.detail)}{fix}")
