"""How good a conversation and its report were: the report card, other models beside it, and a blind vote."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial

import streamlit as st

from benchmark import card_files
from benchmark.card import Card
from benchmark.comparison import ComparisonDesk
from benchmark.comparison import open_desk as open_comparisons
from benchmark.desk import BenchmarkDesk, open_benchmark
from benchmark.snapshot import Frozen
from graph.view import View
from instruments.level1 import level1
from instruments.profile import SessionStatus
from storage.jobs import Job
from ui.bench import workbench
from ui.guard import guarded
from ui.work import awaited, workers
from ui.workspace.card import show_card
from ui.workspace.comparing import show_comparison
from ui.workspace.voting import CARD, COMPARISON, PART, PARTS, VOTE, show_vote
from workers.celery_app import COMPARE, MEASURE, configure, send

_LOOK_EVERY_SECONDS = 1.5
_PATIENCE = timedelta(seconds=20)
_SENT = "jobs that were sent"
_LONG = {"judge": "the judge’s opinion", "bertscore": "BERTScore"}
_FILES = {"JSON": "json", "CSV": "csv", "Markdown": "md"}
_MIME = {"json": "application/json", "csv": "text/csv", "md": "text/markdown"}


def show(view: View) -> None:
    if view.profile.session_status is not SessionStatus.COMPLETED:
        _say_why_not(view)
        return
    st.fragment(_show_desk)(view)


def _show_desk(view: View) -> None:
    """What is chosen here draws this anew and nothing around it."""
    with guarded():
        _show_parts(view)


def _show_parts(view: View) -> None:
    freezing = workers().submit(_cards().snapshots.of_session, view.session_id)
    frozen: list[Frozen] = awaited(freezing, "Freezing the report; one that is missing is written first …")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.session_state.setdefault(PART, CARD)
        part = st.segmented_control("Look at", PARTS, required=True, key=PART, label_visibility="collapsed")
        chosen = _choose(frozen)
    if part == COMPARISON:
        show_comparison(_comparisons(), chosen)
    elif part == VOTE:
        show_vote(_comparisons(), view.session_id)
    else:
        _show_card(chosen)


def _say_why_not(view: View) -> None:
    if view.open:
        done, total = view.items_completed, len(level1().items)
        st.info(f"A finished interview can be benchmarked. So far {done} of {total} items are answered.")
    else:
        st.info("This session was stopped for safety. There is no report card and no comparison of it.")


@st.cache_resource(show_spinner=False)
def _cards() -> BenchmarkDesk:
    bench = workbench()
    return open_benchmark(bench.settings, bench.database, bench.runtime)


@st.cache_resource(show_spinner=False)
def _comparisons() -> ComparisonDesk:
    bench = workbench()
    return open_comparisons(bench.settings, bench.database, bench.runtime, partial(_send, COMPARE))


def _send(task: str, job_id: str) -> None:
    bench = workbench()
    configure(bench.settings, database_url=bench.services.database_url, redis_url=bench.services.redis_url)
    send(task, job_id)


def _choose(frozen: list[Frozen]) -> Frozen:
    """The newest first; a newer one than was chosen from is a new choice."""
    newest = frozen[-1]
    by_address = {one.sha256: one for one in reversed(frozen)}
    sha256: str = st.selectbox(
        "Report revision",
        list(by_address),
        format_func=lambda one: f"{by_address[one].revision or '–'} · {_when(by_address[one].created_at)}",
        key=f"snapshot-{newest.sha256}",
        width=230,
        help="Every revision of the report is frozen as a snapshot of its own. Cards and comparisons name theirs.",
    )
    return by_address[sha256]


def _when(at: datetime) -> str:
    return f"{at.astimezone():%d %b %Y, %H:%M}"


# ---- the card ----


def _show_card(frozen: Frozen) -> None:
    desk = _cards()
    _ask_for(desk, frozen.sha256)
    card = desk.card(frozen.sha256)
    # What is looked at again has no buttons, and one line before as after: nothing moves away under a click.
    every = _LOOK_EVERY_SECONDS if card.pending else None
    st.fragment(_tell_pending, run_every=every)(desk, frozen.sha256, card.pending)
    if card.failed:
        _show_failed(frozen.sha256, card)
    show_card(card)
    _offer_files(desk, card)


def _ask_for(desk: BenchmarkDesk, sha256: str, *, again: bool = False) -> None:
    """Every job is sent once from here; what gets lost is found by the worker's own round."""
    sent: set[str] = st.session_state.setdefault(_SENT, set())
    for job in desk.request(sha256, again=again):
        if again or job.id not in sent:
            sent.add(job.id)
            _send(MEASURE, job.id)


def _tell_pending(desk: BenchmarkDesk, sha256: str, pending: tuple[str, ...]) -> None:
    with guarded():
        if not pending:
            st.caption("Everything that can be measured here has been measured.")
            return
        under_way = desk.under_way(sha256)
        if tuple(under_way) != pending:
            st.rerun(scope="app")
        st.caption(":material/pending: The card fills in by itself.")
        for name, job in under_way.items():
            done, told = how_far(job)
            st.progress(done, text=f"**{_capital(_LONG[name])}** · {told}")
        if any(job and _waits_long(job) for job in under_way.values()):
            st.caption("No worker has taken it yet. `crosscut doctor` tells whether one runs.")


def how_far(job: Job | None) -> tuple[float, str]:
    """As a part of the whole, and in words."""
    if job is None:
        return 0.0, "about to be queued"
    if job.status == "queued":
        return 0.0, f"queued since {_clock(job.updated_at)}"
    known = job.progress
    since = f"since {_clock(datetime.fromisoformat(known['since']))}" if "since" in known else "since just now"
    if not known.get("of"):
        return 0.0, f"at work {since}"
    return min(known["done"] / known["of"], 1.0), f"at work {since}, {known['done']:,} of {known['of']:,} texts read"


def _waits_long(job: Job) -> bool:
    return job.status == "queued" and datetime.now(UTC) - job.updated_at > _PATIENCE


def _clock(at: datetime) -> str:
    return f"{at.astimezone():%H:%M:%S}"


def _capital(said: str) -> str:
    return said[0].upper() + said[1:]


def _show_failed(sha256: str, card: Card) -> None:
    for name, why in sorted(card.failed.items()):
        st.warning(f"{_capital(_LONG[name])} could not be had.")
        st.text(why, width="stretch")
    st.button("Try again", key="measure-again", on_click=_ask_again, args=(sha256,))


def _ask_again(sha256: str) -> None:
    with guarded():
        _ask_for(_cards(), sha256, again=True)


def _offer_files(desk: BenchmarkDesk, card: Card) -> None:
    core = card.core
    with st.container(horizontal=True):
        for name, form in _FILES.items():
            st.download_button(
                name,
                partial(_file, desk, card, form),
                file_name=f"card-{core.session_id}-{core.revision}.{form}",
                mime=_MIME[form],
                icon=":material/download:",
                key=f"card-{form}",
                on_click="ignore",
            )


def _file(desk: BenchmarkDesk, card: Card, form: str) -> bytes:
    match form:
        case "json":
            made = card_files.as_json(card)
        case "csv":
            made = card_files.as_csv(card)
        case _:
            made = card_files.as_markdown(card, desk.snapshots.get(card.core.provenance.snapshot_sha256))
    return made.encode()
