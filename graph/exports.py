"""A report as a file: Markdown, JSON with the profile, or a PDF."""

from __future__ import annotations

import json
from typing import Literal, get_args

from agents.report.domains import domain_rows
from agents.report.pdf import Front, report_pdf
from agents.report.tags import escaped
from errors import InputError
from graph.reporting import Report
from instruments.level1 import level1
from instruments.tools import ILLUSTRATIVE

Format = Literal["md", "json", "pdf"]
FORMATS: tuple[Format, ...] = get_args(Format)
_TITLE = "Screening report"
_FOOT = "Screening only, not a diagnosis. Confidential."
_STOPPED = "This session was stopped for safety after this report was written."


def format_of(value: str) -> Format:
    if value not in FORMATS:
        raise InputError(f"a report can be had as {', '.join(FORMATS)}, not as {value!r}.")
    return value


def exported(report: Report, form: str, client: str | None = None) -> bytes:
    """`client` is the therapist's own label of the person, so that a file tells whose it is."""
    match format_of(form):
        case "md":
            return as_markdown(report, client).encode()
        case "json":
            return as_json(report, client).encode()
        case "pdf":
            return as_pdf(report, client)


def as_markdown(report: Report, client: str | None = None) -> str:
    lines = "\n".join(f"- {escaped(line)}" for line in _lines(report, client))
    notices = "".join(f"\n> **{escaped(notice)}**\n" for notice in _notices(report))
    return f"# {_TITLE}\n\n{lines}\n{notices}\n{report.markdown}"


def as_json(report: Report, client: str | None = None) -> str:
    content = report.to_json_dict()
    told = {"client": client} if client else {}
    parts = {**told, "profile": content.pop("profile"), "report": content}
    return json.dumps(parts, indent=2, ensure_ascii=False) + "\n"


def as_pdf(report: Report, client: str | None = None) -> bytes:
    front = Front(_TITLE, tuple(_lines(report, client)), tuple(_notices(report)), _FOOT)
    return report_pdf(front, report.sections, domain_rows(report.profile))


def _lines(report: Report, client: str | None) -> list[str]:
    written = f"{report.written_at:%-d %B %Y, %H:%M} UTC" if report.written_at else "now"
    lines = [level1().title, *([f"Client: {client}"] if client else [])]
    lines.append(f"Session {report.session_id}, revision {report.revision}, written {written}")
    lines.append(f"Mode: {report.mode}")
    if report.profile.session_meta.synthetic_persona_id:
        lines.append(f"Synthetic patient: {report.profile.session_meta.synthetic_persona_id}")
    return lines


def _notices(report: Report) -> list[str]:
    notices = [_STOPPED] if report.stopped else []
    if any(passage.is_illustrative for passage in report.passages):
        notices.append(f"Passages are cited from the {ILLUSTRATIVE}.")
    return notices
