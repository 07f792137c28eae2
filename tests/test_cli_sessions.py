"""The commands that look at sessions, and interviews that answer themselves; run in the test's own process."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack
from typing import Any

import psycopg
import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

from agents.escalation import escalation
from benchmark.personas import load_personas
from benchmark.replies import simulated
from benchmark.simulator import SimulatedPatient
from cli import app
from errors import InputError, NotFoundError, SettingsError, UnrecordedStop
from graph.assembly import connected
from graph.conversation import converse
from graph.replay import Replay
from graph.runtime import InterviewRuntime
from instruments.profile import PatientProfile, SessionStatus
from settings import Settings
from storage.audit import Audit
from storage.clients import ClientLabels
from storage.crypto import Vault
from storage.database import Database
from tests import gateway as stand_in
from tests.answers import answer_all, answer_until
from tests.attached import gone
from tests.command import Crosscut, crosscut_command
from tests.gateway import Gateway

DANGER = "I am going to kill myself tonight."
SCRIPT = escalation("en-US").script


@pytest.fixture
def crosscut(settings: Settings, database_url: str, monkeypatch: pytest.MonkeyPatch) -> Crosscut:
    monkeypatch.setenv("CROSSCUT_HOME", str(settings.crosscut_home))
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("COLUMNS", "200")

    return crosscut_command


def _json(result: Result) -> Any:
    return json.loads(result.stdout)


# ---- looking back ----


def test_history_lists_shows_and_compares_checkpoints(crosscut: Crosscut, runtime: InterviewRuntime) -> None:
    session = answer_until(runtime, runtime.start(), 4).session_id
    listed = crosscut("history", session).stdout
    assert all(word in listed for word in ("RISK_CHECK", "SCORE_ITEM", "ASK_ITEM", "checkpoint", "score"))
    entries = _json(crosscut("history", session, "--json"))
    assert [entry["number"] for entry in entries] == list(range(1, 13))
    assert entries[4] == {
        "number": 5,
        "checkpointId": entries[4]["checkpointId"],
        "nodes": ["SCORE_ITEM"],
        "turn": 2,
        "item": 1,
        "score": 2,
        "undetermined": False,
        "status": "active",
        "at": entries[4]["at"],
    }
    shown = crosscut("history", session, "--at", entries[5]["checkpointId"]).stdout
    assert "status active, turn 2, item 2" in shown
    assert "scores L1-01 2" in shown
    assert "patient: Several days." in shown
    assert len(_json(crosscut("history", session, "--at", "6", "--json"))["transcript"]) == 4
    compared = crosscut("history", session, "--diff", "6", "9").stdout
    assert "L1-02: none → 2" in compared
    assert "cursor: turn 2, item 2, awaiting answer → turn 3, item 3, awaiting answer" in compared
    typed = _json(crosscut("history", session, "--diff", "6", "9", "--json"))
    assert typed["scores"]["L1-02"]["before"] is None
    assert crosscut("history", session, "--diff", "6", "6").stdout.strip() == "Nothing changed."
    crosscut("history", session, "--at", "99", fails=NotFoundError)
    crosscut("history", "nope", fails=NotFoundError)
    crosscut("history", session, "--at", "1", "--diff", "1", "2", fails=InputError)


def test_a_skipped_item_is_told_as_not_determined(crosscut: Crosscut, runtime: InterviewRuntime) -> None:
    view = runtime.start()
    for turn in (1, 2):
        view = runtime.submit(view.session_id, "skip", expected_turn=turn)
    listed = crosscut("history", view.session_id).stdout
    assert all(word in listed for word in ("not", "determined", "best fit 0"))
    last = str(len(_json(crosscut("history", view.session_id, "--json"))))
    assert "scores L1-01 not determined (best fit 0)" in crosscut("history", view.session_id, "--at", last).stdout
    told = crosscut("fork", view.session_id, "3", "--answer", "Not at all.").stdout
    (domain,) = [line for line in told.splitlines() if "Depression" in line]
    assert "not determined (best fit 0)" in domain


def test_a_fork_prints_how_the_outcomes_compare_and_is_listed_as_one(
    crosscut: Crosscut, runtime: InterviewRuntime
) -> None:
    session = answer_all(runtime, runtime.start()).session_id
    told = crosscut("fork", session, "3", "--answer", "13 days").stdout
    assert f"is a fork of {session} at checkpoint" in told
    assert "22 later answers of the original were given again, 0 filled in." in told
    assert "L1-01" in told
    assert "Items scored the same in both: 22." in told
    told = crosscut("fork", session, "6", "--answer", "I am going to kill myself tonight.").stdout
    assert "terminated_for_safety" in told
    assert runtime.view(session).profile.session_status is SessionStatus.COMPLETED
    made = _json(crosscut("fork", session, "6", "--answer", "Not at all.", "--json"))
    assert made["comparison"]["scores"]["L1-02"]["after"]["score"] == 0
    listed = crosscut("sessions").stdout
    assert listed.count(f"fork of {session}") == 3
    assert "patient" in listed
    rows = {row["id"]: row for row in _json(crosscut("sessions", "--json"))}
    assert (rows[session]["origin"], rows[made["sessionId"]]["parentId"]) == ("patient", session)
    crosscut("fork", session, "99", "--answer", "Never", fails=NotFoundError)
    crosscut("fork", session, rows[made["sessionId"]]["parentCheckpoint"], "--answer", "Never")


def test_sessions_of_batches_are_listed_only_when_asked_for(crosscut: Crosscut, runtime: InterviewRuntime) -> None:
    batch = runtime.start(origin="batch").session_id
    assert batch not in crosscut("sessions").stdout
    assert batch in crosscut("sessions", "--all").stdout


# ---- lines in, lines out ----


def test_answers_on_stdin_are_scored_one_line_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CROSSCUT_HOME", "/nowhere")
    vague = {"id": 2, "item": 2, "question": "Were you down?", "answer": "My brother visited from Leeds."}
    lines = [
        {"id": "a", "item": 14, "question": "Did you sleep badly?", "answer": "9 nights"},
        vague,
        {**vague, "follow_up_question": "On how many days?", "follow_up_answer": "Nearly every day."},
        {"id": "no item"},
    ]
    told = CliRunner().invoke(app, ["score"], input="\n".join(json.dumps(line) for line in lines) + "\n")
    assert told.exit_code == 0, told.exception
    first, second, third, fourth = [json.loads(line) for line in told.stdout.splitlines()]
    assert first.keys() == {"id", "score", "ambiguity", "evidenceQuotes", "confidence", "needsFollowUp", "engine"}
    assert (first["id"], first["score"], first["needsFollowUp"]) == ("a", 3, False)
    assert all(quote in "9 nights" for quote in first["evidenceQuotes"])
    assert second["needsFollowUp"]
    assert (third["score"], third["needsFollowUp"]) == (4, False)
    assert fourth.keys() == {"id", "error"}


# ---- interviews that answer themselves ----


def test_a_persona_answers_in_its_own_voice(crosscut: Crosscut) -> None:
    done = PatientProfile.model_validate(_json(crosscut("interview", "--persona", "steady-nurse", "--json")))
    assert done.session_status is SessionStatus.COMPLETED
    assert done.session_meta.synthetic_persona_id == "steady-nurse"
    persona = load_personas()["steady-nurse"]
    expected = SimulatedPatient(persona, 0).answer(1, is_follow_up=False, question="")
    assert next(line.text for line in done.transcript if line.role == "patient") == expected
    stopped = crosscut("interview", "--persona", "no-way-out").stdout
    assert "> " in stopped, "what the persona says is shown"
    assert "persona no-way-out" in crosscut("sessions").stdout


def test_who_answers_is_one_and_known(crosscut: Crosscut) -> None:
    crosscut("interview", "--persona", "nobody", fails=NotFoundError)
    crosscut("interview", "--persona", "steady-nurse", "--answers", "x.json", fails=InputError)
    crosscut("interview", "--session", "s", "--persona", "steady-nurse", fails=InputError)
    crosscut("interview", "--session", "s", "--seed", "3", fails=InputError)


def test_a_model_given_on_the_command_line_words_and_scores(
    crosscut: Crosscut, gate: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate.default = stand_in.refusal()
    monkeypatch.setenv("GATEWAY_BASE_URL", gate.base_url)
    monkeypatch.setenv("GATEWAY_API_KEY", "k")
    monkeypatch.setenv("MODEL_TRIES", "1")
    profile = _json(crosscut("interview", "--persona", "no-way-out", "--model", "openai/some-model", "--json"))
    assert {request.body["model"] for request in gate.requests} == {"openai/some-model"}
    assert "interviewer=openai/some-model" in profile["sessionMeta"]["modelVersion"]
    assert "risk=rules" in profile["sessionMeta"]["modelVersion"]


def test_a_model_without_a_key_is_one_clear_message(crosscut: Crosscut) -> None:
    failed = crosscut("interview", "--persona", "no-way-out", "--model", "openai/some-model", fails=SettingsError)
    assert "GATEWAY_API_KEY is not set" in str(failed.exception)
    crosscut("interview", "--model", "not a model", fails=SettingsError)


@pytest.mark.parametrize("name", ["no-way-out", "orders"])
def test_a_persona_that_must_be_stopped_is(runtime: InterviewRuntime, name: str) -> None:
    persona = load_personas()[name]
    view = converse(runtime, runtime.start(persona=name), simulated(SimulatedPatient(persona, 3)))
    assert view.profile.session_status is SessionStatus.TERMINATED
    assert view.item == persona.stop_at


# ---- a person at the terminal, and the database gone ----


class _AtTheTerminal:
    """Types its lines; the database is gone while one is sent that stands in `away`."""

    def __init__(self, url: str, *lines: str, away: Collection[str]) -> None:
        self._url, self._lines, self._away = url, list(lines), away
        self._gone = ExitStack()

    def __call__(self, *_: object) -> str:
        self._gone.close()
        if not self._lines:
            raise EOFError
        line = self._lines.pop(0)
        if line in self._away:
            self._gone.enter_context(gone(self._url))
        return line


@pytest.fixture
def types(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    with ExitStack() as left:

        def typed(*lines: str, away: Collection[str] = ()) -> None:
            left.close()
            person = _AtTheTerminal(database_url, *lines, away=away)
            left.callback(person._gone.close)
            monkeypatch.setattr(Console, "input", person)

        yield typed


def test_the_help_line_is_in_view_from_the_start(crosscut: Crosscut, types: Callable[..., None]) -> None:
    types()
    told = crosscut("interview").stdout
    assert told.index(escalation("en-US").help_line) < told.index("Hello")


def test_danger_at_the_terminal_is_met_with_the_script_though_the_database_is_gone(
    crosscut: Crosscut, types: Callable[..., None], settings: Settings, database_url: str, vault: Vault
) -> None:
    types("Several days.", DANGER, away=[DANGER])
    told = CliRunner().invoke(app, ["interview"])
    assert told.exit_code == 1
    assert told.stdout.endswith(f"\n{SCRIPT}\n"), "these bytes, and nothing after them"
    assert "a safety stop could not be entered" in (settings.crosscut_home / "logs" / "interview.log").read_text()
    types("I take that back.")
    session = _only_session(database_url)
    again = CliRunner().invoke(app, ["interview", "--session", session])
    assert again.stdout.count(SCRIPT) == 1
    with connected(settings, database_url, vault) as (_, runtime):
        assert runtime.view(session).profile.session_status is SessionStatus.TERMINATED


def test_a_session_whose_stop_waits_on_disk_shows_the_script_at_the_terminal(
    crosscut: Crosscut, types: Callable[..., None], runtime: InterviewRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = runtime.start().session_id

    def held(*_: object) -> None:
        raise UnrecordedStop(SCRIPT)

    types("Several days.")
    monkeypatch.setattr(InterviewRuntime, "view", held)
    told = CliRunner().invoke(app, ["interview", "--session", session])
    assert (told.exit_code, told.stdout) == (1, f"\n{SCRIPT}\n")


def test_what_could_not_be_saved_at_the_terminal_is_asked_for_again_with_the_help_line(
    crosscut: Crosscut, types: Callable[..., None], runtime: InterviewRuntime, database_url: str
) -> None:
    types("Most days.", *["Never."] * 6, away=["Most days."])  # connections come back one after the other
    told = crosscut("interview").stdout
    assert escalation("en-US").not_saved in told
    assert "call 911 or the crisis line on 988" in escalation("en-US").not_saved
    assert runtime.sessions.get(_only_session(database_url)).items_completed > 0
    assert "Left off. Take it up again" in told


def test_a_stop_at_the_terminal_is_the_script_and_nothing_after_it(
    crosscut: Crosscut, types: Callable[..., None]
) -> None:
    types("Several days.", DANGER)
    assert crosscut("interview").stdout.endswith(f"\n{SCRIPT}\n")


def _only_session(url: str) -> str:
    with psycopg.connect(url) as connection:
        ((session,),) = connection.execute("SELECT id FROM sessions").fetchall()
    return str(session)


# ---- whose they are ----


def test_nobodys_sessions_are_given_to_somebody_with_their_clients_and_forks_and_never_taken_away(
    crosscut: Crosscut, runtime: InterviewRuntime, database: Database
) -> None:
    ada, ben = "https://login.example.org 1", "https://login.example.org 2"
    labels = ClientLabels(database)
    hers, local, plain = (runtime.start(owner=owner).session_id for owner in (ada, "local", None))
    labels.put(hers, ada, "C-017")
    labels.put(local, "local", "c-017")
    answer_until(runtime, runtime.view(local), 3)
    fork = Replay(database, runtime).fork(local, "3", "9 days").session_id
    assert labels.same_client(local) == [local]
    assert "Assigned 2 session(s)" in crosscut("sessions", "assign", local, "--to", ada).stdout
    assert [runtime.sessions.get(one).owner for one in (local, fork, plain)] == [ada, ada, None]
    assert labels.same_client(local) == [hers, local]
    crosscut("sessions", "assign", local, "--to", ben, fails=InputError)
    crosscut("sessions", "assign", "no-such-session", "--to", ben, fails=NotFoundError)
    crosscut("sessions", "assign", "--to", ben, fails=InputError)
    assert "Assigned 1 session(s)" in crosscut("sessions", "assign", "--nobodys", "--to", ben).stdout
    assert [session.id for session in runtime.sessions.newest(owner=ben)] == [plain]
    assert "none without an owner" in crosscut("sessions", "assign", "--nobodys", "--to", ben).stdout
    last = Audit(database).entries(local)[-1]
    assert (last["kind"], last["to"], set(last)) == ("assignment", ada, {"kind", "to", "at"})
    assert Audit(database).verify()[1] == []
