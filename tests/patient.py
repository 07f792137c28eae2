"""A process that takes up a session and answers to its end; crash tests kill it on the way."""

from __future__ import annotations

import sys

from graph.assembly import connected
from settings import load_settings
from storage.crypto import load_vault
from tests.answers import answer_all


def main(database_url: str, session_id: str) -> None:
    settings = load_settings(env_file=None)
    with connected(settings, database_url, load_vault(settings)) as (_, runtime):
        view = runtime.view(session_id)
        number = view.turn
        while view.open:
            view = runtime.submit(session_id, f"Several days, {number}.", expected_turn=view.turn)
            number += 1
        answer_all(runtime, view)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
