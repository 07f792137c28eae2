"""`crosscut replay-answers`: many interviews from a file, in processes, resumable whatever happens."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from benchmark.answer_files import Prepared, Unusable, open_results, read_prepared
from benchmark.batch import hold_interviews
from errors import InputError, ServiceError
from graph.conversation import MOST_REPLIES_AN_ITEM, converse, ending
from graph.runtime import InterviewRuntime
from graph.transcripts import NOTHING_TO_ADD, AnswerScript, load_answers
from instruments.disorders import disorders
from settings import Settings
from storage.audit import Audit
from storage.database import Database
from storage.notices import Notices
from tests.product import environment, run_cli
from tests.support import wait_until
from tests.tables import rows_naming

CLEAR = {str(item): ["Several days."] for item in range(1, 24)}
VAGUE = "My brother visited from Leeds."
DANGER = "I am going to kill myself tonight."


def _line(identifier: str | int, **changed: list[str]) -> str:
    return json.dumps({"id": identifier, "answers": {**CLEAR, **{k.removeprefix("i"): v for k, v in changed.items()}}})


def _prepared(identifier: str | int) -> Prepared:
    return Prepared(identifier, AnswerScript(answers={int(k): v for k, v in CLEAR.items()}))


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def replayed(tmp_path: Path, database_url: str, settings: Settings) -> Callable[..., list[dict[str, Any]]]:
    """The command on lines, and the rows that are then in the file."""

    def run(*lines: str, options: tuple[str, ...] = ()) -> list[dict[str, Any]]:
        (tmp_path / "in.jsonl").write_text("\n".join(lines) + "\n")
        words = ("replay-answers", str(tmp_path / "in.jsonl"), str(tmp_path / "out.jsonl"), *options)
        done = run_cli(settings.crosscut_home, *words, DATABASE_URL=database_url)
        assert done.returncode == 0, done.stderr
        assert done.stdout == ""
        return _rows(tmp_path / "out.jsonl")

    return run


# ---- the whole command ----


def test_each_line_gets_a_row_and_a_bad_one_an_error_and_nothing_else_is_left(
    replayed: Callable[..., list[dict[str, Any]]], database: Database
) -> None:
    unanswered = json.dumps({"id": "unanswered", "answers": {"1": ["Several days."]}})
    lines = [
        _line("clear"),
        _line(7, i3=["9 days"], i5=[VAGUE, "9 days"], i6=[VAGUE]),
        _line("stops", i4=[DANGER]),
        unanswered,
        '{"id": "wrong", "answers": {"1": "a plain heron"}}',
        "no JSON at all",
        _line("clear", i1=["Never."]),
    ]
    written = replayed(*lines, options=("--jobs", "2"))
    (repeated,) = [row for row in written if row.get("error", "").startswith("line 7 has the id of line 1 again")]
    assert repeated["id"] == "clear"
    rows = {row["id"]: row for row in written if row is not repeated}
    assert rows.keys() == {"clear", 7, "stops", "unanswered", "wrong", None}
    assert len(written) == len(lines)

    seven = rows[7]
    assert seven.keys() == {"id", "profile", "diagnoses", "seconds"}
    assert seven["profile"]["sessionStatus"] == "completed"
    confidences = [one["confidence"] for one in seven["diagnoses"]]
    assert confidences, "the impressions of a completed interview"
    assert confidences == sorted(confidences, reverse=True)
    assert {one["name"] for one in seven["diagnoses"]} <= {disorder.name for disorder in disorders().disorders}
    assert seven["seconds"] > 0
    scores = {r["itemId"]: r["score"] for r in seven["profile"]["itemResponses"]}
    assert (len(scores), scores["L1-03"], scores["L1-05"], scores["L1-08"]) == (23, 3, 3, 2)
    said = [line["text"] for line in seven["profile"]["transcript"] if line["role"] == "patient"]
    assert NOTHING_TO_ADD in said, "the missing answer to a follow-up"
    stopped = rows["stops"]["profile"]
    assert (stopped["sessionStatus"], len(stopped["itemResponses"])) == ("terminated_for_safety", 3)
    assert rows["stops"]["diagnoses"] == []
    assert rows["unanswered"]["error"] == "the answers have none for item 2"
    assert "heron" not in rows["wrong"]["error"], "an error repeats nothing that was said"
    assert rows[None]["line"] == 6
    assert rows[None]["error"].startswith("line 6: JSON")

    assert database.one("SELECT count(*) FROM sessions") == {"count": 0}
    left = rows_naming(database, "")
    assert not left.keys() & {"turns", "notices", "checkpoints", "checkpoint_blobs", "checkpoint_writes"}
    rows_checked, broken = Audit(database).verify()
    assert rows_checked > 50
    assert broken == []
    assert rows_naming(database, "weather") == {}


def test_the_same_command_again_does_what_is_left_and_mends_a_torn_line(
    replayed: Callable[..., list[dict[str, Any]]], runtime: InterviewRuntime, database: Database, tmp_path: Path
) -> None:
    out = tmp_path / "out.jsonl"
    done = {"id": "a", "error": "done before"}
    out.write_text(json.dumps(done) + "\n" + '{"id": "b", "profile": {"sess')
    rows = replayed(_line("a"), _line("b"), _line("c", i2=[DANGER]), options=("--jobs", "1", "--keep"))
    assert rows[0] == done
    assert [row["id"] for row in rows] == ["a", "b", "c"]
    assert all("profile" in row for row in rows[1:])
    kept = runtime.sessions.newest(origins=["batch"])
    assert {session.status for session in kept} == {"completed", "terminated_for_safety"}
    assert {session.expires_at for session in kept} == {None}
    assert runtime.sessions.newest() == []
    assert Notices(database).unacknowledged() == [], "prepared answers call nobody"


SHARED_IDS = ('{"id": "b"}', _line("a"), _line("a", i1=["Never."]), _line("b"), "no JSON", '{"id": "c", "answers": 1}')


def test_an_interview_is_held_though_error_rows_of_its_id_were_all_that_a_broken_off_run_left(
    replayed: Callable[..., list[dict[str, Any]]], tmp_path: Path
) -> None:
    source = tmp_path / "lines.jsonl"
    source.write_text("\n".join(SHARED_IDS))
    bad = [entry.to_json_dict() for entry in read_prepared(source) if isinstance(entry, Unusable)]
    (tmp_path / "out.jsonl").write_text("".join(json.dumps(row) + "\n" for row in bad))
    rows = replayed(*SHARED_IDS, options=("--jobs", "1"))
    assert rows[: len(bad)] == bad
    assert [(row["id"], "profile" in row) for row in rows[len(bad) :]] == [("a", True), ("b", True)]
    assert replayed(*SHARED_IDS) == rows, "nothing is left"


def test_a_killed_run_is_taken_up_again_and_its_processes_leave(
    tmp_path: Path, database_url: str, settings: Settings, database: Database
) -> None:
    source, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text("".join(_line(n) + "\n" for n in range(5)))
    command = [sys.executable, "-m", "cli", "replay-answers", str(source), str(out), "--jobs", "2"]
    running = subprocess.Popen(
        command,
        env=environment(settings.crosscut_home, DATABASE_URL=database_url),
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    with running:
        wait_until(lambda: out.exists() and out.read_bytes().count(b"\n") >= 2, 90)
        children = psutil.Process(running.pid).children(recursive=True)
        os.kill(running.pid, signal.SIGKILL)
    assert psutil.wait_procs(children, timeout=60)[1] == [], "they read the end of their pipes"
    assert database.one("SELECT count(*) FROM sessions") == {"count": 0}, "and clear their desks"
    again = run_cli(settings.crosscut_home, *command[3:], DATABASE_URL=database_url)
    assert again.returncode == 0, again.stderr
    assert sorted(row["id"] for row in _rows(out)) == list(range(5))
    assert all("profile" in row for row in _rows(out))
    assert "were there already" in again.stderr


# ---- the processes ----


def test_a_process_that_dies_costs_the_line_it_was_working_on(settings: Settings, database_url: str) -> None:
    mine = Settings(_env_file=None, crosscut_home=settings.crosscut_home, database_url=database_url)
    lines = [_prepared(n) for n in range(3)]
    rows = hold_interviews(mine, lines, jobs=1, keep=False)
    assert "profile" in next(rows)
    (child,) = multiprocessing.active_children()
    child.kill()
    found = list(rows)
    assert [row["id"] for row in found] == [1, 2]
    assert found[0]["error"] == "the process working on it ended with status -9"
    assert "profile" in found[1]


def test_a_database_that_fails_ends_the_run_and_marks_nothing_as_done(
    settings: Settings, database_url: str, database: Database
) -> None:
    mine = Settings(_env_file=None, crosscut_home=settings.crosscut_home, database_url=database_url)
    lines = [_prepared(n) for n in range(3)]
    rows = hold_interviews(mine, lines, jobs=1, keep=False)
    assert "profile" in next(rows)
    database.run("ALTER TABLE turns RENAME TO turns_gone")
    try:
        with pytest.raises(ServiceError, match="the same command goes on from there"):
            list(rows)
    finally:
        database.run("ALTER TABLE turns_gone RENAME TO turns")


# ---- the files ----


def test_every_line_is_read_whatever_it_is(tmp_path: Path) -> None:
    file = tmp_path / "in.jsonl"
    file.write_bytes(_line("a").encode() + b'\n\n[1]\n\xff\n{"id": true, "answers": {}}\n' + _line("a").encode())
    read = read_prepared(file)
    assert [type(entry) for entry in read] == [Prepared, Unusable, Unusable, Unusable, Unusable]
    assert [entry.id for entry in read] == ["a", None, None, None, "a"]
    assert [entry.line for entry in read if isinstance(entry, Unusable)] == [3, 4, 5, 6]
    with pytest.raises(InputError, match="cannot read"):
        read_prepared(tmp_path / "none.jsonl")


@pytest.mark.parametrize("torn", [b'{"id": 1, "prof', b"{", b'{"id": 2, "error": "x"'])
def test_a_torn_last_line_is_removed(tmp_path: Path, torn: bytes) -> None:
    file = tmp_path / "out.jsonl"
    file.write_bytes(b'{"id": 0, "error": "x"}\n' + torn)
    with open_results(file) as results:
        assert _prepared(0) in results
        assert _prepared(1) not in results
        results.write({"id": 3, "error": "a lone \ud800 surrogate"})
    assert [row["id"] for row in _rows(file)] == [0, 3]


def test_a_last_line_that_lacks_nothing_but_its_end_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "out.jsonl"
    file.write_bytes(b'{"id": 0, "error": "x"}')
    with open_results(file) as results:
        results.write({"id": 1, "error": "y"})
    assert [row["id"] for row in _rows(file)] == [0, 1]


def test_a_line_without_an_id_is_known_by_its_place(tmp_path: Path) -> None:
    file = tmp_path / "out.jsonl"
    with open_results(file) as results:
        results.write(Unusable(None, 4, "not JSON").to_json_dict())
    with open_results(file) as results:
        assert Unusable(None, 4, "not JSON") in results
        assert Unusable(None, 5, "not JSON") not in results


def test_wherever_a_run_is_broken_off_the_next_one_writes_exactly_what_is_missing(tmp_path: Path) -> None:
    source, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text("\n".join(SHARED_IDS))
    entries = read_prepared(source)

    def write_what_is_left() -> None:
        with open_results(out) as results:
            for entry in [entry for entry in entries if entry not in results]:
                results.write(entry.to_json_dict() if isinstance(entry, Unusable) else {"id": entry.id, "profile": {}})

    write_what_is_left()
    whole = out.read_bytes()
    rows = sorted(map(json.dumps, _rows(out)))
    assert len(set(rows)) == len(rows) == len(SHARED_IDS)
    for cut in range(len(whole)):
        out.write_bytes(whole[:cut])
        write_what_is_left()
        assert sorted(map(json.dumps, _rows(out))) == rows


def test_a_file_of_something_else_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("shopping list\nmilk\n")
    with pytest.raises(InputError, match=r"line 1 of .* is not a result"), open_results(file):
        pass
    assert file.read_text() == "shopping list\nmilk\n"
    with pytest.raises(InputError, match="cannot write"), open_results(tmp_path / "no" / "folder"):
        pass


def test_two_runs_cannot_write_one_file(tmp_path: Path) -> None:
    with open_results(tmp_path / "out.jsonl"), pytest.raises(InputError, match="another process is writing"):
        open_results(tmp_path / "out.jsonl").__enter__()


def test_answers_that_never_get_any_further_are_an_error(runtime: InterviewRuntime) -> None:
    view = runtime.start()
    stuck = ending(lambda _: "Can we stop for today, please?")
    with pytest.raises(InputError, match=f"item 1 is still open after {MOST_REPLIES_AN_ITEM} replies"):
        converse(runtime, view, stuck)


# ---- a file of answers for one interview ----


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        ({"1": ["no"], "99": ["x"]}, "99 is not an item from 1 to 23"),
        ({"0": ["no"]}, "0 is not an item from 1 to 23"),
        ({"1": ["no"], "3": ["no"]}, "none for item 2"),
        ({**CLEAR, "7": []}, "none for item 7"),
    ],
)
def test_a_file_with_other_items_than_the_forms_is_refused_before_a_session_begins(
    tmp_path: Path, answers: dict[str, list[str]], told: str
) -> None:
    file = tmp_path / "answers.json"
    file.write_text(json.dumps(answers), "utf-8")
    with pytest.raises(InputError, match=told):
        load_answers(file)


def test_a_file_may_end_where_the_interview_is_stopped_for_safety(tmp_path: Path) -> None:
    file = tmp_path / "answers.json"
    file.write_text(json.dumps({"1": ["no"], "2": [DANGER]}), "utf-8")
    assert sorted(load_answers(file).answers) == [1, 2]
