"""What a therapist adds to a session: corrections of scores, with their history, and labels on turns.

Neither changes what was said or scored; both are laid over it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

import streamlit as st

from errors import InputError
from graph.corrections import corrected, standing_corrections
from graph.view import View
from instruments.level1 import item_id, item_number, level1
from instruments.profile import SessionStatus
from storage.corrections import Correction, Corrections
from storage.labels import LABELS, Label, Labels
from ui.bench import workbench
from ui.workspace.findings import shown_score
from ui.workspace.markup import badge, text
from ui.workspace.who import who
from ui.workspace.work import awaited, workers

_SAID = "said after reviewing"
_ACTS = "acts of reviewing"


@dataclass(frozen=True)
class Overlay:
    """A session as its therapist sees it. `scores` and `turns` are HTML by item id and by turn."""

    view: View
    settled: frozenset[str]
    scores: dict[str, str]
    turns: dict[int, str]


def overlay(view: View) -> Overlay:
    history = Corrections(workbench().database).history(view.session_id)
    standing = standing_corrections(view.profile, {one.item: one for one in history})
    return Overlay(
        view=replace(view, profile=corrected(view.profile, standing)),
        settled=frozenset(one.item_id for one in standing),
        scores=_histories(view, history),
        turns=_labels(Labels(workbench().database).all_of(view.session_id)),
    )


def _histories(view: View, history: Iterable[Correction]) -> dict[str, str]:
    by_item: dict[int, list[Correction]] = defaultdict(list)
    for one in history:
        by_item[one.item].append(one)
    return {item_id(item): _history(view, item, found) for item, found in by_item.items()}


def _history(view: View, item: int, found: list[Correction]) -> str:
    scored = view.profile.response(item_id(item))
    begun = f"scored {shown_score(scored)}" if scored else ""
    lines = "".join(
        f"<li><b>{one.score}</b> by {text(one.corrected_by)}, {one.corrected_at.astimezone():%d %b, %H:%M}: "
        f'<span class="text">{text(one.reason)}</span></li>'
        for one in found
    )
    return f'<div class="cc-history">{badge("corrected", "good")} {begun}, then<ul>{lines}</ul></div>'


def _labels(labels: Iterable[Label]) -> dict[int, str]:
    drawn: dict[int, str] = defaultdict(str)
    for one in labels:
        note = f': <span class="text">{text(one.note)}</span>' if one.note else ""
        drawn[one.turn] += f'<div class="cc-label">{badge(one.label)} {text(one.labelled_by)}{note}</div>'
    return drawn


# ---- the two forms ----


def offer_correction(view: View) -> None:
    """Of items that have been scored. A stopped session stays as it was."""
    done = view.profile.question_state.completed_items
    if view.profile.session_status is SessionStatus.TERMINATED or not done:
        return
    with st.popover("Correct a score", icon=":material/edit:", key="correct"), st.form("correction", border=False):
        named = {identifier: _item_named(view, identifier) for identifier in done}
        item: str = st.selectbox("Item", done, format_func=named.__getitem__, key=_key("correct-item"))
        labels = {anchor.score: f"{anchor.score} · {anchor.label}" for anchor in level1().scale}
        score = st.radio("Score", list(labels), format_func=labels.__getitem__, key=_key("correct-score"), index=None)
        reason = st.text_area(
            "Reason", key=_key("correct-reason"), height=80, help="Encrypted; kept with the correction."
        )
        if st.form_submit_button("Correct", type="primary"):
            _correct(view.session_id, item, score, reason)


def _item_named(view: View, identifier: str) -> str:
    response = view.profile.response(identifier)
    now = f", now {shown_score(response)}" if response else ""
    return f"{identifier} {level1().item(item_number(identifier)).topic}{now}"


def _correct(session_id: str, item: str, score: int | None, reason: str) -> None:
    if score is None or not reason.strip():
        st.warning("A correction needs a score and a reason.")
        return
    desk = workbench().runtime.reports
    work = workers().submit(desk.correct, session_id, item_number(item), score, reason, who())
    try:
        report = awaited(work, "Correcting; a report that exists is written again …")
    except InputError as error:
        st.error(str(error))
        return
    again = f" The report was written again as revision {report.revision}." if report else ""
    _say(f"{item} is corrected to {score}.{again}")


def offer_label(view: View, chosen: int | None) -> None:
    turns = [line.turn for line in view.lines if line.role == "patient"]
    if not turns:
        return
    turns = sorted(set(turns), reverse=True)
    with st.popover("Label a turn", icon=":material/label:", key="label"), st.form("labelling", border=False):
        at = turns.index(chosen) if chosen in turns else 0
        turn: int = st.selectbox(
            "Turn", turns, index=at, format_func=lambda n: f"Turn {n}", key=_key(f"label-turn-{chosen}")
        )
        kind = st.radio("The check or the scorer was wrong", LABELS, key=_key("label-kind"), index=None)
        note = st.text_area("Note", key=_key("label-note"), height=80, help="Encrypted; kept with the label.")
        with st.container(horizontal=True):
            give = st.form_submit_button("Label", type="primary")
            take = st.form_submit_button("Take mine away")
        if (give or take) and kind is None:
            st.warning("Choose what was wrong.")
        elif give and kind:
            Labels(workbench().database).add(view.session_id, turn, kind, who(), note)
            _say(f"Turn {turn} is labelled “{kind}”.")
        elif take and kind:
            gone = Labels(workbench().database).remove(view.session_id, turn, kind, who())
            _say(f"Turn {turn} has no such label of yours any more." if gone else f"Turn {turn} had no such label.")


def _key(name: str) -> str:
    """Another one after each act, so that a form is empty again and nothing is entered twice."""
    return f"{name}-{st.session_state.get(_ACTS, 0)}"


def _say(told: str) -> None:
    st.session_state[_SAID] = told
    st.session_state[_ACTS] = st.session_state.get(_ACTS, 0) + 1
    st.rerun()


def show_said() -> None:
    if told := st.session_state.pop(_SAID, None):
        st.toast(told, icon=":material/check:")
