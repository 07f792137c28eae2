"""The `crosscut` command."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Column, Table

from errors import CrosscutError, InputError
from graph.assembly import open_workbench
from graph.runtime import InterviewRuntime, View
from graph.state import Line
from graph.transcripts import AnswerScript, load_answers
from settings import load_settings
from storage.audit import Audit
from storage.crypto import new_key
from storage.sessions import DiagnosticMode

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    help="Structured clinical conversations.",
)
console = Console()
_STATE_STYLE = {"ok": "green", "off": "dim", "broken": "bold red"}


def main() -> None:
    """Run the command; an expected failure is one message on stderr, never a traceback."""
    try:
        app()
    except CrosscutError as error:
        Console(stderr=True).print(f"crosscut: {error}", markup=False, highlight=False, soft_wrap=True)
        sys.exit(1)


@app.command()
def up() -> None:
    """Start everything and keep it running until Ctrl-C (what `make run` does)."""
    from workers.launch import run_everything

    raise typer.Exit(run_everything(load_settings()))


@app.command()
def worker(concurrency: int = 1) -> None:
    """Run a Celery worker (with the scheduler) against this installation's broker and database."""
    from workers.launch import run_worker

    raise typer.Exit(run_worker(load_settings(), concurrency))


@app.command()
def page() -> None:
    """Serve the page alone, for set-ups where something else keeps it running."""
    from workers.launch import run_page

    raise typer.Exit(run_page(load_settings()))


@app.command()
def doctor(as_json: Annotated[bool, typer.Option("--json")] = False) -> None:
    """Show what is found, what runs, and what to do about each problem; exits 1 when something needed is broken."""
    from workers.health import all_checks

    checks = all_checks(load_settings())
    if as_json:
        typer.echo(json.dumps([vars(check) for check in checks], indent=1))
    else:
        columns = [Column(name, overflow="fold") for name in ("what", "state", "found", "what to do")]
        table = Table(*columns, title="Crosscut doctor", title_justify="left")
        for check in checks:
            table.add_row(check.name, f"[{_STATE_STYLE[check.state]}]{check.state}[/]", check.detail, check.fix)
        console.print(table)
    raise typer.Exit(any(check.state == "broken" for check in checks))


@app.command("new-key")
def print_new_key() -> None:
    """Print a fresh encryption key for CROSSCUT_KEY."""
    typer.echo(new_key())


@app.command()
def migrate() -> None:
    """Bring the database to the current schema."""
    with open_workbench(load_settings()) as bench:
        kind = "embedded" if bench.services.embedded_postgres else "external"
        console.print(f"The {kind} database is up to date.")


@app.command()
def interview(
    answers: Annotated[Path | None, typer.Option(help="JSON file with answers by item number")] = None,
    session: Annotated[str | None, typer.Option(help="take up this session again")] = None,
    mode: Annotated[str, typer.Option(help="screening, categorical or diagnostic")] = "diagnostic",
    seed: Annotated[int | None, typer.Option(help="fixes the choice of wordings")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print the final PatientProfile")] = False,
) -> None:
    """Conduct the interview in the terminal, or let the answers of a file be given."""
    script = load_answers(answers) if answers else None
    with open_workbench(load_settings()) as bench:
        runtime = bench.runtime
        view = runtime.view(session) if session else runtime.start(mode=_mode(mode), seed=seed)
        # With --json the conversation goes to stderr, so that stdout is the profile and nothing else.
        talk = Console(stderr=as_json, quiet=as_json and script is not None)
        reply = _scripted(script) if script else _typed(talk, view.session_id)
        view = _converse(runtime, view, reply, talk)
    if as_json:
        typer.echo(json.dumps(view.profile.to_json_dict(), indent=2, ensure_ascii=False))
    elif view.profile.item_responses:
        _print_scores(view)


@app.command()
def risk() -> None:
    """Read JSON lines {"id", "item"?, "text"} on stdin, write what the risk rules say of each."""
    from agents.risk.batch import check_lines

    for line in check_lines(sys.stdin):
        typer.echo(line)


@app.command()
def stop(session: str) -> None:
    """Stop a session for safety by hand; this cannot be undone."""
    with open_workbench(load_settings()) as bench:
        bench.runtime.stop(session)
    console.print(f"Session {session} is stopped. The patient sees the safety script from now on.")


audit_app = typer.Typer(help="The append-only audit of every risk check.", no_args_is_help=True)
app.add_typer(audit_app, name="audit")


@audit_app.command()
def verify() -> None:
    """Check the hash chain of every session; exits 1 when a row was changed, removed or added."""
    with open_workbench(load_settings()) as bench:
        rows, broken = Audit(bench.database).verify()
    for fault in broken:
        console.print(f"session {fault.session_id}, row {fault.seq}: {fault.problem}", markup=False, highlight=False)
    console.print(f"{rows} rows checked, {len(broken)} broken chains.")
    raise typer.Exit(bool(broken))


@audit_app.command()
def show(session: str) -> None:
    """Print a session's audit rows as JSON lines."""
    with open_workbench(load_settings()) as bench:
        for entry in Audit(bench.database).entries(session):
            typer.echo(json.dumps(entry, ensure_ascii=False))


@app.command()
def sessions() -> None:
    """List the sessions."""
    with open_workbench(load_settings()) as bench:
        table = Table("session", "status", "items", "flags", "begun", title="Sessions", title_justify="left")
        for row in bench.runtime.sessions.newest():
            begun = row.created_at.astimezone().strftime("%Y-%m-%d %H:%M")
            table.add_row(row.id, row.status, f"{row.items_completed}/23", ", ".join(row.flags), begun)
        console.print(table)


def _mode(value: str) -> DiagnosticMode:
    if value not in ("screening", "categorical", "diagnostic"):
        raise InputError(f"--mode {value!r} is not one of screening, categorical, diagnostic")
    return value  # type: ignore[return-value]


def _converse(runtime: InterviewRuntime, view: View, reply: Callable[[View], str], talk: Console) -> View:
    shown = 0
    while True:
        shown = _print_lines(talk, view.lines, shown)
        if not view.open:
            return view
        view = runtime.submit(view.session_id, reply(view), expected_turn=view.turn, item=view.item)


def _print_lines(talk: Console, lines: tuple[Line, ...], shown: int) -> int:
    for line in lines[shown:]:
        if line.role == "interviewer":
            talk.print(f"\n{line.text}", markup=False, highlight=False)
    return len(lines)


def _scripted(script: AnswerScript) -> Callable[[View], str]:
    def reply(view: View) -> str:
        return script.answer(view.item, is_follow_up=view.lines[-1].kind == "follow_up")

    return reply


def _typed(talk: Console, session_id: str) -> Callable[[View], str]:
    def reply(_: View) -> str:
        try:
            return talk.input("\n> ")
        except (EOFError, KeyboardInterrupt):
            talk.print(f"\nLeft off. Take it up again with: crosscut interview --session {session_id}")
            raise typer.Exit(0) from None

    return reply


def _print_scores(view: View) -> None:
    table = Table("item", "score", "ambiguity", "quotes", title=f"Session {view.session_id}", title_justify="left")
    for response in view.profile.item_responses:
        quotes = " · ".join(f"“{quote}”" for quote in response.evidence_quotes)
        score = f"not determined (best fit {response.score})" if response.undetermined else str(response.score)
        table.add_row(response.item_id, score, str(response.ambiguity), quotes)
    console.print(table)


if __name__ == "__main__":
    main()
