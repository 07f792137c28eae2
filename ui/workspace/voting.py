"""A blind vote as a view of its own: two reports without a name, four buttons, and only then whose they were."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

import streamlit as st

from benchmark.comparison import Ballot, Choice, ComparisonDesk, HistoryEntry, Reveal, RunState, Vote
from benchmark.comparison.exports import agreement_head, agreement_row
from errors import InputError, NotFoundError
from instruments.tools import ReportSection
from ui.clicks import clicked
from ui.guard import guarded
from ui.markdown import plain
from ui.workspace.markup import badge, draw, text
from ui.workspace.prose import as_html
from ui.workspace.who import voter

PARTS = CARD, COMPARISON, VOTE = "Report card", "Comparison", "Blind vote"
PART = "benchmark-part"
_REVEALED = "revealed ballot"
_CHOICES: dict[Choice, str] = {
    "left": "Left is better",
    "tie": "A tie",
    "both_bad": "Both are bad",
    "right": "Right is better",
}


def go_to(part: str) -> None:
    """For a button's callback."""
    st.session_state[PART] = part


def show_vote(desk: ComparisonDesk, session_id: str) -> None:
    runs = [run for run in desk.runs_of(session_id) if run.status == "done"]
    if not runs:
        st.info("There is nothing to vote on yet: compare the driver with another model first.")
        st.button("To the comparison", key="to-comparison", on_click=go_to, args=(COMPARISON,))
        return
    run = _choose(runs)
    if ballot_id := _revealed(desk, run.run_id):
        _show_reveal(desk, run, desk.reveal(ballot_id, voter()))
    elif ballot := desk.open_ballot(run.run_id, voter()):
        _show_ballot(desk, run, ballot)
    elif desk.can_vote(run.run_id, voter()):
        _offer_ballot(desk, run)
    else:
        st.info("There is no pair of this comparison left for you to vote on.")
        show_history(desk, run.run_id)


def _revealed(desk: ComparisonDesk, run_id: str) -> str | None:
    """The ballot that was voted on last, if it is this comparison's; one that was deleted since is forgotten."""
    ballot_id: str | None = st.session_state.get(_REVEALED)
    with suppress(NotFoundError):
        if ballot_id and desk.ballots.get(ballot_id).run_id == run_id:
            return ballot_id
    st.session_state.pop(_REVEALED, None)
    return None


def _choose(runs: Sequence[RunState]) -> RunState:
    """By time and number alone: names would tell what may stand behind the two sides."""
    by_id = {run.run_id: run for run in runs}
    run_id: str = st.selectbox(
        "Comparison",
        list(by_id),
        format_func=told_apart(runs, lambda run: f"{len(run.columns)} models").__getitem__,
        key=f"vote-run-{runs[0].run_id}",
        width=320,
    )
    return by_id[run_id]


def told_apart(runs: Sequence[RunState], what: Callable[[RunState], str]) -> dict[str, str]:
    """For a list to choose from, the newest first. Each has a number: of two with the same words a page may take the
    other."""
    return {
        run.run_id: f"{number} · {run.asked_at.astimezone():%d %b %Y, %H:%M} · {what(run)}"
        for number, run in zip(range(len(runs), 0, -1), runs, strict=True)
    }


# ---- before the vote ----


def _offer_ballot(desk: ComparisonDesk, run: RunState) -> None:
    st.write(
        "You get two reports on the same frozen session, side by side and in random order, and nothing that says whose "
        "they are. The figures of this comparison stay hidden until you have voted."
    )
    if desk.has_seen(run.run_id, voter()):
        st.warning("You have already seen which model is which. Your vote is kept, and counted apart as not blind.")
    st.button("Give me a ballot", key="hand-out", type="primary", on_click=_hand_out, args=(desk, run.run_id))


def _hand_out(desk: ComparisonDesk, run_id: str) -> None:
    with guarded():
        desk.ballot(run_id, voter())


def _show_ballot(desk: ComparisonDesk, run: RunState, ballot: Ballot) -> None:
    if desk.has_seen(run.run_id, voter()):
        st.caption("Not blind: you have seen which model is which.")
    if ballot.are_same:
        st.info("The two reports are the same, word for word.")
    else:
        _show_sides(ballot)
    if ballot.alike:
        with st.expander(f"The same on both sides: {', '.join(section.title for section in ballot.alike)}"):
            draw("".join(map(_section, ballot.alike)), "cc-report")
    st.markdown("**Which report would you rather work with?**")
    with st.container(horizontal=True, key="vote"):
        for choice, label in _CHOICES.items():
            st.button(label, key=f"vote-{choice}", on_click=_cast, args=(desk, ballot.id, choice))


def _show_sides(ballot: Ballot) -> None:
    sides = st.columns(2, gap="medium")
    for name, place, output in zip(("Left", "Right"), sides, (ballot.left, ballot.right), strict=True):
        with place, st.container(border=True, key=f"ballot-{name.lower()}"):
            st.markdown(f"#### {name}", anchors=False)
            draw("".join(_section(one) for one in output.sections if one not in ballot.alike), "cc-report")


def _section(section: ReportSection) -> str:
    return f"<h3>{text(section.title)}</h3>{as_html(section.markdown, _nowhere)}"


def _nowhere(_said: str, _beside: str) -> None:
    """A quote leads nowhere here: whoever votes looks at the two reports alone."""


def _cast(desk: ComparisonDesk, ballot_id: str, choice: Choice) -> None:
    """A second click on the same ballot, as of a double click, votes no second time."""
    with guarded():
        if not desk.ballots.votes_on(ballot_id):
            desk.vote(ballot_id, choice, voter())
        st.session_state[_REVEALED] = ballot_id


# ---- after it ----


def _show_reveal(desk: ComparisonDesk, run: RunState, reveal: Reveal) -> None:
    chosen = {"left": reveal.left, "right": reveal.right, "tie": "a tie", "both_bad": "neither"}[reveal.choice]
    rows = "".join(
        f"<tr><td>{side}</td><td><b>{text(model)}</b></td><td>{badge('your choice', 'good') if ours else ''}</td></tr>"
        for side, model, ours in (
            ("Left", reveal.left, reveal.choice == "left"),
            ("Right", reveal.right, reveal.choice == "right"),
        )
    )
    draw(f"<h3>You chose {text(chosen)}</h3><table><tbody>{rows}</tbody></table>", "cc-reveal")
    figures = zip(agreement_head(), agreement_row(reveal.agreement), strict=True)
    said = " · ".join(f"{text(name)} <b>{text(value)}</b>" for name, value in list(figures)[1:])
    draw(f'<p class="soft">How far the two agree: {said}</p>')
    with st.container(horizontal=True):
        st.button("See all columns", key="see-columns", type="primary", on_click=_leave, args=(COMPARISON,))
        if desk.can_vote(run.run_id, voter()):
            st.button("Vote on another pair", key="vote-again", on_click=_leave, args=(VOTE,))
    show_history(desk, run.run_id)


def _leave(part: str) -> None:
    st.session_state.pop(_REVEALED, None)
    go_to(part)


# ---- overrides and history ----


def offer_override(desk: ComparisonDesk, run: RunState) -> None:
    st.markdown("#### Override", anchors=False)
    st.caption(
        "Your own judgement stands above every model’s. It is kept with its reason; earlier ones stay in the history."
    )
    with st.form("override", clear_on_submit=True):
        models = [column.model for column in run.columns]
        model = st.selectbox("Preferred column", models, index=None, placeholder="none of them", key="override-model")
        impression = st.text_input("Preferred impression", key="override-impression", placeholder="may be in no column")
        reason = st.text_area("Reason", key="override-reason", height=80, help="Encrypted, like the impression.")
        keep = partial(desk.override, run.run_id, reason=reason, by=voter(), model=model, impression=impression)
        try:
            clicked(
                "Override",
                keep,
                key="override",
                entered=(model, impression, reason),
                button=st.form_submit_button,
            )
        except InputError as error:
            st.warning(plain(str(error)))


def show_history(desk: ComparisonDesk, run_id: str) -> None:
    """It says whose outputs were voted on, so only who holds no ballot gets to see it."""
    entries = desk.history(run_id)
    if entries:
        st.markdown("#### Votes and overrides", anchors=False)
        draw("".join(f"<li>{_entry(entry)}</li>" for entry in reversed(entries)).join(("<ul>", "</ul>")), "cc-votes")


def _entry(entry: HistoryEntry) -> str:
    by = "you" if entry.by == voter() else text(entry.by)
    when = f'<span class="soft">{entry.at.astimezone():%d %b %Y, %H:%M}, {by}</span>'
    if entry.override is not None:
        preferred = " and ".join(filter(None, (entry.override.model, entry.override.impression)))
        return f'{when} prefers <b>{text(preferred)}</b>: <span class="text">{text(entry.override.reason)}</span>'
    return f"{when} {_voted(entry.vote, entry.left or '', entry.right or '')}" if entry.vote else when


def _voted(vote: Vote, left: str, right: str) -> str:
    one, other = f"<b>{text(left)}</b>", f"<b>{text(right)}</b>"
    said = {
        "left": f"chose {one} over {other}",
        "right": f"chose {other} over {one}",
        "tie": f"voted for a tie of {one} and {other}",
        "both_bad": f"found neither {one} nor {other} good",
    }[vote.choice]
    return said if vote.blind else f"{said} {badge('not blind')}"
