"""What a therapist must see at once: the session's flags with the patient's own words, and the way to act on them."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from errors import NotFoundError
from graph.state import ScoreRecord
from graph.view import View
from instruments.level1 import item_id, item_number, level1
from instruments.profile import ItemResponse, RiskFlags, SessionStatus
from storage.notices import Notices
from ui import report
from ui.bench import workbench
from ui.guard import guarded

_FLAG_NAMES = {
    "suicidality_mentioned": "suicidality mentioned",
    "self_harm_ideation": "self-harm ideation",
    "violence_risk": "risk of violence",
    "substance_abuse_signal": "substance signal",
}


def show(session_id: str) -> None:
    view = workbench().runtime.view(session_id)
    st.title("Session review")
    if view.profile.session_status is SessionStatus.TERMINATED:
        st.error("This session was stopped for safety. The patient saw the safety script and nothing after it.")
    _show_flags(view)
    _show_acknowledgement(session_id)
    _show_open_points(view)
    with guarded():  # whatever becomes of the report, the rest of this page must stay within reach
        report.show(view)
    with st.expander("Transcript"):
        for line in view.lines:
            with st.chat_message(line.role):
                st.text(line.text, width="stretch")
    with st.expander("Scores, item by item", expanded=view.open):
        show_profile(view)
    if view.profile.session_status is not SessionStatus.TERMINATED:
        _offer_stop(session_id)


def _show_flags(view: View) -> None:
    st.subheader("Risk")
    st.write(", ".join(flag_names(view.profile.risk_flags)) or "No flag is set.")
    texts = {line.turn: line.text for line in view.lines if line.role == "patient"}
    for turn, record in sorted(view.risks.items()):
        words = " … ".join(texts.get(turn, "")[span.start : span.end] for span in record.spans)
        with st.container(border=True):
            degraded = ", model unavailable" if record.degraded else ""
            st.caption(f"Turn {turn}: {record.level}, rule {record.rule}{degraded}")
            if said := (words or texts.get(turn, "")).strip():  # a stop by hand has no words
                st.text(f"“{said}”", width="stretch")


def _show_open_points(view: View) -> None:
    points = open_points(view)
    if points:
        st.subheader("Clarify in person")
        st.markdown("\n".join(f"- {point}" for point in points))


def open_points(view: View) -> list[str]:
    """Each item that is left open, and why."""
    found = [f"{identifier}: {_why_open(view, identifier)}" for identifier in open_items(view)]
    return ["The patient has paused the interview.", *found] if view.paused else found


def open_items(view: View) -> list[str]:
    disagreed = {item_id(item) for item, record in view.records.items() if _disagreement(record)}
    return sorted({*view.profile.question_state.follow_ups_needed, *disagreed})


def _why_open(view: View, identifier: str) -> str:
    response, record = view.profile.response(identifier), view.records.get(item_number(identifier))
    if response is None or record is None:
        return "not answered yet"
    if record.unanswered:
        return "no answer was given"
    if (rules := _disagreement(record)) is not None:
        return f"the model scored {response.score}, the rules {rules}"
    if response.undetermined:
        return f"not determined (best fit {response.score})"
    return f"unclear (score {response.score}, ambiguity {response.ambiguity}), or taken up again by the patient later"


def _disagreement(record: ScoreRecord) -> int | None:
    """The rules' score, where it is far from the model's."""
    opinion = record.second_opinion
    return opinion.score if opinion and opinion.disagrees else None


def flag_names(flags: RiskFlags) -> list[str]:
    return [label for name, label in _FLAG_NAMES.items() if getattr(flags, name)]


def _show_acknowledgement(session_id: str) -> None:
    notices = Notices(workbench().database)
    if not any(notice.session_id == session_id for notice in notices.unacknowledged()):
        return
    with st.form("acknowledge"):
        note = st.text_area("Note", help="Encrypted; kept with the acknowledgement.")
        if st.form_submit_button("Acknowledge", type="primary"):
            try:
                notices.acknowledge(session_id, by="therapist", note=note)
            except NotFoundError:
                st.info("Somebody else has acknowledged this meanwhile.")
                return
            st.rerun()


def _offer_stop(session_id: str) -> None:
    st.subheader("Stop this session for safety")
    sure = st.checkbox("The patient shall see the safety script at once. This cannot be undone.")
    if st.button("Stop now", type="primary", disabled=not sure):
        workbench().runtime.stop(session_id)
        st.rerun()


def _shown_score(response: ItemResponse) -> str:
    return f"not determined (best fit {response.score})" if response.undetermined else str(response.score)


def show_profile(view: View) -> None:
    st.subheader("Profile")
    rows = []
    for response in view.profile.item_responses:
        item = level1().item(item_number(response.item_id))
        rows.append(
            {
                "Item": response.item_id,
                "Domain": level1().domain_of(item.number).name,
                "Score": _shown_score(response),
                "Ambiguity": response.ambiguity,
                "In the patient's words": " · ".join(response.evidence_quotes),
            }
        )
    st.dataframe(pd.DataFrame(rows), hide_index=True, height="content")
    st.download_button(
        "Download the profile (JSON)",
        view.profile.model_dump_json(by_alias=True, exclude_none=True, indent=2),
        file_name=f"profile-{view.session_id}.json",
        mime="application/json",
    )
