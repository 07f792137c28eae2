"""kill -9 at random moments of an interview: nothing is lost, nothing is scored twice."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from graph.runtime import InterviewRuntime
from instruments.profile import SessionStatus
from tests.product import environment
from tests.support import wait_until

KILLS = 6


@pytest.mark.parametrize("seed", [1, 2])
def test_an_interview_survives_being_killed(
    runtime: InterviewRuntime, home: Path, database_url: str, seed: int
) -> None:
    session = runtime.start().session_id
    chance = random.Random(seed)
    for _ in range(KILLS):
        progress = len(runtime.turns.of_session(session))
        child = _patient(home, database_url, session)
        try:
            _wait_for_turns(runtime, session, progress + chance.randint(1, 3), child)
            # Somewhere inside the turn that follows; the delay is what is random here, not what is waited for.
            child.communicate(timeout=chance.uniform(0.0, 0.05))
        except subprocess.TimeoutExpired:
            pass
        finally:
            child.kill()
            child.communicate()
    done = _patient(home, database_url, session)
    output, _ = done.communicate(timeout=60)
    assert done.returncode == 0, output

    view = runtime.view(session)
    assert view.profile.session_status is SessionStatus.COMPLETED
    assert [r.item_id for r in view.profile.item_responses] == [f"L1-{n:02d}" for n in range(1, 24)]
    assert max(Counter((line.turn, line.role, line.kind) for line in view.lines).values()) == 1
    ledger = runtime.turns.of_session(session)
    answers = [line.text for line in view.lines if line.role == "patient"]
    assert answers == [turn.text for turn in ledger]
    questions = [line.item for line in view.lines if line.kind == "question"]
    assert questions == list(range(1, 24))


def _patient(home: Path, database_url: str, session: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.patient", database_url, session],
        env=environment(home),
        cwd=home.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def _wait_for_turns(runtime: InterviewRuntime, session: str, turns: int, child: subprocess.Popen[bytes]) -> None:
    enough: Callable[[], bool] = lambda: len(runtime.turns.of_session(session)) >= turns  # noqa: E731
    wait_until(lambda: enough() or child.poll() is not None, 60)
