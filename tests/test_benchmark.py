"""Report cards: graded, byte for byte the same, completed by a worker, and refused once the session was stopped."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr, ValidationError
from typer.testing import CliRunner, Result

import benchmark
from agents.models import cost_usd
from benchmark.card import card_of, core_of, graded, headline_of
from benchmark.card_files import as_csv, as_json, as_markdown, limits_markdown
from benchmark.charts import bars, radar, save
from benchmark.desk import KIND, MOST_TRIES, BenchmarkDesk, open_benchmark
from benchmark.drawing import drawn
from benchmark.judge import CRITERIA, NOT_RUN, Judge, Judgement, judge_metrics
from benchmark.making import benchmark_digest
from benchmark.metrics import Metric, deterministic
from benchmark.metrics.bertscore import EmbeddedScorer
from benchmark.personas import persona
from benchmark.runs.tables import further_titles
from benchmark.shares import group_scores, reached
from benchmark.snapshot import Snapshot
from benchmark.thresholds import read_thresholds, thresholds
from cli import app
from errors import InputError
from graph.runtime import InterviewRuntime
from instruments.profile import SessionStatus
from settings import Settings
from storage.crypto import Vault
from storage.database import Database
from storage.embedded import Services
from storage.jobs import Jobs
from storage.labels import Labels
from storage.model_calls import ModelCalls
from storage.results import Results
from tests import gateway as stand_in
from tests.answers import answer_all
from tests.benchmarked import PERSONA, Held, copied, hold, shelved
from tests.gateway import Behaviour, Exchange, Gateway
from tests.support import wait_until
from tests.tables import rows_naming
from tests.test_judge import verdict
from tests.worker import empty_queues, send, worker
from workers.celery_app import ask_for_cards, celery, configure

DOCS = Path(__file__).parent.parent / "docs"
SAID = "I couldn't get interested in the things I normally like"
INVENTED, PHANTOM = "I have not laughed since the flood.", "[A Book That Is Not There, p. 1]"
FABRICATED = {
    "summary": "What was said was weighed.",
    "diagnoses": [
        {"name": "Major Depressive Disorder", "confidence": 0.7, "itemIds": ["L1-01"], "quotes": [SAID, INVENTED],
         "citations": [PHANTOM], "steps": ["The mood was low."]},
        {"name": "Panic Disorder", "confidence": 0.6, "itemIds": ["L1-07"], "quotes": [INVENTED], "citations": [],
         "steps": ["It came at once."]},
    ],
    "reasoning": [], "citations": [PHANTOM], "limitations": [], "ragUsed": True,
}  # fmt: skip
DANGER = "I am going to kill myself tonight."
GRADED_BY_HAND = """
version = "9"
[protocol.coverage]
pass = 1.0
warn = 0.9
reason = "all of them"
[conversation.fkg]
better = "lower"
pass = 8
warn = 10
reason = "plain words"
"""


@pytest.fixture(scope="module")
def held(template: Callable[[], str], settings: Settings, vault: Vault) -> Held:
    return hold(template(), settings, vault)


@pytest.fixture(scope="module")
def snapshot(held: Held, settings: Settings, vault: Vault) -> Snapshot:
    with Database(held.url, vault) as database, shelved(settings, database) as runtime:
        desk = open_benchmark(settings, database, runtime)
        sha256 = desk.freeze(held.session)
        desk.card(sha256)  # whoever copies this database has the slow figures already
        return desk.snapshots.get(sha256)


@pytest.fixture
def database(held: Held, snapshot: Snapshot, servers: Services, vault: Vault) -> Iterator[Database]:
    with copied(held, servers, vault) as opened:
        yield opened


@pytest.fixture
def runtime(settings: Settings, database: Database) -> Iterator[InterviewRuntime]:
    with shelved(settings, database) as made:
        yield made


@pytest.fixture
def desk(settings: Settings, database: Database, runtime: InterviewRuntime) -> BenchmarkDesk:
    """Without a key; and without torch, even where it is installed."""
    return replace(open_benchmark(settings, database, runtime), scorer=EmbeddedScorer)


@pytest.fixture
def judged(gate: Gateway, settings: Settings, database: Database, runtime: InterviewRuntime) -> BenchmarkDesk:
    """With a judge behind the stand-in gateway."""
    keyed = settings.model_copy(
        update={"gateway_base_url": gate.base_url, "gateway_api_key": SecretStr("k"), "model_tries": 1}
    )
    return replace(open_benchmark(keyed, database, runtime), scorer=EmbeddedScorer)


# ---- grades ----


def test_every_limit_is_of_a_metric_that_there_is(snapshot: Snapshot) -> None:
    known = {metric.name for metric in deterministic(snapshot)} | {f"judge.{name}" for name in CRITERIA}
    assert set(thresholds().limits) <= known


def test_a_run_calls_every_further_figure_as_the_card_does(snapshot: Snapshot) -> None:
    further = [metric for metric in deterministic(snapshot) if metric.group in ("conversation", "explainability")]
    assert further_titles() == {metric.name: f"{metric.label} ({metric.unit})" for metric in further}


def test_every_limit_gives_its_reason_and_the_documentation_shows_them_all(snapshot: Snapshot) -> None:
    with pytest.raises(ValidationError, match="reason"):
        read_thresholds(GRADED_BY_HAND.replace('reason = "plain words"', ""))
    metrics = [*deterministic(snapshot), *judge_metrics(Judgement(status="not run"))]
    assert limits_markdown(metrics) in (DOCS / "limits.md").read_text()


def test_grades_by_limits_of_both_kinds() -> None:
    limits = read_thresholds(GRADED_BY_HAND).limits
    assert [limits["protocol.coverage"].grade(value) for value in (1, 0.95, 0.9, 0.89)] == [
        "PASS",
        "WARN",
        "WARN",
        "FAIL",
    ]
    assert [limits["conversation.fkg"].grade(value) for value in (8, 8.1, 10, 10.1)] == ["PASS", "WARN", "WARN", "FAIL"]
    assert [limits["conversation.fkg"].shown(unit) for unit in ("grade", "share")] == ["≤ 8", "≤ 800%"]
    assert [limits["conversation.fkg"].both("grade"), limits["protocol.coverage"].both("share")] == [
        "pass ≤ 8; warn ≤ 10",
        "pass ≥ 100%; warn ≥ 90%",
    ]
    assert [reached(value, limits["conversation.fkg"]) for value in (4, 16)] == [1, 0.5]
    with pytest.raises(ValidationError, match="stricter"):
        read_thresholds(GRADED_BY_HAND.replace("warn = 0.9", "warn = 1.1"))


def test_a_figure_of_too_few_things_has_no_grade(snapshot: Snapshot) -> None:
    limits = read_thresholds(GRADED_BY_HAND.replace("warn = 10", "warn = 10\nleast_n = 5")).limits
    assert limits["conversation.fkg"].both("grade") == "pass ≤ 8; warn ≤ 10; no grade below n = 5"
    bad = Metric(name="calibration.impression_brier", label="Brier", value=0.9, n=2, explanation="of two")
    few, enough = graded([bad, bad.model_copy(update={"n": 10})])
    assert (few.grade, enough.grade) == (None, "FAIL")
    assert headline_of([few]).grade is None


def test_the_headline_is_the_worst_grade_and_names_what_fell_short(snapshot: Snapshot) -> None:
    gap = snapshot.model_copy(update={"responses": snapshot.responses[:-2]})
    core = core_of(gap, deterministic(gap), read_thresholds(GRADED_BY_HAND))
    assert (core.headline.grade, core.headline.counts) == ("WARN", {"PASS": 1, "WARN": 1, "FAIL": 0})
    assert core.headline.text == "1 of 2 graded metrics pass; warn: Items covered."
    assert core.provenance.thresholds_version == "9"
    ungraded = [metric for metric in core.metrics if metric.name not in ("protocol.coverage", "conversation.fkg")]
    assert {metric.grade for metric in ungraded} == {None}


# ---- the card ----


def test_the_card_is_the_same_byte_for_byte(desk: BenchmarkDesk, snapshot: Snapshot) -> None:
    """Computed anew, or from what was kept, by whichever process."""
    fresh = core_of(snapshot, deterministic(snapshot)).to_bytes()
    assert fresh == core_of(snapshot, deterministic(snapshot)).to_bytes()
    assert desk.card(snapshot.sha256).core.to_bytes() == fresh
    assert json.loads(fresh)["provenance"]["snapshotSha256"] == snapshot.sha256


def test_a_changed_persona_is_another_benchmark_and_its_figures_are_made_anew(
    desk: BenchmarkDesk, snapshot: Snapshot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = desk.card(snapshot.sha256).core
    assert before.provenance.benchmark_sha256 == benchmark_digest()
    copy = shutil.copytree(Path(benchmark.__file__).parent, tmp_path / "benchmark")
    assert benchmark_digest(copy) == benchmark_digest(), "the same files, wherever they lie"
    changed = copy / "personas" / f"{PERSONA}.json"
    changed.write_text(changed.read_text().replace(": 4", ": 3", 1))
    benchmark_digest.cache_clear()
    digest = benchmark_digest(copy)
    for module in ("benchmark.desk", "benchmark.card"):
        monkeypatch.setattr(f"{module}.benchmark_digest", lambda: digest)
    who = persona(PERSONA)
    other = who.model_copy(update={"scores": {item: 4 - score for item, score in who.scores.items()}})
    monkeypatch.setattr(sys.modules["benchmark.metrics.accuracy"], "load_personas", lambda: {PERSONA: other})
    after = desk.card(snapshot.sha256).core
    assert after.provenance.benchmark_sha256 != before.provenance.benchmark_sha256
    exact = next(metric.value for metric in after.metrics if metric.name == "accuracy.item_exact")
    assert exact == pytest.approx(sum(row.score == row.gold for row in after.items) / 23, abs=1e-4)
    assert as_csv(card_of(after, None, None)).splitlines()[1].split(",")[4] == after.provenance.benchmark_sha256


def test_the_card_says_where_it_comes_from_and_what_is_to_come(desk: BenchmarkDesk, snapshot: Snapshot) -> None:
    card = desk.card(snapshot.sha256)
    assert (card.pending, card.failed, card.bertscore) == (("bertscore",), {}, ())
    assert (card.judge.status, card.unscored) == ("not run", 0)
    made = card.core.provenance
    assert made.report == snapshot.provenance
    assert made.interview_prompts == snapshot.session_meta.prompt_version
    rows = card.core.items
    assert [row.score for row in rows] == [response.score for response in snapshot.responses]
    by_turn = {line.turn: line.item_id for line in snapshot.lines if line.role == "patient"}
    assert all(by_turn[turn] == row.item_id for row in rows for turn in row.turns)
    assert all(row.turns for row in rows)
    assert rows[0].gold == 4


def test_exports_hold_the_same_figures(desk: BenchmarkDesk, snapshot: Snapshot) -> None:
    card = desk.card(snapshot.sha256)
    content = json.loads(as_json(card))
    rows = list(csv.DictReader(io.StringIO(as_csv(card))))
    assert [row["metric"] for row in rows] == [metric.name for metric in card.metrics]
    assert {row["snapshot"] for row in rows} == {snapshot.sha256}
    assert all(row["n"] and row["unit"] for row in rows if row["value"] and not row["metric"].startswith("judge."))
    assert all(row["limit_rests_on"] for row in rows if row["grade"])
    values = {one["name"]: one["value"] for one in content["core"]["metrics"] if "value" in one}
    assert {row["metric"]: float(row["value"]) for row in rows if row["value"] and row["metric"] in values} == values
    markdown = as_markdown(card, snapshot)
    assert snapshot.sha256 in markdown
    assert NOT_RUN.removeprefix("judge") in markdown.replace("\\", "")
    for row in card.core.items:
        for turn in row.turns:
            assert f"[{turn}](#turn-{turn})" in markdown
            assert f"### Turn {turn}\n" in markdown


def test_no_words_of_others_become_a_formula_or_markup(snapshot: Snapshot) -> None:
    """A judge's note may repeat what a patient typed."""
    sly = "=HYPERLINK(1) | <script>alert(1)</script>"
    opinions: Any = verdict(empathy={"score": 1, "note": sly})
    judgement = Judgement.model_validate({"status": "scored", "verdict": opinions})
    card = card_of(core_of(snapshot, deterministic(snapshot)), judgement, None)
    (row,) = [row for row in csv.DictReader(io.StringIO(as_csv(card))) if row["metric"] == "judge.empathy"]
    assert (row["explanation"], row["grade"]) == (f"'{sly}", "FAIL")
    assert card.headline.grade == "FAIL"
    markdown = as_markdown(card, snapshot)
    assert "<script>" not in markdown
    assert "1) \\| &lt;script" in markdown


def test_charts_are_drawn_to_files(desk: BenchmarkDesk, snapshot: Snapshot, tmp_path: Path) -> None:
    card = desk.card(snapshot.sha256)
    assert save(radar(card), tmp_path / "radar.png").read_bytes().startswith(b"\x89PNG")
    shown = save(bars(card), tmp_path / "bars.svg").read_text()
    assert shown.startswith("<svg")
    for metric in card.metrics:
        assert (f">{metric.label}<" in shown) == (metric.grade is not None)
    apart = drawn({"radar": radar(card), "bars": bars(card)})  # by another process, and yet the same
    assert set(apart) == {"radar.svg", "radar.png", "bars.svg", "bars.png"}
    assert all(apart[path.name] == path.read_bytes() for path in tmp_path.iterdir())
    scores = group_scores(card)
    assert set(scores) == {metric.group for metric in card.metrics if metric.grade}
    assert scores["protocol"] == 1
    with pytest.raises(InputError, match="gif"):
        save(radar(card), tmp_path / "radar.gif")


# ---- what takes long ----


def test_a_model_that_invents_quotes_and_citations_is_graded_by_it_though_the_report_is_clean(
    gate: Gateway, settings: Settings, database: Database, held: Held
) -> None:
    given = {name: getattr(settings, name) for name in Settings.model_fields}
    models = {"gateway_base_url": gate.base_url, "gateway_api_key": "k", "model_diagnostician": "a/b"}
    keyed = Settings(_env_file=None, **{**given, **models, "model_embedding": "rules"})
    gate.default = stand_in.json_reply(FABRICATED)
    with shelved(keyed, database) as runtime:
        report = runtime.reports.write(held.session)
        desk = open_benchmark(keyed, database, runtime)
        card = desk.card(desk.freeze(held.session))
    assert report.engines["diagnostician"] == "a/b"
    assert [word for word in (INVENTED, PHANTOM, "Panic") if word in report.markdown] == [], "it is not in the report"
    graded = {metric.name.split(".")[1]: metric for metric in card.core.metrics if metric.group == "explainability"}
    for name, value, removed in (
        ("real_citations", 0.0, 1),
        ("rag_usage", 0.0, 1),
        ("grounded_impressions", 0.5, 1),
    ):
        assert (graded[name].value, graded[name].grade, graded[name].metadata["removedByCode"]) == (
            value,
            "FAIL",
            removed,
        )
    quotes = graded["verbatim_quotes"]
    assert (quotes.grade, quotes.metadata) == ("FAIL", {"removedByCode": 2, "falseInReport": 0})
    assert quotes.n == 3, "what it offered, not what the scorer did"
    assert quotes.value == pytest.approx(1 / 3, abs=1e-4)
    assert card.headline.grade == "FAIL"


def test_judge_and_bertscore_come_by_jobs_and_are_kept_once(
    judged: BenchmarkDesk, gate: Gateway, database: Database, snapshot: Snapshot
) -> None:
    gate.script(stand_in.json_reply(verdict()))
    jobs = judged.request(snapshot.sha256)
    assert [job.asked["set"] for job in jobs] == ["judge", "bertscore"]
    assert [job.id for job in judged.request(snapshot.sha256)] == [job.id for job in jobs], "the same jobs"
    assert judged.card(snapshot.sha256).pending == ("judge", "bertscore")
    for job in jobs:
        judged.run(job.id)
        judged.run(job.id)
    assert judged.request(snapshot.sha256) == []
    assert len(gate.requests) == 1, "what is done is not done again"
    card = judged.card(snapshot.sha256)
    assert (card.pending, card.failed, card.unscored) == ((), {}, 0)
    assert [one.value for one in card.judged] == [4] * 5
    assert {one.grade for one in card.judged} == {"PASS"}
    assert {one.metadata["model"] for one in card.bertscore} == {"embedded/minilm-l6-v2"}
    (call,) = ModelCalls(database).of_session(snapshot.session_id, ["judge"])
    assert call.cost_usd == pytest.approx(cost_usd(call.model, call.prompt_tokens, call.completion_tokens))
    assert rows_naming(database, "The empathy is good.") == {}, "notes are sealed"
    count = "SELECT count(*) AS n FROM results WHERE snapshot_sha256 = %s"
    before = database.one(count, snapshot.sha256)
    gate.script(stand_in.json_reply(verdict(flow={"score": 1, "note": "It jumps about."})))
    for job in judged.request(snapshot.sha256, again=True):
        judged.run(job.id)
    assert database.one(count, snapshot.sha256) == before, "a result is replaced under its key"
    again = judged.card(snapshot.sha256)
    assert again.headline.grade == "FAIL"
    assert again.core.to_bytes() == card.core.to_bytes(), "the rest stays as it was"


def test_a_verdict_that_fails_is_counted_on_the_card(judged: BenchmarkDesk, gate: Gateway, snapshot: Snapshot) -> None:
    gate.script(stand_in.json_reply(verdict(empathy={"score": 0, "note": "None."})))
    judged.run(judged.request(snapshot.sha256)[0].id)
    card = judged.card(snapshot.sha256)
    assert (card.unscored, card.judge.failures, card.pending) == (5, ("schema",), ("bertscore",))
    assert {(one.value, one.grade) for one in card.judged} == {(None, None)}
    assert "Criteria unscored: 5" in as_markdown(card, snapshot)


def test_a_job_that_fails_says_why_and_is_tried_again_when_asked(desk: BenchmarkDesk, snapshot: Snapshot) -> None:
    def broken() -> EmbeddedScorer:
        raise RuntimeError("a patient's words")

    (job,) = desk.request(snapshot.sha256)
    with pytest.raises(RuntimeError):
        replace(desk, scorer=broken).run(job.id)
    card = desk.card(snapshot.sha256)
    assert (card.pending, card.failed) == ((), {"bertscore": "measuring failed (RuntimeError)"})
    assert desk.request(snapshot.sha256) == []
    (again,) = desk.request(snapshot.sha256, again=True)
    desk.jobs.report(again.id, tries=MOST_TRIES)
    desk.run(again.id)
    assert f"{MOST_TRIES} workers ended" in desk.card(snapshot.sha256).failed["bertscore"]


def test_a_judge_to_come_and_one_that_failed_are_not_one_without_a_key(
    judged: BenchmarkDesk,
    snapshot: Snapshot,
    crosscut: Callable[..., Result],
    gate: Gateway,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In JSON, CSV, Markdown and at the terminal."""
    monkeypatch.setenv("GATEWAY_BASE_URL", gate.base_url)
    monkeypatch.setenv("GATEWAY_API_KEY", "k")
    session, sha256 = snapshot.session_id, snapshot.sha256

    def told() -> dict[str, str]:
        card = judged.card(sha256)
        terminal = " ".join(crosscut("benchmark", session).stdout.split())
        return {"json": as_json(card), "markdown": as_markdown(card, snapshot), "terminal": terminal}

    jobs = {job.asked["set"]: job.id for job in judged.request(sha256)}
    waiting = told()
    assert json.loads(waiting["json"])["judge"]["status"] == "pending"
    assert (judged.card(sha256).unscored, judged.card(sha256).judged) == (0, ())
    assert "## Judge\n\nJudge still to come" in waiting["markdown"].replace("\\", "")
    assert "Judge still to come." in waiting["terminal"]

    def breaks(*_: object) -> None:
        raise RuntimeError("a patient's words")

    monkeypatch.setattr(Judge, "of", breaks)
    with pytest.raises(RuntimeError):
        judged.run(jobs["judge"])
    failed = told()
    content = json.loads(failed["json"])
    assert (content["judge"]["status"], content["unscored"]) == ("failed", len(CRITERIA))
    assert {(one.get("value"), one["explanation"]) for one in content["judged"]} == {
        (None, "unscored: measuring failed (RuntimeError)")
    }
    said = "Judge failed: measuring failed (RuntimeError); criteria unscored: 5."
    assert f"## Judge\n\n{said}\n" in failed["markdown"].replace("\\", "")
    assert said in failed["terminal"]
    rows = [row for row in csv.DictReader(io.StringIO(as_csv(judged.card(sha256)))) if row["metric"] == "judge.flow"]
    assert [(row["value"], row["explanation"]) for row in rows] == [("", "unscored: measuring failed (RuntimeError)")]
    for text in (*waiting.values(), *failed.values()):
        assert "GATEWAY_API_KEY" not in text.replace("\\", "")
        assert "not run" not in text


# ---- stopped ----


def test_after_a_stop_there_is_no_card(
    judged: BenchmarkDesk, runtime: InterviewRuntime, database: Database, held: Held, snapshot: Snapshot
) -> None:
    jobs = judged.request(snapshot.sha256)
    runtime.submit(held.session, DANGER, expected_turn=runtime.view(held.session).turn)
    assert {judged.jobs.get(job.id).status for job in jobs} == {"cancelled"}
    for asked in (judged.card, judged.request, judged.snapshots.get):
        with pytest.raises(InputError, match="stopped for safety"):
            asked(snapshot.sha256)
    with pytest.raises(InputError, match="stopped for safety"):
        judged.freeze(held.session)
    with pytest.raises(InputError, match="stopped for safety"):
        Results(database).put(snapshot.sha256, "judge", "1", {})


def test_a_stop_while_the_judge_reads_leaves_no_verdict(
    judged: BenchmarkDesk, gate: Gateway, runtime: InterviewRuntime, database: Database, snapshot: Snapshot
) -> None:
    def stop(exchange: Exchange) -> None:
        runtime.stop(snapshot.session_id)
        stand_in.json_reply(verdict()).act(exchange)

    gate.script(Behaviour("stop", stop))
    job = judged.request(snapshot.sha256)[0]
    judged.run(job.id)
    assert judged.jobs.get(job.id).status == "cancelled"
    assert Results(database).get(snapshot.sha256, "judge", judged.judge.version) is None


def test_a_session_that_was_stopped_never_had_one(runtime: InterviewRuntime, desk: BenchmarkDesk) -> None:
    stopped = runtime.submit(runtime.start().session_id, DANGER, expected_turn=1)
    with pytest.raises(InputError, match="stopped for safety"):
        desk.freeze(stopped.session_id)


# ---- at the end of a chat ----


def test_the_card_is_asked_for_when_a_chat_ends_and_a_failure_to_ask_disturbs_no_chat(
    settings: Settings, database: Database, servers: Services, held: Held
) -> None:
    configure(settings, database_url=database.url, redis_url=servers.redis_url)
    with shelved(settings, database) as runtime:
        ask_for_cards(settings.model_copy(update={"gateway_api_key": SecretStr("k")}), database, runtime)
        ended = answer_all(runtime, runtime.start()).session_id
        runtime.submit(runtime.start().session_id, DANGER, expected_turn=1)
        answer_all(runtime, runtime.start(origin="batch"))
    with shelved(settings, database) as runtime:
        runtime.when_reported = lambda _: 1 / 0
        undisturbed = answer_all(runtime, runtime.start())
    celery.close()
    asked = Jobs(database).newest(KIND)
    assert [(job.session_id, job.asked["set"], job.status) for job in asked] == [(ended, "bertscore", "queued")]
    assert undisturbed.profile.session_status is SessionStatus.COMPLETED
    assert len(runtime.reports.revisions(undisturbed.session_id)) == 1
    desk = open_benchmark(settings, database, runtime)
    assert desk.under_way(asked[0].asked["snapshot"]) == {"bertscore": asked[0]}
    desk.run(asked[0].id)
    assert desk.under_way(asked[0].asked["snapshot"]) == {}
    told = desk.jobs.get(asked[0].id).progress
    assert told["done"] == told["of"] > 20
    assert datetime.fromisoformat(told["since"]) >= asked[0].created_at.replace(microsecond=0)


# ---- in the worker and at the terminal ----


def test_a_worker_measures_and_freezes(
    desk: BenchmarkDesk,
    database: Database,
    home: Path,
    servers: Services,
    held: Held,
    snapshot: Snapshot,
    tmp_path: Path,
) -> None:
    empty_queues(servers.redis_url)
    desk.snapshots._runtime.reports.write(held.session, "screening")
    left = answer_all(desk.snapshots._runtime, desk.snapshots._runtime.start()).session_id
    desk.snapshots._runtime.reports.newest(left)
    (job,) = desk.request(snapshot.sha256)
    with worker(home, database.url, tmp_path / "said", REDIS_URL=servers.redis_url) as running:
        send(servers.redis_url, "crosscut.sweep")
        send(servers.redis_url, "crosscut.measure", job.id)
        wait_until(lambda: desk.jobs.get(job.id).status == "done", 120)
        frozen = "SELECT FROM snapshots WHERE revision = 2"
        wait_until(lambda: database.one(frozen) is not None, 120)
        wait_until(lambda: [one.status for one in desk.jobs.newest(KIND) if one.session_id == left] == ["done"], 120)
        assert snapshot.session_id not in running.said()
    card = desk.card(snapshot.sha256)
    assert len(card.bertscore) == 6
    assert "minilm" in card.bertscore[0].metadata["model"]


@pytest.fixture
def crosscut(settings: Settings, database: Database, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.setenv("CROSSCUT_HOME", str(settings.crosscut_home))
    monkeypatch.setenv("DATABASE_URL", database.url)

    def run(*words: str, fails: bool = False) -> Result:
        result = CliRunner().invoke(app, list(words))
        assert (result.exception is not None) == fails, (result.output, result.exception)
        return result

    return run


def test_the_card_at_the_terminal(
    crosscut: Callable[..., Result], desk: BenchmarkDesk, snapshot: Snapshot, tmp_path: Path
) -> None:
    session = snapshot.session_id
    for job in desk.request(snapshot.sha256):
        desk.run(job.id)
    card = desk.card(snapshot.sha256)
    assert crosscut("benchmark", session, "--json", "--wait").stdout == as_json(card)
    assert crosscut("benchmark", session, "--csv").stdout == as_csv(card)
    assert crosscut("benchmark", session, "--markdown").stdout == as_markdown(card, snapshot)
    shown = crosscut("benchmark", session, "--charts", str(tmp_path / "charts")).stdout
    assert card.headline.text in shown
    assert snapshot.sha256 in shown
    assert "Judge not run" in shown
    assert {path.name for path in (tmp_path / "charts").iterdir()} == {
        f"{name}.{kind}" for name in ("radar", "bars", "reliability") for kind in ("svg", "png")
    }
    frozen = crosscut("benchmark", session, "--snapshot").stdout
    assert hashlib.sha256(frozen.encode()).hexdigest() == snapshot.sha256, "the very bytes that the address is of"
    assert isinstance(crosscut("benchmark", session, "--json", "--csv", fails=True).exception, InputError)


def test_corrections_and_labels_at_the_terminal(
    crosscut: Callable[..., Result], runtime: InterviewRuntime, database: Database, snapshot: Snapshot
) -> None:
    session = snapshot.session_id
    told = crosscut("correct", session, "L1-03", "4", "--reason", "said so at the door", "--by", "Dr A").stdout
    assert "Revision 2" in told
    assert runtime.reports.newest(session).profile.item_responses[2].score == 4
    assert isinstance(crosscut("correct", session, "anger", "4", "--reason", "x", fails=True).exception, InputError)
    stopped = runtime.submit(runtime.start().session_id, DANGER, expected_turn=1).session_id
    crosscut("label", stopped, "1", "false stop", "--note", "a line of a film, “really”", "--by", "Dr B")
    crosscut("label", session, "2", "wrong score", "--by", "Dr B")
    crosscut("label", session, "2", "missed", "--by", "Dr B")
    crosscut("label", session, "2", "missed", "--by", "Dr B", "--remove")
    for words in (("2", "wrong"), ("99", "missed"), ("2", "missed", "--remove")):
        assert isinstance(crosscut("label", session, *words, "--by", "Dr B", fails=True).exception, InputError)
    exported = [json.loads(line) for line in crosscut("labels", "--export").stdout.splitlines()]
    assert {(one["session_id"], one["turn"], one["label"], one["note"]) for one in exported} == {
        (stopped, 1, "false stop", "a line of a film, “really”"),
        (session, 2, "wrong score", ""),
    }
    assert [json.loads(line)["session_id"] for line in crosscut("labels", session, "--export").stdout.splitlines()] == [
        session
    ]
    assert rows_naming(database, "a line of a film") == {}
    Labels(database).add(session, 2, "wrong score", "Dr B", "now with a note")
    assert [one.note for one in Labels(database).all_of(session)] == ["now with a note"], "the same label once"
