"""Runs the measurements that are named, or all, one after the other, in homes that are removed afterwards.

Ends with 1 where a turn with models, its prompts or a second batch worker missed an aim.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from rich.console import Console

from graph.assembly import prepare_database
from storage.crypto import load_vault
from storage.database import Database
from storage.embedded import services
from tests.support import temporary_home
from tools.bench import batch, models, pages, retrieval, risk, turns
from tools.bench.aims import Aim, missed
from tools.bench.offline import offline


def main(*names: str) -> int:
    parts: dict[str, Callable[[Console], list[Aim] | None]] = {
        "risk": _risk,
        "turns": _turns,
        "batch": _batch,
        "pages": _pages,
    }
    if unknown := set(names) - parts.keys():
        print(f"There is no {', '.join(sorted(unknown))}: name some of {', '.join(parts)}.", file=sys.stderr)  # noqa: T201
        return 2
    console = Console(width=120)  # as wide in a log as on a screen
    aims = [aim for name in names or parts for aim in parts[name](console) or ()]
    return 1 if missed(console, aims) else 0


def _risk(console: Console) -> None:
    risk.show(console, risk.measure())


def _turns(console: Console) -> list[Aim]:
    """With what turns are made of: models and passages."""
    with temporary_home() as home:
        settings = offline(home)
        with services(settings, redis=False) as found:
            vault = load_vault(settings)
            prepare_database(found.database_url, vault)
            with Database(found.database_url, vault) as database:
                turns.show(console, turns.measure(settings, database))
                aims = models.show(console, models.measure(home, database))
                retrieval.show(console, retrieval.measure(settings, database))
    return aims


def _batch(console: Console) -> list[Aim]:
    with temporary_home() as home:
        return batch.show(console, batch.measure(home))


def _pages(console: Console) -> list[Aim]:
    return pages.show(console, pages.measure())


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
