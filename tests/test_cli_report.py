"""`crosscut report`: a session's report to standard output or to a file, in three formats."""

from __future__ import annotations

import io
import json
from functools import partial
from pathlib import Path
from typing import Any

import pymupdf
import pytest

from cli.reports import report
from errors import InputError, NotFoundError
from graph.conversation import converse, scripted
from graph.exports import exported
from graph.runtime import InterviewRuntime
from graph.transcripts import AnswerScript
from instruments.profile import PatientProfile
from settings import Settings
from storage.clients import ClientLabels
from storage.database import Database
from tests.answers import answer_until
from tests.command import Crosscut, crosscut_command
from tests.screenings import LOW

_MUPDF: Any = pymupdf  # untyped, for the most part
ANSWERS = {item: [LOW[item][1]] if item in LOW else ["Not at all."] for item in range(1, 24)}


@pytest.fixture
def crosscut(settings: Settings, database_url: str, monkeypatch: pytest.MonkeyPatch) -> Crosscut:
    monkeypatch.setenv("CROSSCUT_HOME", str(settings.crosscut_home))
    monkeypatch.setenv("DATABASE_URL", database_url)

    return partial(crosscut_command, "report")


@pytest.fixture
def session(runtime: InterviewRuntime) -> str:
    return converse(runtime, runtime.start(), scripted(AnswerScript(answers=ANSWERS))).session_id


def test_a_report_in_each_format_mode_and_revision(
    crosscut: Crosscut, runtime: InterviewRuntime, database: Database, session: str, tmp_path: Path
) -> None:
    markdown = crosscut(session).stdout_bytes
    first = runtime.reports.newest(session)
    assert markdown == exported(first, "md")
    assert "## Provisional Impressions" in markdown.decode()

    ClientLabels(database).put(session, None, "C-017")
    assert crosscut(session).stdout_bytes == exported(first, "md", "C-017")

    content = json.loads(crosscut(session, "--format", "json").stdout_bytes)
    assert content["client"] == "C-017"
    assert PatientProfile.model_validate(content["profile"]) == first.profile
    assert content["report"]["revision"] == 1

    file = tmp_path / "report.pdf"
    told = crosscut(session, "--format", "pdf", "--out", str(file)).stdout
    assert f"{file}: revision 1, {file.stat().st_size:,} bytes." in told
    with _MUPDF.open(file) as pdf:
        assert "Screening report" in pdf[0].get_text()
    assert crosscut(session, "--format", "pdf").stdout_bytes.startswith(b"%PDF-")
    assert len(runtime.reports.revisions(session)) == 1, "nothing was written anew"

    screening = crosscut(session, "--mode", "screening").stdout
    assert "domains only, no impressions" in screening
    assert "revision 2" in screening
    assert "revision 2" in crosscut(session, "--mode", "screening").stdout
    assert "revision 2" in crosscut(session).stdout, "the newest"
    assert "revision 1" in crosscut(session, "--mode", "diagnostic").stdout
    again = tmp_path / "again.md"
    crosscut(session, "--mode", "diagnostic", "--again", "--out", str(again))
    assert "revision 3" in again.read_text()
    assert [one.mode for one in runtime.reports.revisions(session)] == ["diagnostic", "screening", "diagnostic"]

    missing = tmp_path / "nowhere" / "report.md"
    failed = crosscut(session, "--out", str(missing), fails=InputError)
    assert str(failed.exception) == f"cannot write to '{missing}': No such file or directory."

    runtime.stop(session)
    assert "stopped for safety after this report was written" in crosscut(session).stdout
    refused = crosscut(session, "--again", fails=InputError)
    assert "no report is written for it" in str(refused.exception)


def test_what_a_killed_process_left_is_finished_first(crosscut: Crosscut, runtime: InterviewRuntime) -> None:
    view = answer_until(runtime, runtime.start(), 23, "Not at all.")
    runtime.turns.add(view.session_id, 23, "m23", "Not at all.")
    assert "revision 1" in crosscut(view.session_id).stdout


def test_what_cannot_be_had_is_one_clear_message_and_writes_nothing(
    crosscut: Crosscut, runtime: InterviewRuntime
) -> None:
    session = runtime.start().session_id
    messages = {
        "there is no session 'nobody'": crosscut("nobody", fails=NotFoundError),
        "not finished (0 of 23 items)": crosscut(session, fails=InputError),
        "md, json, pdf, not as 'docx'": crosscut(session, "--format", "docx", fails=InputError),
        "--mode 'deep' is not one of": crosscut(session, "--mode", "deep", fails=InputError),
    }
    for message, result in messages.items():
        assert message in str(result.exception)
        assert result.stdout == ""
    assert runtime.reports.revisions(session) == []


def test_a_pdf_does_not_go_to_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stdout", Terminal())
    with pytest.raises(InputError, match=r"give --out FILE\.pdf"):
        report("any", form="pdf")
