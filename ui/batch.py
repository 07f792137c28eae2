"""Batch runs: start one, watch it, read its tables and charts, take them away."""

from __future__ import annotations

import io
import zipfile
from base64 import b64encode
from concurrent.futures import Future
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import streamlit as st

from benchmark.drawing import PNG_SCALE, drawn
from benchmark.runs.aggregate import Aggregate
from benchmark.runs.charts import charts_of
from benchmark.runs.desk import Progress, RunDesk
from benchmark.runs.tables import markdown
from benchmark.runs.writing import texts
from errors import CrosscutError, NotFoundError
from ui.access import User, may_see_run
from ui.batch_form import offer_run
from ui.bench import workbench
from ui.guard import guarded, log_fault
from ui.identity import me
from ui.markdown import plain
from ui.work import awaited, workers
from ui.workspace.markup import draw, draw_style, text
from ui.workspace.prose import as_html
from workers.celery_app import configure
from workers.runs import open_desk

_RUN = "run"
_LOOK_EVERY_SECONDS = 1.0
_PATIENCE = timedelta(seconds=20)
_STATUS = {
    "running": ":blue-badge[running]",
    "aggregating": ":blue-badge[making the tables]",
    "done": ":green-badge[done]",
    "cancelled": ":orange-badge[cancelled]",
}
_TITLES = {
    "accuracy": "Accuracy by model",
    "errors-and-effort": "Errors and effort by model",
    "differences": "Paired differences",
    "classes": "F1 by class",
    "reliability": "Reliability",
}
_FILES = {
    "report.md": ("Markdown", "text/markdown"),
    "summary.csv": ("CSV, summary", "text/csv"),
    "cells.csv": ("CSV, every cell", "text/csv"),
    "report.json": ("JSON", "application/json"),
}


def show() -> None:
    draw_style()
    st.title("Batch", anchor=False)
    st.write(
        "Interviews of synthetic patients by the hundred: patients × models × modes × repeats, held by the workers, "
        "measured against what should have come out, and put into tables."
    )
    desk, user, chosen = _desk(), me(), st.query_params.get(_RUN)
    if chosen is None:
        runs = desk.list(owner=None if user.is_local or user.is_admin else user.owner)
        with st.expander("Start a run", icon=":material/add:") if runs else st.container():
            offer_run(desk, _open, owner=user.owner)
        _follow(desk, runs)
        return
    try:
        run = _visible(desk, user, chosen)
    except NotFoundError:
        st.info("There is no such run any more.")
        st.button("All runs", key="all-runs", on_click=_leave)
        return
    _show_run(desk, run)


def _visible(desk: RunDesk, user: User, run_id: str) -> Progress:
    """Another's run is not found, like one that never was."""
    run = desk.status(run_id)
    if not may_see_run(user, run.owner):
        raise NotFoundError(f"there is no run {run_id!r}.")
    return run


def _desk() -> RunDesk:
    bench = workbench()
    configure(bench.settings, database_url=bench.services.database_url, redis_url=bench.services.redis_url)
    return open_desk(bench.settings, bench.database, bench.runtime)


def _open(run_id: str) -> None:
    st.query_params[_RUN] = run_id


def _leave() -> None:
    st.query_params.pop(_RUN, None)


# ---- all runs ----


def _follow(desk: RunDesk, runs: list[Progress]) -> None:
    if not runs:
        return
    st.subheader("Runs", anchor=False)
    for run in runs:
        with st.container(border=True, key=f"run-{run.run_id}"):
            with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
                st.markdown(f"**{plain(run.name)}** {_STATUS[run.status]}")
                st.button("Open", key=f"open-{run.run_id}", on_click=_open, args=(run.run_id,))
            _tick(desk, run)


def _tick(desk: RunDesk, run: Progress) -> None:
    """Only what is under way is looked at again, and only the bar and its words are drawn anew."""
    every = None if run.is_over else _LOOK_EVERY_SECONDS
    st.fragment(_show_progress, run_every=every)(desk, run.run_id, was_over=run.is_over)


def _show_progress(desk: RunDesk, run_id: str, *, was_over: bool) -> None:
    with guarded():
        run = desk.status(run_id)
        if run.is_over != was_over:
            st.rerun(scope="app")
        if not was_over:
            st.progress(run.ended / max(run.total, 1))
        st.caption(_counted(run))
        waits = datetime.now(UTC) - run.created_at > _PATIENCE
        if run.status == "running" and not run.running and run.queued and waits:
            st.caption("Nobody works on it right now. `crosscut batch work` starts a worker for runs.")


def _counted(run: Progress) -> str:
    parts = [f"{run.ended:,} of {run.total:,} interviews ended"]
    for count, said in ((run.failed, "failed"), (run.cancelled, "cancelled"), (run.running, "at work")):
        if count:
            parts.append(f"{count:,} {said}")
    begun = run.created_at.astimezone().strftime("%d %b %Y, %H:%M")
    return " · ".join([*parts, f"{run.seconds:,.0f} s", f"begun {begun}"])


# ---- one run ----


def _show_run(desk: RunDesk, run: Progress) -> None:
    """What can be clicked keeps its place while the run comes to its end: an open question stays open."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.button("All runs", key="all-runs", type="tertiary", icon=":material/arrow_back:", on_click=_leave)
        _offer_deletion(desk, run)
    st.subheader(plain(run.name), anchor=False)
    st.markdown(f"{_STATUS[run.status]} {plain(run.run_id)}")
    _tick(desk, run)
    _offer_acts(desk, run)
    if run.is_over:
        made = _made(desk, run)
        _offer_files(desk, made, run)
        _show_tables(made)
        _show_charts(made)


def _offer_deletion(desk: RunDesk, run: Progress) -> None:
    with st.popover("Delete", icon=":material/delete:", key="delete"):
        st.write("The run, its figures, its answers and the sessions that it kept are deleted for good.")
        st.button("Delete this run", key="delete-now", type="primary", on_click=_delete, args=(desk, run.run_id))


def _offer_acts(desk: RunDesk, run: Progress) -> None:
    if run.status == "running":
        with st.popover("Cancel", icon=":material/cancel:", key="cancel"):
            st.write("What has not ended is taken back. What is done stays, and the run can be resumed.")
            st.button(
                "Cancel this run", key="cancel-now", type="primary", on_click=_act, args=(desk.cancel, run.run_id)
            )
    elif again := run.failed + run.cancelled:
        st.button(
            f"Resume ({again:,})",
            key="resume",
            icon=":material/replay:",
            on_click=_act,
            args=(desk.resume, run.run_id),
            help="What failed or was cancelled is tried again.",
        )


def _act(act: Any, run_id: str) -> None:
    with guarded():
        act(run_id)


def _delete(desk: RunDesk, run_id: str) -> None:
    with guarded():
        desk.delete(run_id)
        _leave()


def _made(desk: RunDesk, run: Progress) -> Aggregate:
    """The tables of a cancelled run are made here, once as long as nothing of it changes."""
    kept: dict[Any, Aggregate] = st.session_state.setdefault("tables of runs", {})
    key = (run.run_id, run.done, run.failed, run.cancelled, run.finished_at)
    if key not in kept:
        kept.clear()
        kept[key] = desk.aggregate(run.run_id)
    return kept[key]


def _show_tables(made: Aggregate) -> None:
    """Drawn by the report's own hand: a name in it stays text."""
    _, *parts = markdown(made).partition("\n## ")
    for part in "".join(parts).split("\n## "):
        title, _, body = part.strip().partition("\n")
        if body:
            st.markdown(f"#### {plain(title)}", anchors=False)
            draw(as_html(body, lambda *_: None), "cc-tables")


def _show_charts(made: Aggregate) -> None:
    """Below everything else: what is above can be read and clicked while they are drawn."""
    try:
        pictures: dict[str, bytes] = awaited(_drawing(made.model_dump_json()), "Drawing the charts …")
    except CrosscutError as error:
        log_fault(error)
        _drawing.clear()  # whoever looks again has them drawn again
        st.warning("The charts could not be drawn. The tables and files above are complete without them.")
        return
    for name in charts_of(made):
        title = _TITLES.get(name, name)
        picture = pictures[f"{name}.png"]  # not the SVG, whose letters may be wider here than where it was drawn
        # Within the page: a file of Streamlit's own may be gone before a browser has fetched it.
        source = f"data:image/png;base64,{b64encode(picture).decode()}"
        draw(f'<img src="{source}" alt="{text(title)}" width="{_width(picture)}">', "cc-picture")
        with st.container(horizontal=True):
            for kind, mime in (("svg", "image/svg+xml"), ("png", "image/png")):
                st.download_button(
                    f"{title}, {kind.upper()}",
                    pictures[f"{name}.{kind}"],
                    file_name=f"{name}.{kind}",
                    mime=mime,
                    type="tertiary",
                    icon=":material/download:",
                    key=f"{name}-{kind}",
                    on_click="ignore",
                )


def _width(png: bytes) -> int:
    """As wide as the chart is meant to be; the picture itself is finer."""
    return round(int.from_bytes(png[16:20], "big") / PNG_SCALE)


@st.cache_resource(max_entries=10, show_spinner=False)
def _drawing(content: str) -> Future[dict[str, bytes]]:
    return workers().submit(drawn, charts_of(Aggregate.model_validate_json(content)))


# ---- taking it away ----


def _offer_files(desk: RunDesk, made: Aggregate, run: Progress) -> None:
    with st.container(horizontal=True):
        for file, (label, mime) in _FILES.items():
            st.download_button(
                label,
                partial(_file, desk, made, run.run_id, file),
                file_name=f"{run.run_id}-{file}",
                mime=mime,
                icon=":material/download:",
                key=f"file-{file}",
                on_click="ignore",
            )
        st.download_button(
            "Everything, as ZIP",
            partial(_everything, desk, made, run.run_id),
            file_name=f"{run.run_id}.zip",
            mime="application/zip",
            icon=":material/folder_zip:",
            key="file-zip",
            on_click="ignore",
        )


def _file(desk: RunDesk, made: Aggregate, run_id: str, name: str) -> bytes:
    return texts(made, desk.cells(run_id), list(charts_of(made)))[name].encode()


def _everything(desk: RunDesk, made: Aggregate, run_id: str) -> bytes:
    packed = io.BytesIO()
    pictures = _drawing(made.model_dump_json()).result()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in texts(made, desk.cells(run_id), list(charts_of(made))).items():
            archive.writestr(name, content.encode())
        for name, picture in pictures.items():
            archive.writestr(name, picture)
    return packed.getvalue()
