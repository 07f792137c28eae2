"""Sessions: list them, look back, take another way from a checkpoint, delete them."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from cli.base import AsJson, app, console, print_json, print_plain, workbench
from errors import InputError, NotFoundError

if TYPE_CHECKING:
    from graph.comparison import Change, Comparison
    from graph.replay import Checkpoint, Fork
    from graph.view import View
    from storage.sessions import Session, Sessions

_TIME = "%Y-%m-%d %H:%M:%S"


sessions_app = typer.Typer(invoke_without_command=True)
app.add_typer(sessions_app, name="sessions")


@sessions_app.callback()
def sessions(
    context: typer.Context,
    everything: Annotated[bool, typer.Option("--all", help="also those of kept batches")] = False,
    as_json: AsJson = False,
) -> None:
    """List the sessions, newest first; forks are marked as such."""
    from storage.sessions import Origin

    if context.invoked_subcommand:
        return

    origins: list[Origin] = ["patient", "fork", "batch"] if everything else ["patient", "fork"]
    with workbench() as bench:
        found = bench.runtime.sessions.newest(origins=origins)
    if as_json:
        print_json([_listed(row) for row in found])
        return
    table = Table("session", "kind", "status", "items", "flags", "begun", title="Sessions", title_justify="left")
    for row in found:
        begun = row.created_at.astimezone().strftime("%Y-%m-%d %H:%M")
        table.add_row(row.id, _kind(row), row.status, f"{row.items_completed}/23", ", ".join(row.flags), begun)
    console.print(table)


@sessions_app.command()
def assign(
    to: Annotated[str, typer.Option(metavar="OWNER", help="as that person's page of settings shows it")],
    session: Annotated[list[str] | None, typer.Argument(help="sessions without an owner")] = None,
    nobodys: Annotated[bool, typer.Option("--nobodys", help="all that have no owner")] = False,
) -> None:
    """Give sessions that are nobody's to somebody who signs in: those of the command line or from before the login."""
    from storage.ownership import assign

    if bool(session) == nobodys:
        raise InputError("name the sessions to assign, or give --nobodys for all that have no owner.")
    with workbench() as bench:
        chosen = bench.runtime.sessions.nobodys() if nobodys else session or []
        given = [one for identifier in chosen for one in assign(bench.database, identifier, to)]
    print_plain(f"Assigned {len(given)} session(s), forks included." if given else "There is none without an owner.")


@app.command()
def history(
    session: str,
    at: Annotated[str | None, typer.Option(metavar="CHECKPOINT", help="show the state at this one")] = None,
    diff: Annotated[tuple[str, str] | None, typer.Option(metavar="A B", help="show what changed from A to B")] = None,
    as_json: AsJson = False,
) -> None:
    """List a session's checkpoints, show the state at one, or what changed between two (by number or id)."""
    from graph.replay import Replay

    if at and diff:
        raise InputError("--at shows one checkpoint and --diff compares two: give one of them.")
    with workbench() as bench:
        replay = Replay(bench.database, bench.runtime)
        if diff:
            changes = replay.diff(session, *diff)
            told = "\n".join(changes.readable()) or "Nothing changed."
            print_json(changes.to_json_dict()) if as_json else print_plain(told)
        elif at:
            view = replay.view(session, at)
            print_json(view.profile.to_json_dict()) if as_json else _print_state(view)
        else:
            found = replay.checkpoints(session)
            print_json([entry.to_json_dict() for entry in found]) if as_json else _print_history(session, found)


@app.command()
def fork(
    session: str,
    checkpoint: Annotated[str, typer.Argument(help="number or id from `crosscut history SESSION`")],
    answer: Annotated[str, typer.Option(prompt="Answer", help="what the patient says there instead")],
    as_json: AsJson = False,
) -> None:
    """Copy a session up to a checkpoint, give another answer there, then the original's, and compare the outcomes."""
    from graph.replay import Replay

    with workbench() as bench:
        made = Replay(bench.database, bench.runtime).fork(session, checkpoint, answer)
    print_json(made.to_json_dict()) if as_json else _print_fork(made)


@app.command()
def delete(
    session: str,
    yes: Annotated[bool, typer.Option("--yes", help="do not ask")] = False,
) -> None:
    """Delete a session and its forks for good; only its content-free audit stays."""
    with workbench() as bench:
        if not yes:
            _confirm_deletion(bench.runtime.sessions, session)
        gone = bench.runtime.delete(session)
    print_plain(f"Deleted {', '.join(gone)}. The audit rows stay; `crosscut audit verify` checks them.")


def _confirm_deletion(known: Sessions, session: str) -> None:
    with suppress(NotFoundError):  # the deletion itself will say so
        status, forks = known.get(session).status, known.forks_of(session)
        also = f" and {len(forks)} fork(s) of it" if forks else ""
        typer.confirm(f"Delete session {session} ({status}){also} for good?", abort=True)


def _kind(row: Session) -> str:
    if row.origin == "fork":
        return f"fork of {row.parent_id}"
    if row.origin == "batch":
        return "batch"
    return f"persona {row.persona}" if row.persona else "patient"


def _listed(row: Session) -> dict[str, Any]:
    begun, changed = row.created_at.isoformat(timespec="seconds"), row.updated_at.isoformat(timespec="seconds")
    return {
        "id": row.id,
        "origin": row.origin,
        "persona": row.persona,
        "parentId": row.parent_id,
        "parentCheckpoint": row.parent_checkpoint,
        "status": row.status,
        "mode": row.mode,
        "itemsCompleted": row.items_completed,
        "flags": list(row.flags),
        "createdAt": begun,
        "updatedAt": changed,
    }


def _print_history(session: str, found: list[Checkpoint]) -> None:
    table = Table("#", "node", "item", "score", "time", "checkpoint", title=f"Session {session}", title_justify="left")
    for entry in found:
        item = str(entry.item) if entry.item else ""
        at = entry.at.astimezone().strftime(_TIME)
        table.add_row(str(entry.number), " + ".join(entry.nodes), item, entry.shown_score, at, entry.checkpoint_id)
    console.print(table)


def _print_state(view: View) -> None:
    from graph.comparison import shown

    profile = view.profile
    flags = [name for name, is_set in profile.risk_flags.to_json_dict().items() if is_set]
    print_plain(f"status {profile.session_status.value}, turn {view.turn}, item {view.item or 'none'}")
    print_plain(f"flags {', '.join(flags) or 'none'}")
    scores = [f"{r.item_id} {shown(r.score, undetermined=r.undetermined)}" for r in profile.item_responses]
    print_plain(f"scores {', '.join(scores) or 'none'}")
    for line in view.lines:
        print_plain(f"{line.turn:>3} {line.role}: {line.text}")


def _print_fork(made: Fork) -> None:
    print_plain(f"Session {made.session_id} is a fork of {made.parent_id} at checkpoint {made.checkpoint_id}.")
    print_plain(f"{made.replayed} later answers of the original were given again, {made.filled_in} filled in.")
    if made.waits_for_item:
        print_plain(f"The original has no answer to item {made.waits_for_item}: the fork waits there.")
    _print_comparison(made.comparison)


def _print_comparison(found: Comparison) -> None:
    table = Table("", "original", "fork", title="Outcome", title_justify="left")
    original, other = found.original.status.value, found.fork.status.value
    table.add_row("status", original, Text(other, style="bold" if original != other else ""))
    for item, scores in found.scores.items():
        table.add_row(item, _shown(scores.before), _shown(scores.after))
    for domain, highest in found.domains.items():
        table.add_row(domain, _shown(highest.before), _shown(highest.after))
    for flag in found.flags_gained:
        table.add_row(f"flag {flag}", "", "set")
    for flag in found.flags_lost:
        table.add_row(f"flag {flag}", "set", "")
    console.print(table)
    same = len(found.original.scores.keys() & found.fork.scores.keys()) - sum(map(_in_both, found.scores.values()))
    print_plain(f"Items scored the same in both: {same}.")


def _shown(value: object) -> str:
    return "not reached" if value is None else str(value)


def _in_both(change: Change[Any]) -> bool:
    return change.before is not None and change.after is not None
