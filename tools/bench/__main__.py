"""Runs all measurements, one after the other, on one embedded database in a home that is removed afterwards."""

from __future__ import annotations

import sys

from rich.console import Console

from graph.assembly import prepare_database
from storage.crypto import load_vault
from storage.database import Database
from storage.embedded import services
from tests.support import temporary_home
from tools.bench import batch, models, pages, retrieval, risk, turns
from tools.bench.offline import offline


def main() -> int:
    console = Console(width=120)  # as wide in a log as on a screen
    risk.show(console, risk.measure())
    with temporary_home() as home:
        settings = offline(home)
        with services(settings, redis=False) as found:
            vault = load_vault(settings)
            prepare_database(found.database_url, vault)
            with Database(found.database_url, vault) as database:
                turns.show(console, turns.measure(settings, database))
                models.show(console, models.measure(home, database))
                retrieval.show(console, retrieval.measure(settings, database))
    with temporary_home() as home:
        batch.show(console, batch.measure(home))
    pages.show(console, pages.measure())
    return 0


if __name__ == "__main__":
    sys.exit(main())
