"""A session's report as a therapist reads it: section by section, the evidence highlighted, the domains as a chart."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from threading import Lock
from typing import get_args

import streamlit as st

from agents.report.domains import domain_rows
from graph.exports import FORMATS, as_markdown, exported
from graph.reporting import Report, ReportDesk
from graph.view import View
from instruments.level1 import level1
from instruments.profile import SessionStatus
from instruments.tools import ILLUSTRATIVE, DiagnosticMode, ReportSection
from storage.clients import ClientLabels
from ui.bench import workbench
from ui.guard import guarded
from ui.markdown import plain
from ui.work import workers
from ui.workspace.chart import domain_chart
from ui.workspace.copying import offer_copy
from ui.workspace.findings import turn_of
from ui.workspace.markup import address, draw, reveal_once, text
from ui.workspace.prose import as_html

MODES: tuple[DiagnosticMode, ...] = get_args(DiagnosticMode)
_CHART_ABOVE = "Symptom Domain Table"
_STAGES = {
    "retrieve": "Looking up passages in the library …",
    "diagnose": "Weighing scores, words and passages …",
    "write": "Putting the sections together …",
}
_AGAIN = "write the report again"
_MIME = {"md": "text/markdown", "json": "application/json", "pdf": "application/pdf"}
_SEEN, _PLACE = "reports that were shown", "turn"
_LEGEND = (
    '<p class="soft">Marked: <span class="sym">symptom or domain</span> '
    '<span class="quote">“the patient’s own words”</span> <span class="med">medical term</span>. '
    "A quote leads to its turn in the conversation.</p>"
)
_setting = Lock()  # MuPDF, which sets the PDF, may be used by one thread at a time


def show(view: View) -> None:
    completed = view.profile.session_status is SessionStatus.COMPLETED
    if not completed and not workbench().runtime.reports.revisions(view.session_id):
        _say_why_not(view)
        return
    if not completed:
        st.error(
            "This session was stopped for safety after this report was written. Read the marked turns first: "
            "the report knows nothing of what came later.",
        )
    st.fragment(_show_desk)(view, may_write=completed)


def _show_desk(view: View, *, may_write: bool) -> None:
    """What is chosen here draws this anew and nothing around it."""
    with guarded():
        desk = workbench().runtime.reports
        report = _chosen(desk, view, desk.revisions(view.session_id), may_write=may_write)
        _offer_files(report)
        _show_report(report, view, reveal=_is_first_sight(report))


def _say_why_not(view: View) -> None:
    if view.open:
        done, total = view.items_completed, len(level1().items)
        st.info(f"The report is written when the interview is finished. So far {done} of {total} items are answered.")
    else:
        st.info("This session was stopped for safety before it was finished. No report is written for it.")


# ---- which one ----


def _chosen(desk: ReportDesk, view: View, revisions: list[Report], *, may_write: bool) -> Report:
    """The revision that is looked at; one of a mode that has none yet is written."""
    controls, progress = st.container(horizontal=True, vertical_alignment="bottom"), st.container()
    newest = revisions[-1].mode if revisions else view.mode
    with controls:
        mode = _choose_mode(view.session_id, revisions, newest, may_write=may_write)
    of_mode = [report for report in reversed(revisions) if report.mode == mode]
    again = bool(st.session_state.pop(_AGAIN, False))
    if may_write and (again or not of_mode):
        with progress:
            of_mode.insert(0, _written(partial(desk.write, view.session_id, mode, again=again)))
    with controls:
        chosen = _choose_revision(of_mode)
        if may_write:
            st.button("Write again", on_click=_ask_again, help="A new revision, for instance after a book was put in.")
    return chosen


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
    writing = workers().submit(write, on_stage=stages.put)
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


# ---- the report itself ----


def _is_first_sight(report: Report) -> bool:
    """Whether this revision is shown for the first time here, to somebody who was not led to a place in it."""
    seen: set[tuple[str, int]] = st.session_state.setdefault(_SEEN, set())
    this = (report.session_id, report.revision)
    is_first = this not in seen and _PLACE not in st.query_params
    seen.add(this)
    return is_first


def _show_report(report: Report, view: View, *, reveal: bool) -> None:
    if any(passage.is_illustrative for passage in report.passages):
        st.info(f"Passages are cited from the {ILLUSTRATIVE}.")
    if report.corrections:
        draw(_corrected(report))
    draw(_LEGEND)
    if reveal:
        reveal_once(f"report-{report.session_id}-{report.revision}")
    with st.container(key="report"):
        for number, section in enumerate(report.sections, start=1):
            with st.container(key=f"{'reveal' if reveal else 'section'}-{number}"):
                _show_section(section, report, view)
    _show_passages(report)


def _show_section(section: ReportSection, report: Report, view: View) -> None:
    st.markdown(f"#### {section.title}", anchors=False)
    if section.title == _CHART_ABOVE:
        draw(domain_chart(domain_rows(report.profile)))
    draw(as_html(section.markdown, partial(_address, view)), "cc-report")


def _address(view: View, said: str, beside: str) -> str | None:
    """Where it was said of the item or the domain that the row is about, else wherever it was said."""
    turn = turn_of(said, view.lines, _items(beside))
    return None if turn is None else address(view.session_id, "chat", turn)


def _items(named: str) -> list[int]:
    return [item.number for domain in level1().domains for item in domain.items if named in (item.id, domain.name)]


def _corrected(report: Report) -> str:
    told = "".join(
        f"<li>{text(one.item_id)}: {one.original} → <b>{one.score}</b>, {text(one.corrected_by)}: "
        f'<span class="text">{text(one.reason)}</span></li>'
        for one in report.corrections
    )
    return f"<p><b>Scores that were corrected by hand</b></p><ul>{told}</ul>"


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
    client = ClientLabels(workbench().database).of([report.session_id]).get(report.session_id)
    with st.container(horizontal=True, key="take-away"):
        offer_copy(as_markdown(report, client), key="copy", help="The whole report as Markdown, to the clipboard")
        for form in FORMATS:
            st.download_button(
                names[form],
                partial(_file, report, form, client),
                file_name=f"report-{report.session_id}-{report.revision}.{form}",
                mime=_MIME[form],
                icon=":material/download:",
                key=f"download-{form}",
                on_click="ignore",
            )


def _file(report: Report, form: str, client: str | None) -> bytes:
    with _setting:
        return exported(report, form, client)
