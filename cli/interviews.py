"""Interviews: one in the terminal, or many from a file of answers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from cli.base import app, console, print_json, workbench
from errors import CrosscutError, InputError, StaleTurn, StorageError, UnrecordedStop
from settings import load_settings

if TYPE_CHECKING:
    from graph.assembly import Workbench
    from graph.conversation import Refused, Reply
    from graph.runtime import InterviewRuntime
    from graph.view import View
    from storage.sessions import DiagnosticMode

log = logging.getLogger("crosscut.interview")


@app.command()
def interview(
    persona: Annotated[str | None, typer.Option(help="let this synthetic patient answer")] = None,
    answers: Annotated[Path | None, typer.Option(help="JSON file with answers by item number")] = None,
    session: Annotated[str | None, typer.Option(help="take up this session again")] = None,
    mode: Annotated[str, typer.Option(help="screening, categorical or diagnostic")] = "diagnostic",
    model: Annotated[str | None, typer.Option(help="model that words questions and scores, or 'rules'")] = None,
    patient: Annotated[str | None, typer.Option(help="model that plays the persona, or 'rules': its script")] = None,
    seed: Annotated[int | None, typer.Option(help="fixes the choice of wordings")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print the final PatientProfile")] = False,
) -> None:
    """Conduct the interview in the terminal, or let a file or a synthetic patient answer."""
    from graph.conversation import converse

    if persona and answers:
        raise InputError("--persona and --answers both say who answers: give one of them.")
    if patient and not persona:
        raise InputError("--patient says who plays a persona: name one with --persona.")
    if session and (persona or seed is not None):
        raise InputError("--persona and --seed are for a new interview: what --session names has its own.")
    answering = _answering(persona, answers, seed)
    with workbench(**_driven_by(model), **({"model_patient": patient} if patient else {})) as bench:
        runtime = bench.runtime
        reply = answering(bench) if answering else None
        # With --json the conversation goes to stderr, so that stdout is the profile and nothing else.
        talk = Console(stderr=as_json, quiet=as_json and reply is not None)
        with ExitStack() as around:
            if reply is None:
                around.enter_context(_logged_apart(bench.settings.crosscut_home))
            around.enter_context(_script_shown(talk, to_a_person=reply is None))
            view = runtime.view(session) if session else runtime.start(mode=mode_of(mode), persona=persona, seed=seed)
            view = converse(runtime, view, reply, _printer(talk, True)) if reply else _talk(runtime, view, talk)
    is_stopped = view.profile.session_status == "terminated_for_safety"
    if as_json:
        print_json(view.profile.to_json_dict())
    elif view.profile.item_responses and not (is_stopped and reply is None):  # a patient sees nothing after the script
        _print_scores(view)


@app.command("replay-answers")
def replay_answers(
    source: Annotated[Path, typer.Argument(metavar="IN.jsonl", help='lines {"id", "answers": {"1": […], …}}')],
    results: Annotated[Path, typer.Argument(metavar="OUT.jsonl", help="results; what is in it already is skipped")],
    jobs: Annotated[int | None, typer.Option(min=1, max=64, help="processes; by default one a core")] = None,
    keep: Annotated[bool, typer.Option("--keep", help="keep the sessions; by default they are deleted")] = False,
) -> None:
    """Hold an interview for each line of answers and write its profile; the same command again goes on."""
    from benchmark.answer_files import Prepared, Unusable, open_results, read_prepared
    from benchmark.batch import cores, hold_interviews

    entries = read_prepared(source)
    settings = load_settings()
    with open_results(results) as out:
        left = [entry for entry in entries if entry not in out]
        failed = [entry for entry in left if isinstance(entry, Unusable)]
        for entry in failed:
            out.write(entry.to_json_dict())
        lines = [entry for entry in left if isinstance(entry, Prepared)]
        errors = len(failed)
        if lines:
            with _progress() as bar:
                task = bar.add_task(
                    "interviews", total=len(entries), completed=len(entries) - len(lines), errors=errors
                )
                for row in hold_interviews(settings, lines, jobs=min(jobs or cores(), len(lines)), keep=keep):
                    out.write(row)
                    errors += "error" in row
                    bar.update(task, advance=1, errors=errors)
    _tell(f"{len(left)} written to {results}, {errors} of them errors; {len(entries) - len(left)} were there already.")


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        errors = f", {task.fields['errors']} errors" if task.fields["errors"] else ""
        return Text(f"{speed:.1f} a second{errors}" if speed else "")


def _progress() -> Progress:
    return Progress(BarColumn(), MofNCompleteColumn(), _Rate(), TimeRemainingColumn(), console=Console(stderr=True))


def _tell(text: str) -> None:
    Console(stderr=True).print(text, markup=False, highlight=False, soft_wrap=True)


def mode_of(value: str) -> DiagnosticMode:
    if value not in ("screening", "categorical", "diagnostic"):
        raise InputError(f"--mode {value!r} is not one of screening, categorical, diagnostic")
    return value  # type: ignore[return-value]


def _driven_by(model: str | None) -> dict[str, Any]:
    return {"model_interviewer": model, "model_scorer": model} if model else {}


def _answering(persona: str | None, answers: Path | None, seed: int | None) -> Callable[[Workbench], Reply] | None:
    """Who answers by themselves, once there is a workbench; what cannot be used is said before that."""
    if persona:
        from benchmark.acting import actor_of, recording, reply_of
        from benchmark.personas import persona as find_persona
        from benchmark.simulator import SimulatedPatient

        script = SimulatedPatient(find_persona(persona), seed or 0)
        return lambda bench: reply_of(script, actor_of(bench.settings), recording(bench.runtime))
    if answers:
        from graph.conversation import scripted
        from graph.transcripts import load_answers

        given = scripted(load_answers(answers))
        return lambda _: given
    return None


@contextmanager
def _logged_apart(home: Path) -> Iterator[None]:
    """The screen is the patient's while one talks: what is logged meanwhile goes to a file."""
    (home / "logs").mkdir(mode=0o700, parents=True, exist_ok=True)
    handler = logging.FileHandler(home / "logs" / "interview.log", delay=True)
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)
        handler.close()


@contextmanager
def _script_shown(talk: Console, *, to_a_person: bool) -> Iterator[None]:
    """A stop that the database cannot take yet shows its script at once, and to a person nothing else."""
    try:
        yield
    except UnrecordedStop as stop:
        _say(talk, stop.script)
        if not to_a_person:
            raise
        raise typer.Exit(1) from None


def _talk(runtime: InterviewRuntime, view: View, talk: Console) -> View:
    """With a person at the terminal, who has the help line in view from the start."""
    from graph.conversation import converse

    if view.open:
        _say(talk, runtime.words(view.session_id).help_line)
    return converse(runtime, view, _typed(talk, view.session_id), _printer(talk, False), _not_taken(runtime, talk))


def _not_taken(runtime: InterviewRuntime, talk: Console) -> Refused:
    """What could not be saved is asked for again; what was saved all the same has a next question."""

    def told(view: View, error: Exception) -> View:
        if isinstance(error, StaleTurn):
            return runtime.view(view.session_id)
        if isinstance(error, CrosscutError) and not isinstance(error, StorageError):
            raise error
        log.error("a message was not taken: %s", type(error).__name__)
        _say(talk, runtime.words(view.session_id).not_saved)
        return view

    return told


def _say(talk: Console, text: str) -> None:
    """As it is written, letter for letter: the terminal breaks the lines."""
    talk.print(f"\n{text}", markup=False, highlight=False, soft_wrap=True)


def _printer(talk: Console, echoed: bool) -> Callable[[View], None]:
    """Prints what is new; a patient who types has seen their own words already."""
    shown = 0

    def show(view: View) -> None:
        nonlocal shown
        for line in view.lines[shown:]:
            if line.kind == "safety_script":
                _say(talk, line.text)
            elif line.role == "interviewer":
                talk.print(f"\n{line.text}", markup=False, highlight=False)
            elif echoed:
                talk.print(f"\n> {line.text}", markup=False, highlight=False)
        shown = len(view.lines)

    return show


def _typed(talk: Console, session_id: str) -> Reply:
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
