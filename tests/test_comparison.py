"""Several diagnosticians on one frozen session: the same bytes for all, each failure in its own column, nothing of a
session that is stopped; blind ballots, votes and overrides with their history; the command line and a real worker."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from agents.report.tags import found_in
from benchmark.comparison import Ballot, Column, Comparison, ComparisonDesk, as_json, as_markdown, open_desk
from benchmark.comparison.blind import drawn
from benchmark.comparison.desk import REPLAY_JUDGE
from benchmark.comparison.replay import REPLAY, Case
from benchmark.comparison.types import BlindOutput
from benchmark.judge import CRITERIA, JUDGE_MODEL
from benchmark.snapshot import SnapshotDesk
from cli import comparisons as commands
from errors import InputError, SealError, SettingsError
from graph.runtime import InterviewRuntime
from instruments.tools import DiagnosticMode, ReportSection
from settings import Settings
from storage.ballots import Ballots
from storage.crypto import Vault
from storage.database import Database
from storage.embedded import Services
from storage.model_calls import ModelCalls
from tests import gateway as stand_in
from tests.benchmarked import CRITERION, Held, copied, hold, shelved
from tests.command import crosscut_command
from tests.gateway import Gateway, Received, gateway
from tests.support import wait_until
from tests.tables import rows_naming, tables
from tests.worker import empty_queues, send, worker
from workers.celery_app import COMPARE

DRIVER, SECOND, THIRD = "openai/gpt-4.1-mini", "anthropic/claude-sonnet-4", "google/gemini-2.5-pro"
MODELS = (DRIVER, SECOND, THIRD)
MDD, GAD, INSOMNIA = "Major Depressive Disorder", "Generalized Anxiety Disorder", "Insomnia Disorder"
ANGER = 3
CATEGORY = "Depressive Disorders"
QUOTE = "I couldn't get interested in the things I normally like"
CITATION = "[A Handbook, p. 12, Depressive Disorders > Major Depressive Disorder > Diagnostic Criteria]"
ORIGINAL = "as the first heliotrope report had it"
"""Words that stand in the session's own report alone."""


def answer(*named: tuple[str, float], summary: str = "What was said was weighed.") -> dict[str, Any]:
    """What a model says: these names with these confidences."""
    items = {MDD: ["L1-01"], CATEGORY: ["L1-01"], GAD: ["L1-06"], INSOMNIA: ["L1-14"]}
    impressions = [
        {
            "name": name,
            "confidence": confidence,
            "itemIds": items[name],
            "quotes": [QUOTE],
            "citations": [CITATION] if name == MDD else [],
            "steps": [f"Told in these words: <quote>{QUOTE}</quote>."],
        }
        for name, confidence in named
    ]
    return {
        "summary": summary,
        "diagnoses": impressions,
        "reasoning": [],
        "citations": [],
        "limitations": [],
        "ragUsed": True,
    }


ANSWERS = {
    DRIVER: answer((MDD, 0.8), (INSOMNIA, 0.3)),
    SECOND: answer((INSOMNIA, 0.6), (MDD, 0.5), (GAD, 0.2)),
    THIRD: answer((MDD, 0.7)),
}


def with_models(settings: Settings, base_url: str, **changes: Any) -> Settings:
    values = {"model_diagnostician": DRIVER, "model_embedding": "rules", "model_tries": 2, "model_call_seconds": 60}
    home = {"crosscut_home": settings.crosscut_home, "gateway_base_url": base_url, "gateway_api_key": "k"}
    return Settings(_env_file=None, **{**home, **values, **changes})


@dataclass(frozen=True)
class Frozen:
    """A completed session, frozen twice: as rules drove it, and as a model did."""

    held: Held
    by_rules: str
    by_model: str

    @property
    def session(self) -> str:
        return self.held.session


@pytest.fixture(scope="module")
def frozen(template: Callable[[], str], settings: Settings, vault: Vault) -> Frozen:
    held = hold(template(), settings, vault)
    with Database(held.url, vault) as database, gateway() as gate:
        with shelved(settings, database) as runtime:
            by_rules = SnapshotDesk(database, runtime).freeze(held.session)
        gate.default = stand_in.json_reply(answer((GAD, 0.99), summary=f"Worries came first, {ORIGINAL}."))
        with shelved(with_models(settings, gate.base_url), database) as runtime:
            runtime.reports.write(held.session)
            by_model = SnapshotDesk(database, runtime).freeze(held.session)
            assert ORIGINAL in SnapshotDesk(database, runtime).get(by_model).markdown
    return Frozen(held, by_rules, by_model)


@pytest.fixture
def database(frozen: Frozen, servers: Services, vault: Vault) -> Iterator[Database]:
    with copied(frozen.held, servers, vault) as opened:
        yield opened


@pytest.fixture
def runtime(settings: Settings, database: Database) -> Iterator[InterviewRuntime]:
    with shelved(settings, database) as made:
        yield made


@pytest.fixture
def woken() -> list[str]:
    return []


@pytest.fixture
def desk(
    settings: Settings, gate: Gateway, database: Database, runtime: InterviewRuntime, woken: list[str]
) -> Iterator[ComparisonDesk]:
    opened = open_desk(with_models(settings, gate.base_url), database, runtime, woken.append)
    yield opened
    opened.close()


def replays(gate: Gateway) -> list[Received]:
    return [request for request in gate.requests if request.body["model"] != JUDGE_MODEL]


def script(gate: Gateway, **changes: Any) -> None:
    for model, reply in {**ANSWERS, **changes}.items():
        gate.script(stand_in.json_reply(reply) if isinstance(reply, dict) else reply, model=model)


def made(desk: ComparisonDesk, sha256: str, *models: str) -> str:
    run = desk.ask(sha256, models)
    desk.work(desk.job_of(run))
    return run


def names(column: Column) -> list[str]:
    assert column.diagnosis is not None, column.error
    return [one.name for one in column.diagnosis.diagnoses]


# ---- replays ----


def test_three_models_are_asked_at_once_by_the_same_bytes_and_see_nothing_of_the_original(
    desk: ComparisonDesk, gate: Gateway, frozen: Frozen, woken: list[str]
) -> None:
    together = threading.Barrier(3)
    for model in MODELS:
        gate.script(lambda body: (together.wait(60), ANSWERS[body["model"]])[1], model=model)
    run = desk.ask(frozen.by_model, [SECOND, THIRD])
    assert [column.stage for column in desk.state(run).columns] == ["waiting"] * 3
    assert desk.ask(frozen.by_model, [SECOND, THIRD]) == run, "while it waits it is the same run"
    assert woken == [desk.job_of(run)] * 2
    desk.work(woken[0])

    asked = replays(gate)
    bodies = [request.body for request in asked]
    assert sorted(body.pop("model") for body in bodies) == sorted(MODELS)
    assert bodies[0] == bodies[1] == bodies[2]
    snapshot = desk.snapshots.get(frozen.by_model)
    sent = asked[0].message("user")
    for line in snapshot.lines:
        assert json.dumps(line.text, ensure_ascii=False) in sent
    for response in snapshot.item_responses:
        assert f"{response.item_id} (" in sent
        assert f"score {response.score}, ambiguity {response.ambiguity}" in sent
    assert CRITERION in sent
    assert CITATION in sent
    for request in asked:
        for secret in (ORIGINAL, "heliotrope", "0.99", GAD, "Executive Summary", frozen.session):
            assert secret.encode() not in request.raw, secret

    state, columns = desk.state(run), desk.columns(run)
    assert (state.status, [column.stage for column in state.columns]) == ("done", ["done"] * 3)
    assert [(column.model, column.is_driver) for column in columns] == [(DRIVER, True), (SECOND, False), (THIRD, False)]
    assert [names(column) for column in columns] == [[MDD, INSOMNIA], [INSOMNIA, MDD, GAD], [MDD]]
    for column in columns:
        assert (column.engine, column.tries, column.prompt_version, column.error) == ("llm", 1, "2", None)
        assert column.prompt_tokens is not None
        assert column.prompt_tokens > 1000
        assert column.cost_usd is not None
        assert column.cost_usd > 0
        assert column.seconds > 0
        assert [one.title for one in column.sections] == [one.title for one in snapshot.sections]
        assert f"impressions formed by {column.model}." in column.markdown
        assert ORIGINAL not in column.markdown
    assert desk.ask(frozen.by_model, [SECOND, THIRD]) != run, "once made, asking again is another run"


@pytest.mark.parametrize(
    ("faults", "stands", "seconds"),
    [
        (
            {
                SECOND: (stand_in.server_error(500), "the gateway answered with status 500 (gateway)"),
                THIRD: (stand_in.malformed_json(), "(invalid_json)"),
            },
            DRIVER,
            60,
        ),
        (
            {
                DRIVER: (stand_in.refusal(), "the model refused to answer (refusal)"),
                SECOND: (stand_in.wrong_schema(), "(schema)"),
            },
            THIRD,
            60,
        ),
        ({DRIVER: (stand_in.hang(), "no complete answer within")}, "rules", 2),
    ],
    ids=["500 and malformed", "refusal and schema", "hang"],
)
def test_who_fails_says_so_in_its_own_column_and_nobody_stands_in(
    settings: Settings,
    gate: Gateway,
    database: Database,
    runtime: InterviewRuntime,
    frozen: Frozen,
    faults: dict[str, tuple[stand_in.Behaviour, str]],
    stands: str,
    seconds: float,
) -> None:
    script(gate)
    for model, (fault, _) in faults.items():
        gate._queues[model].clear()
        gate.script(fault, fault, model=model)
    desk = open_desk(with_models(settings, gate.base_url, model_call_seconds=seconds), database, runtime)
    others = [model for model in (*MODELS, "rules") if model in (*faults, stands) and model != DRIVER]
    run = made(desk, frozen.by_model, *others)
    comparison = desk.comparison(run)
    assert comparison.state.status == "done", "the run is whole"
    stages = {one.model: one.stage for one in comparison.state.columns}
    assert stages == {stands: "done", **dict.fromkeys(faults, "failed")}
    markdown = as_markdown(comparison).replace("\\", "")
    for column in comparison.columns:
        if column.model == stands:
            assert names(column)[0] == MDD
            continue
        assert (column.engine, column.diagnosis, column.sections) == ("llm", None, ())
        assert column.error is not None
        assert faults[column.model][1] in column.error
        assert len(column.failures) == column.tries >= 1
        assert QUOTE not in column.model_dump_json(), "an error that quotes the request is not passed on"
        assert f"| failed: {column.error} |" in markdown
    assert (comparison.agreements, comparison.diffs) == ((), ()), "one answer agrees with nobody"
    assert all(sum(cell is not None for cell in row.cells) == 1 for row in comparison.impressions)
    desk.close()


@pytest.mark.parametrize(
    ("mode", "allowed", "refused"),
    [
        ("categorical", answer((CATEGORY, 0.6)), "in mode categorical each name must be one of"),
        ("screening", answer(), "in mode screening diagnoses must be an empty list"),
    ],
)
def test_a_replay_keeps_to_the_mode_of_the_report(
    desk: ComparisonDesk,
    gate: Gateway,
    frozen: Frozen,
    runtime: InterviewRuntime,
    mode: DiagnosticMode,
    allowed: dict[str, Any],
    refused: str,
) -> None:
    runtime.reports.write(frozen.session, mode)
    sha256 = desk.snapshots.freeze(frozen.session)
    gate.script(stand_in.json_reply(allowed), model=SECOND)
    gate.script(*[stand_in.json_reply(ANSWERS[THIRD])] * 2, model=THIRD)
    comparison = desk.comparison(made(desk, sha256, SECOND, THIRD))
    original = desk.snapshots.get(sha256)
    rules, kept, out = comparison.columns
    assert original.mode == mode
    assert (rules.diagnosis, rules.sections) == (original.diagnosis, original.sections), "the mode's own answer"
    assert names(kept) == [one["name"] for one in allowed["diagnoses"]]
    assert (out.diagnosis, out.tries) == (None, 2)
    assert refused in (out.error or ""), "a disorder's name is no answer in this mode"
    for request in replays(gate):
        assert MDD not in request.message("user"), "what the mode does not name is not shown to a model either"
        assert (CRITERION in request.message("user")) == (mode == "categorical")
    (pair,) = comparison.agreements
    named = len(allowed["diagnoses"])
    assert (pair.shared, {one.jaccard is None for one in pair.overlaps}) == (named, {not named})


def test_a_replay_sees_the_corrected_scores_of_its_revision_and_an_earlier_one_does_not(
    desk: ComparisonDesk, gate: Gateway, frozen: Frozen, runtime: InterviewRuntime
) -> None:
    reason = "The cerulean thermos was thrown on most days."
    report = runtime.reports.correct(frozen.session, ANGER, 4, reason, "Dr A")
    assert report is not None
    (correction,) = report.corrections
    sha256 = desk.snapshots.freeze(frozen.session)
    script(gate)
    rules, second = desk.columns(made(desk, sha256, SECOND))
    original = desk.snapshots.get(sha256)
    assert (rules.diagnosis, rules.sections) == (original.diagnosis, original.sections)
    script(gate)
    before = desk.columns(made(desk, frozen.by_rules, SECOND))
    sent, sent_before = (request.message("user") for request in replays(gate))
    assert "): score 4, ambiguity 1\n" in sent.split("L1-03 (", 1)[1]
    assert "Anger: highest item 4, threshold 2 reached" in sent
    assert f": score {correction.original}, ambiguity" in sent_before.split("L1-03 (", 1)[1].split("\n", 1)[0]
    assert f"Anger: highest item {correction.original}, threshold 2" in sent_before
    told = f"(corrected by the therapist; scored {correction.original})"
    assert told in rules.markdown
    assert told in second.markdown
    assert not [column for column in before if told in column.markdown]
    for request in gate.requests:
        assert reason.encode() not in request.raw, "why it was corrected is the therapist's own"


def test_rules_alone_need_no_key_and_models_without_one_are_refused(
    settings: Settings, database: Database, runtime: InterviewRuntime, frozen: Frozen
) -> None:
    desk = open_desk(settings, database, runtime)
    run = made(desk, frozen.by_rules)
    (column,) = desk.columns(run)
    original = desk.snapshots.get(frozen.by_rules)
    assert (column.model, column.engine, column.is_driver, column.cost_usd) == ("rules", "rules", True, 0)
    assert (column.diagnosis, column.sections) == (original.diagnosis, original.sections), "rules are deterministic"
    assert column.judgement is not None
    assert (column.judgement.status, column.judgement.verdict) == ("not run", None)
    assert "| Judge | judge not run |" in as_markdown(desk.comparison(run))
    with pytest.raises(SettingsError, match=r"GATEWAY_API_KEY is not set, and 'openai/gpt-4\.1-mini' needs it"):
        desk.ask(frozen.by_rules, [DRIVER])
    for models, problem in (
        (["rules"], "is the driver"),
        (["gpt"], "must be 'rules' or an id"),
        ([SECOND, SECOND], "named twice"),
        ([DRIVER, SECOND, THIRD], "up to 2 models, not 3"),
    ):
        with pytest.raises(InputError, match=problem):
            desk.ask(frozen.by_rules, models)
    assert len(desk.runs_of(frozen.session)) == 1


def test_what_a_killed_worker_had_kept_is_not_asked_for_again(
    desk: ComparisonDesk, gate: Gateway, frozen: Frozen, database: Database
) -> None:
    script(gate)
    run = desk.ask(frozen.by_model, [SECOND, THIRD])
    job = desk.jobs.claim(desk.job_of(run))
    assert job is not None
    desk._make(job, desk.runs.get(run), Case.of(desk.snapshots.get(frozen.by_model)), SECOND)  # and then it is killed
    assert [column.model for column in desk.columns(run)] == [SECOND]
    assert desk.take_up(0) == 1
    assert sorted(request.body["model"] for request in replays(gate)) == sorted(MODELS)
    assert len(desk.columns(run)) == 3
    desk.work(job.id)
    assert len(gate.requests) == 6, "what is done stays done: three were asked, and the judge about each"
    assert database.one("SELECT count(*) FROM comparison_columns") == {"count": 3}


def assert_accounted_for(desk: ComparisonDesk, comparison: Comparison, database: Database) -> None:
    """Every try of a replay and of its judge is a row, and a column's figures are the sum of its rows."""
    session, calls = comparison.state.session_id, ModelCalls(database)
    rows = calls.of_session(session, [REPLAY])
    for column in comparison.columns:
        own = [row for row in rows if row.model == column.model]
        assert len(own) == column.tries >= 1
        assert {row.prompt_sha256 for row in own} == {column.prompt_sha256}
        known = [row.cost_usd for row in own if row.cost_usd is not None]
        assert column.cost_usd == (pytest.approx(sum(known)) if len(known) == len(own) else None)
    verdicts = [column.judgement for column in comparison.columns if column.judgement]
    judged = calls.spent(session, [REPLAY_JUDGE])
    assert judged.calls == sum(verdict.tries for verdict in verdicts) == 3
    assert float(judged.cost_usd or 0) == pytest.approx(sum(verdict.cost_usd or 0 for verdict in verdicts))
    assert float(judged.cost_usd or 0) > 0
    frozen_calls = desk.snapshots.get(comparison.state.snapshot_sha256).calls
    assert {call.agent for call in frozen_calls} == {"diagnostician"}, "what a comparison costs is not the session's"


def test_the_judge_reads_each_report_without_its_maker_and_what_it_fails_on_is_unscored(
    desk: ComparisonDesk, gate: Gateway, frozen: Frozen, database: Database
) -> None:
    def judges(body: dict[str, Any]) -> stand_in.Behaviour:
        if "Generalized Anxiety" in body["messages"][-1]["content"]:
            return stand_in.refusal()
        return stand_in.json_reply({name: {"score": 4, "note": "It is so."} for name in CRITERIA})

    gate.script(*[judges] * 4, model=JUDGE_MODEL)
    script(gate)
    gate.script(*[stand_in.refusal()] * 2, model="openai/gpt-4o")
    comparison = desk.comparison(made(desk, frozen.by_model, SECOND, "openai/gpt-4o"))
    assert_accounted_for(desk, comparison, database)
    driver, second, failed = (column.judgement for column in comparison.columns)
    assert driver is not None
    assert driver.verdict is not None
    assert (driver.status, driver.verdict.empathy.score) == ("scored", 4)
    assert second is not None
    assert (second.status, second.verdict, second.failures) == ("unscored", None, ("refusal", "refusal"))
    assert failed is None, "where there is no report there is nothing to judge"
    lines = as_markdown(comparison).splitlines()
    assert "| Judge: Empathy and professionalism | 4 of 5 | unscored (refusal, refusal) | — |" in lines
    asked = [request.message("user") for request in gate.requests if request.body["model"] == JUDGE_MODEL]
    assert len(asked) == 3
    for words in asked:
        assert "impressions formed by an engine that is not shown" in words
        assert ORIGINAL not in words
        assert not [model for model in MODELS if model in words]


# ---- stopped and deleted ----


@pytest.mark.parametrize("end", ["stop", "delete"])
def test_what_ends_in_the_middle_keeps_no_column(
    desk: ComparisonDesk, gate: Gateway, frozen: Frozen, runtime: InterviewRuntime, database: Database, end: str
) -> None:
    script(gate)
    run = desk.ask(frozen.by_model, [SECOND, "openai/gpt-4o"])

    def interrupts(body: dict[str, Any]) -> dict[str, Any]:
        wait_until(lambda: [one.stage for one in desk.state(run).columns] == ["done", "done", "asked"], 60)
        (runtime.stop if end == "stop" else runtime.delete)(frozen.session)
        return ANSWERS[THIRD]

    judged = len(MODELS) - 1
    gate.script(interrupts, model="openai/gpt-4o")
    desk.work(desk.job_of(run))
    assert len(gate.requests) == len(MODELS) + judged, "nobody is asked any more"
    assert database.one("SELECT count(*) FROM comparison_columns") == {"count": 0}
    if end == "delete":
        assert rows_naming(database, frozen.session).keys() == {"audit", "audit_ends"}
        assert rows_naming(database, run) == {}
        return
    state = desk.state(run)
    assert (state.status, state.stopped) == ("cancelled", True)
    for refused in (
        lambda: desk.columns(run),
        lambda: desk.ask(frozen.by_model, [SECOND]),
        lambda: desk.ballot(run, "Dr A"),
        lambda: desk.override(run, model=SECOND, reason="because", by="Dr A"),
    ):
        with pytest.raises(InputError, match="stopped for safety"):
            refused()
    desk.work(desk.job_of(run))
    assert database.one("SELECT count(*) FROM comparison_columns") == {"count": 0}


def test_columns_whose_worker_died_before_a_stop_are_never_shown_and_swept_away(
    desk: ComparisonDesk, gate: Gateway, frozen: Frozen, runtime: InterviewRuntime, database: Database
) -> None:
    script(gate)
    whole = made(desk, frozen.by_model, SECOND)
    run = desk.ask(frozen.by_model, [THIRD])
    assert desk.jobs.claim(desk.job_of(run)) is not None
    assert desk.runs.keep_column(desk.runs.get(run), THIRD, "2", desk.columns(whole)[0].model_dump_json().encode())
    assert len(desk.columns(run)) == 1
    runtime.stop(frozen.session)
    assert database.one("SELECT count(*) FROM comparison_columns") == {"count": 3}
    desk.take_up(0)
    assert database.one("SELECT count(*) FROM comparison_columns") == {"count": 2}


def test_nothing_is_shown_of_a_finished_comparison_once_its_session_was_stopped(
    desk: ComparisonDesk, gate: Gateway, frozen: Frozen, runtime: InterviewRuntime, crosscut: Callable[..., Result]
) -> None:
    script(gate)
    run = made(desk, frozen.by_model, SECOND, THIRD)
    ballot = desk.ballot(run, "Dr A")
    desk.vote(ballot.id, "left", "Dr A")
    open_one = desk.ballot(run, "Dr A")
    desk.override(run, model=SECOND, reason="because", by="Dr A")
    assert QUOTE in crosscut("compare", frozen.session, "--run", run, "--json").stdout
    runtime.stop(frozen.session)
    for refused in (
        lambda: desk.columns(run),
        lambda: desk.runs.columns(desk.runs.get(run)),
        lambda: desk.comparison(run),
        lambda: desk.comparison(run, "Dr B"),
        lambda: desk.reveal(ballot.id, "Dr A"),
        lambda: desk.ballot(run, "Dr A"),
        lambda: desk.open_ballot(run, "Dr A"),
        lambda: desk.vote(open_one.id, "tie", "Dr A"),
        lambda: desk.overrides(run),
        lambda: desk.history(run),
        lambda: desk.tally(frozen.session),
    ):
        with pytest.raises(InputError, match="stopped for safety"):
            refused()
    assert not desk.can_vote(run, "Dr A")
    for words in (("compare", frozen.session, "--run", run), ("votes", frozen.session)):
        told = crosscut(*words, fails=InputError)
        assert "stopped for safety" in str(told.exception)
        assert told.stdout == ""


# ---- figures and files ----


def test_the_comparison_as_files(desk: ComparisonDesk, gate: Gateway, frozen: Frozen) -> None:
    script(gate)
    comparison = desk.comparison(made(desk, frozen.by_model, SECOND))
    (pair,) = comparison.agreements
    assert (pair.left, pair.right, pair.shared) == (DRIVER, SECOND, 2)
    assert pair.rank_agreement == pytest.approx(-1)
    assert pair.confidence_drift == pytest.approx(0.3)
    assert [one.jaccard for one in pair.overlaps] == [0, pytest.approx(2 / 3), pytest.approx(2 / 3)]
    (diff,) = comparison.diffs
    same = [one.title for one in diff.sections if {run.kind for run in one.runs} == {"same"}]
    assert same == ["Executive Summary", "Symptom Domain Table", "Item-Level Appendix"]

    read = json.loads(as_json(comparison))
    assert read["state"]["snapshotSha256"] == frozen.by_model
    assert [column["model"] for column in read["columns"]] == [DRIVER, SECOND]
    assert read["impressions"][0] == {
        "name": MDD,
        "cells": [
            {"rank": 1, "confidence": 0.8, "citations": [CITATION], "itemIds": ["L1-01"]},
            {"rank": 2, "confidence": 0.5, "citations": [CITATION], "itemIds": ["L1-01"]},
        ],
    }
    lines = as_markdown(comparison).replace("\\", "").splitlines()
    assert f"| Impression | {DRIVER} (driver) | {SECOND} |" in lines
    assert f"| {GAD} | — | 3 · 0.20 |" in lines
    assert f"| {DRIVER} and {SECOND} | 2 | 0.00 | 0.67 | 0.67 | −1.00 | 0.30 |" in lines
    widths = [line.count(" | ") for line in lines if line.startswith("| ") and "Passages" not in line]
    assert set(widths) <= {2, 4, 6}


# ---- ballots ----


SIGNED = answer(
    (MDD, 0.7),
    summary=f"As Claude 3.5 Sonnet, a large language model by Anthropic (claude-sonnet-4), unlike GPT-4.1 mini or "
    f"openai/gpt-4.1, I heard this: <quote>{QUOTE}</quote>.",
)


def test_a_ballot_shows_two_reports_and_nothing_of_whose_they_are(
    desk: ComparisonDesk, gate: Gateway, frozen: Frozen, database: Database
) -> None:
    script(gate, **{SECOND: SIGNED})
    run = made(desk, frozen.by_model, SECOND, "rules")
    seen = []
    for voter in ("Dr A", "Dr B", "Dr C", "Dr D"):
        for _ in range(3):
            ballot = desk.ballot(run, voter)
            assert desk.ballot(run, voter) == ballot, "until it is cast it is the same one"
            desk.vote(ballot.id, "tie", voter)
            seen.append(ballot)
        with pytest.raises(InputError, match="every pair"):
            desk.ballot(run, voter)
    for ballot in seen:
        shown = ballot.model_dump_json(by_alias=True).lower()
        for word in ("gpt", "openai", "claude", "anthropic", "sonnet", "language model", "formed by rules", "token"):
            assert word not in shown, word
        assert "impressions formed by an engine that is not shown" in shown
        assert set(json.loads(shown)) == {"id", "left", "right", "choice"}
        assert set(json.loads(shown)["left"]) == {"sections"}
        for output in (ballot.left, ballot.right):
            said = [quote for section in output.sections for quote in found_in(section.markdown, "quote")]
            assert any(QUOTE in quote for quote in said), "the patient's words stay"
    rows = database.all("SELECT * FROM comparison_ballots")
    pairs = [(DRIVER, SECOND), (DRIVER, "rules"), (SECOND, "rules")]
    assert {frozenset((row["left_model"], row["right_model"])) for row in rows} == {frozenset(pair) for pair in pairs}
    first = {row["voter"]: row for row in sorted(rows, key=lambda row: row["made_at"], reverse=True)}
    for row in first.values():
        assert (row["left_model"], row["right_model"]) == drawn(pairs, row["seed"]), "the order is the seed's"
    assert {drawn(pairs[:1], seed) for seed in range(20)} == {(DRIVER, SECOND), (SECOND, DRIVER)}


def test_a_ballot_tells_what_is_the_same_on_both_sides() -> None:
    summary, other = (ReportSection(title="Executive Summary", markdown=words) for words in ("Low.", "Low and tired."))
    limits = ReportSection(title="Limitations", markdown="A screening.")
    differs = Ballot(id="b", left=BlindOutput(sections=(summary, limits)), right=BlindOutput(sections=(other, limits)))
    assert differs.alike == (limits,)
    assert not differs.are_same
    less = differs.model_copy(update={"right": BlindOutput(sections=(summary,))})
    assert not less.are_same, "what one side leaves out is a difference"
    assert differs.model_copy(update={"right": differs.left}).are_same


def test_votes_are_blind_once_and_all_of_them_are_kept(
    desk: ComparisonDesk, gate: Gateway, frozen: Frozen, database: Database
) -> None:
    script(gate)
    run = made(desk, frozen.by_model, SECOND, THIRD)
    ballot = desk.ballot(run, " Dr A ")
    for refused, problem in (
        (lambda: desk.columns(run, "Dr A"), "vote on first"),
        (lambda: desk.comparison(run, "Dr A"), "vote on first"),
        (lambda: desk.reveal(ballot.id, "Dr A"), "voted on first"),
        (lambda: desk.vote(ballot.id, "both", "Dr A"), "left, right, tie, both_bad, not 'both'"),
        (lambda: desk.vote(ballot.id, "left", "Dr B"), "somebody else"),
        (lambda: desk.ballot(run, " "), "need the name"),
    ):
        with pytest.raises(InputError, match=problem):
            refused()
    first = desk.vote(ballot.id, "left", "Dr A")
    assert (first.choice, first.blind, first.by) == ("left", True, "Dr A")
    second = desk.ballot(run, "Dr A")
    assert second.id != ballot.id
    assert desk.vote(second.id, "both_bad", "Dr A").blind, "nothing was revealed in between"
    shown = desk.reveal(ballot.id, "Dr A")
    row = Ballots(database).get(ballot.id)
    assert (shown.left, shown.right, shown.choice) == (row.left_model, row.right_model, "left")
    assert (shown.agreement.left, shown.agreement.right) == (shown.left, shown.right)
    third = desk.ballot(run, "Dr A")
    assert not desk.vote(third.id, "tie", "Dr A").blind, "one who has seen whose they are votes with open eyes"
    assert not desk.vote(ballot.id, "right", "Dr A").blind
    desk.columns(run, "Dr B")
    assert not desk.vote(desk.ballot(run, "Dr B").id, "tie", "Dr B").blind

    history = desk.history(run)
    assert [(one.by, one.vote and one.vote.choice) for one in history] == [
        ("Dr A", "left"),
        ("Dr A", "both_bad"),
        ("Dr A", "tie"),
        ("Dr A", "right"),
        ("Dr B", "tie"),
    ]
    tally = desk.tally(frozen.session)
    assert desk.tally("nobody") == ()
    assert sum(pair.votes for pair in tally) == 2
    assert sum(pair.not_blind for pair in tally) == 2, "a second vote on a ballot counts nowhere"
    won = next(pair for pair in tally if {pair.first, pair.second} == {shown.left, shown.right})
    assert (won.first_wins if won.first == shown.left else won.second_wins) == 1


def test_overrides_are_sealed_and_kept_and_all_goes_with_the_session(
    desk: ComparisonDesk, gate: Gateway, frozen: Frozen, runtime: InterviewRuntime, database: Database
) -> None:
    script(gate)
    run = made(desk, frozen.by_model, SECOND)
    for changes, problem in (
        ({"reason": " ", "model": SECOND}, "needs a reason"),
        ({"reason": "so"}, "names the column or the impression"),
        ({"reason": "so", "model": THIRD}, "not in this comparison"),
    ):
        with pytest.raises(InputError, match=problem):
            desk.override(run, by="Dr A", **changes)
    desk.override(run, model=SECOND, reason="Sleep came long before the mood.", by="Dr A")
    desk.vote(desk.ballot(run, "Dr B").id, "left", "Dr B")
    desk.override(run, impression="Persistent Depressive Disorder", reason="Two years of it.", by="Dr A")
    assert [(one.model, one.impression) for one in desk.overrides(run)] == [
        (SECOND, None),
        (None, "Persistent Depressive Disorder"),
    ]
    assert [one.kind for one in desk.history(run)] == ["override", "vote", "override"]
    for words in ("Sleep came long", "Persistent Depressive", "Two years", QUOTE, MDD):
        assert [table for table in rows_naming(database, words) if table.startswith("comparison")] == [], words
    first, other = database.all("SELECT body FROM comparison_columns ORDER BY model")
    database.run("UPDATE comparison_columns SET body = %s WHERE model = %s", first["body"], DRIVER)
    assert first["body"] != other["body"]
    with pytest.raises(SealError):
        desk.columns(run)

    held = [table for table in tables(database) if table.startswith("comparison")]
    assert len(held) == 6
    runtime.delete(frozen.session)
    assert rows_naming(database, frozen.session).keys() == {"audit", "audit_ends"}
    for table in held:
        assert database.one(f"SELECT count(*) FROM {table}") == {"count": 0}, table  # noqa: S608


# ---- the command line and a worker ----


@pytest.fixture
def crosscut(settings: Settings, database: Database, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.setenv("CROSSCUT_HOME", str(settings.crosscut_home))
    monkeypatch.setenv("DATABASE_URL", database.url)
    monkeypatch.setattr(commands, "_PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr(commands, "_LOOK_EVERY_SECONDS", 0.02)

    return crosscut_command


def test_the_commands(
    crosscut: Callable[..., Result], frozen: Frozen, gate: Gateway, desk: ComparisonDesk, database: Database
) -> None:
    """Where no worker runs, a run that is waited for is made here."""
    session = frozen.session
    gate.script(stand_in.json_reply(ANSWERS[DRIVER]), model=DRIVER)
    models = {"GATEWAY_BASE_URL": gate.base_url, "GATEWAY_API_KEY": "k", "MODEL_EMBEDDING": "rules"}
    error = crosscut("compare", session, "--model", SECOND, fails=SettingsError).exception
    assert f"GATEWAY_API_KEY is not set, and {DRIVER!r} needs it" in str(error)
    asked = crosscut("compare", session, "--model", "rules", "--json", **models)
    run = json.loads(asked.stdout)["runId"]
    assert desk.state(run).status == "queued"
    shown = json.loads(crosscut("compare", session, "--run", run, "--wait", "--json", **models).stdout)
    assert [column["model"] for column in shown["columns"]] == [DRIVER, "rules"]
    assert shown == desk.comparison(run).to_json_dict()
    markdown = crosscut("compare", session, "--run", run, "--markdown")
    assert markdown.stdout == as_markdown(desk.comparison(run))
    plain = crosscut("compare", session, "--run", run).stdout
    assert "Jaccard@3" in plain
    assert "Nobody has voted" in crosscut("votes", session).stdout
    desk.vote(desk.ballot(run, "Dr A").id, "tie", "Dr A")
    desk.override(run, model="rules", reason="[b]plainer[/b]", by="Dr B")
    told = crosscut("votes", session).stdout
    assert "prefers rules: [b]plainer[/b]" in told
    assert "a tie of " in told
    counted = json.loads(crosscut("votes", session, "--json").stdout)
    assert (counted["tally"][0]["ties"], [one["kind"] for one in counted["history"]]) == (1, ["vote", "override"])


@pytest.mark.parametrize("named", [False, True])
def test_who_holds_a_ballot_sees_nothing_at_the_terminal_either(
    crosscut: Callable[..., Result],
    frozen: Frozen,
    gate: Gateway,
    desk: ComparisonDesk,
    named: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("getpass.getuser", lambda: "account")
    script(gate)
    run = made(desk, frozen.by_model, SECOND, THIRD)
    other = desk.vote(desk.ballot(run, "Dr B").id, "left", "Dr B")
    looks = (("compare", frozen.session, "--run", run), ("votes", frozen.session))
    for voter in ("Dr A",) if named else ("account", "therapist"):
        ballot = desk.ballot(run, voter)
        by = ("--by", voter) if named else ()
        for words in looks:
            refused = crosscut(*words, *by, fails=InputError)
            assert "to vote on first" in str(refused.exception)
            assert refused.stdout == ""
        assert not [name for name in ("account", "therapist", "Dr A") if desk.has_seen(run, name)]
        assert desk.vote(ballot.id, "tie", voter).blind, "a refusal shows nothing"
    for words in looks:
        crosscut(*words, *by)
        assert desk.has_seen(run, voter)
    assert not desk.vote(desk.ballot(run, voter).id, "tie", voter).blind
    assert not desk.has_seen(run, other.by)


def test_who_has_read_the_votes_does_not_vote_blind(
    crosscut: Callable[..., Result], frozen: Frozen, gate: Gateway, desk: ComparisonDesk
) -> None:
    script(gate)
    run = made(desk, frozen.by_model, SECOND)
    crosscut("votes", frozen.session, "--by", "Dr A")
    assert not desk.has_seen(run, "Dr A"), "there was nothing to read"
    desk.vote(desk.ballot(run, "Dr B").id, "left", "Dr B")
    crosscut("votes", frozen.session, "--by", "Dr A")
    assert not desk.vote(desk.ballot(run, "Dr A").id, "tie", "Dr A").blind


def test_a_worker_makes_what_was_asked_for(
    settings: Settings, frozen: Frozen, gate: Gateway, desk: ComparisonDesk, servers: Services, tmp_path: Path
) -> None:
    empty_queues(servers.redis_url)
    script(gate)
    run = desk.ask(frozen.by_model, [SECOND])
    job = desk.job_of(run)
    environment = {
        "GATEWAY_BASE_URL": gate.base_url,
        "GATEWAY_API_KEY": "k",
        "MODEL_EMBEDDING": "rules",
        "REDIS_URL": servers.redis_url,
    }
    with worker(settings.crosscut_home, desk.runs._db.url, tmp_path / "worker.txt", **environment) as running:
        send(servers.redis_url, COMPARE, job)
        wait_until(lambda: desk.state(run).status not in ("queued", "running"), 120)
        said = running.said()
    assert desk.state(run).status == "done", said
    assert [names(column) for column in desk.columns(run)] == [[MDD, INSOMNIA], [INSOMNIA, MDD, GAD]]
    assert QUOTE not in said
