"""What a therapist adds to a session: corrections of scores, with their history, and labels on turns.

Neither changes what was said or scored; both are laid over it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from concurrent.futures import Future, wait
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import streamlit as st

from errors import InputError
from graph.corrections import corrected, standing_corrections
from graph.view import View
from instruments.level1 import item_id, item_number, level1
from instruments.profile import SessionStatus
from storage.corrections import Correction, Corrections
from storage.labels import LABELS, Label, Labels
from ui.bench import workbench
from ui.clicks import Once
from ui.guard import guarded
from ui.markdown import plain
from ui.workspace.findings import shown_score
from ui.workspace.markup import badge, text
from ui.workspace.who import who

Kind = Literal["primary", "secondary"]
_SAID = "said after reviewing"
_ACTS = "acts of reviewing"
_MISSING = "missing in a form"
_CORRECTING = "a correction under way"
_MOMENT_SECONDS, _LOOK_EVERY_SECONDS = 0.5, 1.0


@dataclass(frozen=True)
class Correcting:
    session_id: str
    work: Future[Any]
    told: str


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
        st.selectbox("Item", done, format_func=named.__getitem__, key=_key("correct-item"))
        labels = {anchor.score: f"{anchor.score} · {anchor.label}" for anchor in level1().scale}
        st.radio("Score", list(labels), format_func=labels.__getitem__, key=_key("correct-score"), index=None)
        st.text_area("Reason", key=_key("correct-reason"), height=80, help="Encrypted; kept with the correction.")
        _offer("Correct", partial(_correct, Once()), view.session_id)
        _show_missing("correct")


def _item_named(view: View, identifier: str) -> str:
    response = view.profile.response(identifier)
    now = f", now {shown_score(response)}" if response else ""
    return f"{identifier} {level1().item(item_number(identifier)).topic}{now}"


def _correct(once: Once, session_id: str) -> None:
    """Begun here, waited for by the page: a report that exists is written again, which may take its time."""
    item, score, reason = (_entered(f"correct-{name}") for name in ("item", "score", "reason"))
    if score is None or not (reason or "").strip():
        st.session_state[_MISSING] = ("correct", "A correction needs a score and a reason.")
        return
    desk = workbench().runtime.reports
    work = once.begin(desk.correct, session_id, item_number(item), score, reason, who())
    st.session_state[_CORRECTING] = Correcting(session_id, work, f"{item} is corrected to {score}.")
    _next_act()


def offer_label(view: View, chosen: int | None) -> None:
    turns = [line.turn for line in view.lines if line.role == "patient"]
    if not turns:
        return
    turns = sorted(set(turns), reverse=True)
    with st.popover("Label a turn", icon=":material/label:", key="label"), st.form("labelling", border=False):
        at = turns.index(chosen) if chosen in turns else 0
        where = f"label-turn-{chosen}"
        st.selectbox("Turn", turns, index=at, format_func=lambda n: f"Turn {n}", key=_key(where))
        st.radio("The check or the scorer was wrong", LABELS, key=_key("label-kind"), index=None)
        st.text_area("Note", key=_key("label-note"), height=80, help="Encrypted; kept with the label.")
        with st.container(horizontal=True):
            _offer("Label", _label, view.session_id, where)
            _offer("Take mine away", _take_away, view.session_id, where, kind="secondary")
        _show_missing("label")


def _label(session_id: str, where: str) -> None:
    turn, kind, note = _entered(where), _entered("label-kind"), _entered("label-note")
    if _is_chosen(kind):
        Labels(workbench().database).add(session_id, turn, kind, who(), note or "")
        _say(f"Turn {turn} is labelled “{kind}”.")


def _take_away(session_id: str, where: str) -> None:
    turn, kind = _entered(where), _entered("label-kind")
    if _is_chosen(kind):
        gone = Labels(workbench().database).remove(session_id, turn, kind, who())
        _say(f"Turn {turn} has no such label of yours any more." if gone else f"Turn {turn} had no such label.")


def _is_chosen(kind: str | None) -> bool:
    if kind is None:
        st.session_state[_MISSING] = ("label", "Choose what was wrong.")
    return kind is not None


# ---- what both have in common ----


def _offer(label: str, act: Callable[..., None], *given: str, kind: Kind = "primary") -> None:
    """By a callback, which no run of the page that is just ending can take the click away from."""
    st.form_submit_button(label, type=kind, key=_key(label), on_click=_once, args=(_acts(), act, *given))


def _once(number: int, act: Callable[..., None], *given: str) -> None:
    """Of a double click the second finds that the form it belongs to is gone."""
    if number == _acts():
        with guarded():
            act(*given)


def _entered(name: str) -> Any:
    return st.session_state.get(_key(name))


def _acts() -> int:
    return int(st.session_state.get(_ACTS, 0))


def _key(name: str) -> str:
    """Another one after each act, so that a form is empty again and nothing is entered twice."""
    return f"{name}-{_acts()}"


def _show_missing(form: str) -> None:
    if st.session_state.get(_MISSING, ("", ""))[0] == form:
        st.warning(st.session_state.pop(_MISSING)[1])


def _say(told: str) -> None:
    st.session_state[_SAID] = told
    _next_act()


def _next_act() -> None:
    st.session_state[_ACTS] = _acts() + 1


def show_said(session_id: str) -> None:
    """What became of the last act. One that takes its time is looked for again: the page stays true meanwhile."""
    begun: Correcting | None = st.session_state.get(_CORRECTING)
    if begun and begun.session_id == session_id:
        wait([begun.work], _MOMENT_SECONDS)
        if begun.work.done():
            _finish(begun)
        else:
            st.fragment(_look_again, run_every=_LOOK_EVERY_SECONDS)(begun)
    if told := st.session_state.pop(_SAID, None):
        st.toast(told, icon=":material/check:")


def _look_again(begun: Correcting) -> None:
    if begun.work.done():
        st.rerun(scope="app")
    st.caption(":material/pending: Correcting; a report that exists is written again …")


def _finish(begun: Correcting) -> None:
    st.session_state.pop(_CORRECTING, None)
    try:
        report = begun.work.result()
    except InputError as error:
        st.error(plain(str(error)))
    else:
        again = f" The report was written again as revision {report.revision}." if report else ""
        st.session_state[_SAID] = f"{begun.told}{again}"
