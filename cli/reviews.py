"""What a therapist or reviewer says of a session: corrections of scores, labels of turns."""

from __future__ import annotations

import getpass
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from cli.base import app, console, print_plain, workbench
from errors import InputError

if TYPE_CHECKING:
    from storage.labels import Label

By = Annotated[str | None, typer.Option(help="your name; else that of your account")]


@app.command()
def correct(
    session: Annotated[str, typer.Argument(help="a session that was not stopped")],
    item: Annotated[str, typer.Argument(help="its number or id, such as 3 or L1-03")],
    score: Annotated[int, typer.Argument(help="0 to 4")],
    reason: Annotated[str, typer.Option(help="why; kept encrypted, and shown with the correction")],
    by: By = None,
) -> None:
    """Correct an item's score and write the report anew; what was scored stays on record."""
    with workbench() as bench:
        report = bench.runtime.reports.correct(session, _item(item), score, reason, by or getpass.getuser())
    if report is None:
        print_plain("Corrected. The report, written when the interview is over, will have it.")
    else:
        print_plain(f"Corrected. Revision {report.revision} of the report has it, with the original beside it.")


@app.command()
def label(
    session: str,
    turn: Annotated[int, typer.Argument(help="the number of the patient's message")],
    what: Annotated[str, typer.Argument(help="'false stop', 'missed' or 'wrong score'")],
    note: Annotated[str, typer.Option(help="kept encrypted")] = "",
    remove: Annotated[bool, typer.Option("--remove", help="take your label back")] = False,
    by: By = None,
) -> None:
    """Label a turn as a reviewer; also one of a session that was stopped."""
    from storage.labels import Labels

    with workbench() as bench:
        labels, name = Labels(bench.database), by or getpass.getuser()
        if not remove:
            labels.add(session, turn, what, name, note)
        elif not labels.remove(session, turn, what, name):
            raise InputError(f"turn {turn} has no label {what!r} by {name}.")
    print_plain("Label taken back." if remove else f"Turn {turn} is labelled {what!r}.")


@app.command()
def labels(
    session: Annotated[str | None, typer.Argument(help="one session; else all")] = None,
    export: Annotated[bool, typer.Option("--export", help="print JSON lines")] = False,
) -> None:
    """List the labels that reviewers gave."""
    from storage.labels import Labels

    with workbench() as bench:
        found = Labels(bench.database).all_of(session)
    if export:
        for one in found:
            typer.echo(_line(one))
        return
    table = Table("session", "turn", "label", "by", "note")
    for one in found:
        table.add_row(*map(Text, (one.session_id, str(one.turn), one.label, one.labelled_by, one.note)))
    console.print(table)


def _line(one: Label) -> str:
    values = {**asdict(one), "labelled_at": one.labelled_at.isoformat(timespec="seconds")}
    return json.dumps(values, ensure_ascii=False)


def _item(value: str) -> int:
    number = value.upper().removeprefix("L1-")
    if not number.isdecimal():
        raise InputError(f"{value!r} is not an item: give its number or id, such as 3 or L1-03.")
    return int(number)
