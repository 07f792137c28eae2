"""`crosscut` as a user types it, on a home of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.product import ROOT, run_cli
from tests.support import processes_below, temporary_home

DEMO = ROOT / "docs" / "demo-answers.json"


@pytest.fixture(scope="module")
def own_home() -> Iterator[Path]:
    with temporary_home() as home:
        yield home


def test_a_scripted_interview_prints_the_profile_and_leaves_nothing_running(own_home: Path) -> None:
    done = run_cli(own_home, "interview", "--answers", str(DEMO), "--json", "--seed", "7")
    assert done.returncode == 0, done.stderr
    profile = json.loads(done.stdout)
    assert profile["sessionStatus"] == "completed"
    scores = {r["itemId"]: r["score"] for r in profile["itemResponses"]}
    assert len(scores) == 23
    assert (scores["L1-01"], scores["L1-02"], scores["L1-04"], scores["L1-14"]) == (3, 3, 0, 4)
    said = [line["text"] for line in profile["transcript"] if line["role"] == "patient"]
    assert all(any(q in text for text in said) for r in profile["itemResponses"] for q in r["evidenceQuotes"])
    assert processes_below(own_home) == []


def test_the_same_seed_asks_in_the_same_words(own_home: Path) -> None:
    runs = [run_cli(own_home, "interview", "--answers", str(DEMO), "--json", "--seed", "7") for _ in range(2)]
    asked = [[x["text"] for x in json.loads(r.stdout)["transcript"] if x["role"] == "interviewer"] for r in runs]
    assert asked[0] == asked[1]


def test_a_typed_interview_can_be_left_and_taken_up_again(own_home: Path) -> None:
    left = run_cli(own_home, "interview", stdin="Most days\nNot at all\n")
    assert left.returncode == 0, left.stderr
    assert "Left off. Take it up again with: crosscut interview --session " in left.stdout
    session = left.stdout.rsplit("--session", 1)[1].strip()
    again = run_cli(own_home, "interview", "--session", session, "--json", stdin="Never\n" * 21)
    assert json.loads(again.stdout)["itemResponses"][0]["score"] == 3
    listed = run_cli(own_home, "sessions")
    assert "completed" in listed.stdout


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot read"),
        ("{not json", "is not JSON"),
        ('{"1": "a plain string"}', "is not a file of answers"),
        ('{"1": ["Most days"]}', "the answers have none for item 2"),
    ],
)
def test_a_bad_answers_file_is_one_clear_message(
    own_home: Path, tmp_path: Path, content: str | None, message: str
) -> None:
    file = tmp_path / "answers.json"
    if content is not None:
        file.write_text(content)
    refused = run_cli(own_home, "interview", "--answers", str(file))
    assert refused.returncode == 1
    assert message in refused.stderr
    assert "Traceback" not in refused.stderr


def test_an_unknown_session_or_mode_is_one_clear_message(own_home: Path) -> None:
    unknown = run_cli(own_home, "interview", "--session", "nope")
    assert (unknown.returncode, "there is no session 'nope'" in unknown.stderr) == (1, True)
    mode = run_cli(own_home, "interview", "--mode", "certain")
    assert (mode.returncode, "--mode 'certain' is not one of" in mode.stderr) == (1, True)


def test_help_lists_the_commands(own_home: Path) -> None:
    told = run_cli(own_home, "--help")
    assert all(name in told.stdout for name in ("up", "doctor", "interview", "sessions", "worker", "new-key"))
