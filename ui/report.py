"""A session's report as a therapist reads it: section by section, the evidence highlighted, the domains as a chart."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from queue import SimpleQueue
from threading import Lock
from time import sleep
from typing import Any, get_args

import altair as alt
import pandas as pd
import streamlit as st

from agents.report.domains import HIGHEST_SCORE, DomainRow, domain_rows
from graph.exports import FORMATS, as_markdown, exported
from graph.reporting import Report, ReportDesk
from graph.view import View
from instruments.profile import PatientProfile, SessionStatus
from instruments.tools import ILLUSTRATIVE, DiagnosticMode, ReportSection
from ui.bench import workbench
from ui.markdown import COLOURS, highlighted, plain

MODES: tuple[DiagnosticMode, ...] = get_args(DiagnosticMode)
_CHART_ABOVE = "Symptom Domain Table"
_STAGES = {
    "retrieve": "Looking up passages in the library …",
    "diagnose": "Weighing scores, words and passages …",
    "write": "Putting the sections together …",
}
_AGAIN = "write the report again"
_MIME = {"md": "text/markdown", "json": "application/json", "pdf": "application/pdf"}
_BETWEEN_SECTIONS_SECONDS = 0.25
_FINDINGS = {"further inquiry": "#b5483a", "below the threshold": "#8fb3c9", "not determined": "#c9c9c9"}
_BAR_PIXELS, _LEGEND_PIXELS = 24, 120
_CELL = re.compile(r"(?<!\\)\|")
_NARROW = """<style>
.st-key-report td:first-child { white-space: nowrap }
@media (max-width: 640px) {
  .st-key-report thead { display: none }
  .st-key-report tr { display: flex; flex-wrap: wrap; padding: 0.3rem 0 }
  .st-key-report td, .st-key-report td:first-child { border: 0; padding: 0.1rem 0.9rem 0.1rem 0 !important }
  .st-key-report td:last-child { flex-basis: 100% }
  .st-key-section-symptom-domain-table td:nth-child(3)::before { content: "threshold" }
  .st-key-section-symptom-domain-table td:nth-child(4)::before { content: "reached" }
  .st-key-section-symptom-domain-table td:nth-child(5)::before { content: "Level 2" }
  .st-key-section-item-level-appendix td:nth-child(4)::before { content: "ambiguity" }
  .st-key-report td::before, .st-key-report td > div { display: inline-block; margin-right: 0.3rem }
}
</style>"""
"""On a telephone the rows of a table become blocks."""
_setting = Lock()  # MuPDF, which sets the PDF, may be used by one thread at a time


def show(view: View) -> None:
    """Nothing for a session that has none and gets none: an unfinished one, or one that was stopped before."""
    desk, completed = workbench().runtime.reports, view.profile.session_status is SessionStatus.COMPLETED
    revisions = desk.revisions(view.session_id)
    if not revisions and not completed:
        return
    st.subheader("Report", anchor=False)
    if not completed and revisions:
        st.error(
            "This session was stopped for safety after this report was written. Read the marked turns first: "
            "the report knows nothing of what came later.",
        )
    report, is_new = _chosen(desk, view, revisions, may_write=completed)
    _show_report(report, reveal=is_new)


# ---- which one ----


def _chosen(desk: ReportDesk, view: View, revisions: list[Report], *, may_write: bool) -> tuple[Report, bool]:
    """The revision that is looked at, and whether it has just been written."""
    controls, progress = st.container(horizontal=True, vertical_alignment="bottom"), st.container()
    newest = revisions[-1].mode if revisions else view.mode
    with controls:
        mode = _choose_mode(view.session_id, revisions, newest, may_write=may_write)
    of_mode = [report for report in reversed(revisions) if report.mode == mode]
    again = bool(st.session_state.pop(_AGAIN, False))
    is_new = may_write and (again or not of_mode)
    if is_new:
        with progress:
            of_mode.insert(0, _written(partial(desk.write, view.session_id, mode, again=again)))
    with controls:
        chosen = _choose_revision(of_mode)
        if may_write:
            st.button("Write again", on_click=_ask_again, help="A new revision, for instance after a book was put in.")
    return chosen, is_new


def _ask_again() -> None:
    st.session_state[_AGAIN] = True


def _choose_mode(
    session_id: str, revisions: list[Report], newest: DiagnosticMode, *, may_write: bool
) -> DiagnosticMode:
    there_are = {report.mode for report in revisions}
    offered = [mode for mode in MODES if may_write or mode in there_are]
    chosen: DiagnosticMode | None = st.segmented_control(
        "Mode",
        offered,
        default=newest,
        required=True,
        key=f"mode-{session_id}",
        help="Screening names domains only, categorical names groups of disorders, diagnostic names disorders.",
    )
    return chosen or newest


def _choose_revision(reports: list[Report]) -> Report:
    """The newest first; a newer one than was chosen from is a new choice."""
    newest = reports[0]
    number: int = st.selectbox(
        "Revision",
        [report.revision for report in reports],
        format_func={report.revision: _dated(report) for report in reports}.__getitem__,
        key=f"revision-{newest.session_id}-{newest.revision}",
        width=220,
    )
    return next(report for report in reports if report.revision == number)


def _dated(report: Report) -> str:
    written = report.written_at.astimezone() if report.written_at else None
    return f"{report.revision} · {written:%d %b %Y, %H:%M}" if written else str(report.revision)


def _written(write: Callable[..., Report]) -> Report:
    """Shows the stages. The work is done in another thread, so that a closed tab does not undo it."""
    stages: SimpleQueue[str | None] = SimpleQueue()
    writing = _writers().submit(write, on_stage=stages.put)
    writing.add_done_callback(lambda _: stages.put(None))
    with st.status("Writing the report …", expanded=True) as status:
        for stage in iter(stages.get, None):
            st.write(_STAGES[stage])
        failed = writing.exception() is not None
        status.update(
            label="The report was not written." if failed else "The report is written.",
            state="error" if failed else "complete",
            expanded=False,
        )
    return writing.result()


@st.cache_resource
def _writers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(4, thread_name_prefix="report")


# ---- the report itself ----


def _show_report(report: Report, *, reveal: bool) -> None:
    if any(passage.is_illustrative for passage in report.passages):
        st.info(f"Passages are cited from the {ILLUSTRATIVE}.")
    _show_legend()
    with st.container(key="report"):
        st.html(_NARROW)
        for section in report.sections:
            _show_section(section, report.profile)
            if reveal:
                sleep(_BETWEEN_SECTIONS_SECONDS)
    _show_passages(report)
    _offer_files(report)


def _show_legend() -> None:
    meanings = {"sym": "symptom or domain", "quote": "“the patient’s own words”", "med": "medical term"}
    marks = " ".join(f":{colour}-background[{meanings[tag]}]" for tag, colour in COLOURS.items())
    st.markdown(f":small[Marked: {marks}]")


def _show_section(section: ReportSection, profile: PatientProfile) -> None:
    with st.container(key=f"section-{section.title.lower().replace(' ', '-')}"):
        st.markdown(f"#### {section.title}", anchors=False)
        if section.title == _CHART_ABOVE:
            _show_chart(domain_rows(profile))
        if section.markdown.startswith("|"):
            _show_table(section.markdown)
        else:
            st.markdown(highlighted(section.markdown))


def _show_table(markdown: str) -> None:
    head, _, *rows = ([cell.strip() for cell in _CELL.split(line)[1:-1]] for line in markdown.splitlines())
    table = pd.DataFrame([[highlighted(cell) or "—" for cell in row] for row in rows], columns=head)
    st.table(table, border="horizontal", hide_index=True)


def _show_chart(rows: Sequence[DomainRow]) -> None:
    """A bar a domain, and a mark where further inquiry begins."""
    frame = pd.DataFrame([_bar(row) for row in rows])
    shown = alt.Chart(frame).encode(
        y=alt.Y(
            "Domain:N",
            sort=None,
            title=None,
            axis=alt.Axis(labelLimit=230, labelOverlap=False, ticks=False, domain=False),
        )
    )
    scale = alt.Scale(domain=[0, HIGHEST_SCORE])
    axis = alt.Axis(values=list(range(HIGHEST_SCORE + 1)), format="d", title="Highest item, 0 to 4")
    findings = [finding for finding in _FINDINGS if finding in set(frame["Finding"])]
    colours = alt.Scale(domain=findings, range=[_FINDINGS[finding] for finding in findings])
    bars = shown.mark_bar(size=11, cornerRadiusEnd=2).encode(
        x=alt.X("Highest item:Q", scale=scale, axis=axis),
        color=alt.Color("Finding:N", scale=colours, legend=alt.Legend(title=None, orient="bottom", columns=1)),
        tooltip=["Domain", "Highest item", "Threshold", "Finding"],
    )
    marks = shown.mark_tick(thickness=2, size=19, color="#333333").encode(
        x=alt.X("Threshold:Q", scale=scale, axis=axis)
    )
    st.altair_chart(bars + marks, width="stretch", height=_BAR_PIXELS * len(rows) + _LEGEND_PIXELS)
    st.caption("A bar is the highest item of its domain, the dark mark the threshold for further inquiry.")


def _bar(row: DomainRow) -> dict[str, Any]:
    finding = "further inquiry" if row.reached else "below the threshold"
    return {
        "Domain": row.name,
        "Highest item": row.highest,
        "Threshold": row.domain.threshold,
        "Finding": "not determined" if row.undetermined else finding,
    }


def _show_passages(report: Report) -> None:
    """For a diagnostic report alone: a passage's text names the disorder that the other modes must not name."""
    if report.mode != "diagnostic" or not report.passages:
        return
    with st.expander(f"The {len(report.passages)} passages that were looked up"):
        for passage in report.passages:
            st.caption(plain(passage.citation))
            st.text(passage.text, width="stretch")


# ---- taking it away ----


def _offer_files(report: Report) -> None:
    names = {"md": "Markdown", "json": "JSON with the profile", "pdf": "PDF"}
    with st.container(horizontal=True):
        for form in FORMATS:
            st.download_button(
                names[form],
                partial(_file, report, form),
                file_name=f"report-{report.session_id}-{report.revision}.{form}",
                mime=_MIME[form],
                icon=":material/download:",
                key=f"download-{form}",
                on_click="ignore",
            )
    with st.expander("Copy as Markdown"):
        st.code(as_markdown(report), language=None, wrap_lines=True, height=300)


def _file(report: Report, form: str) -> bytes:
    with _setting:
        return exported(report, form)
