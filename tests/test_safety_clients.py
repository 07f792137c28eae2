"""After a stop nobody is asked for anything: every model behind one gateway, the library, the report, the benchmark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from langgraph.types import Command

from agents.escalation import escalation
from benchmark.comparison.desk import ComparisonDesk, open_desk
from benchmark.desk import BenchmarkDesk, open_benchmark
from benchmark.snapshot import SnapshotDesk
from errors import InputError
from graph.assembly import build_runtime
from graph.replay import Replay
from graph.runtime import InterviewRuntime
from graph.view import View
from instruments.profile import SessionStatus
from instruments.tools import GenerateReport, Passages, RetrieveDsmPassages
from settings import Settings
from storage.crypto import Vault
from storage.database import Database
from storage.embedded import Services
from storage.jobs import Jobs
from tests.answers import answer_until
from tests.benchmarked import Held, Shelf, copied, hold, shelved
from tests.gateway import Behaviour, Gateway, json_reply
from tests.models import CARELESS, GOOD, answering
from workers import celery_app

DANGER = "I am going to kill myself tonight."
SCRIPT = escalation("en-US").script
EMBEDDING = "openai/text-embedding-3-small"
REFUSED = "stopped for safety"


@dataclass
class Spy:
    """The library of one passage, which counts who looks into it."""

    calls: list[RetrieveDsmPassages] = field(default_factory=list)

    def retrieve_dsm_passages(self, call: RetrieveDsmPassages) -> Passages:
        self.calls.append(call)
        return Shelf().retrieve_dsm_passages(call)


@dataclass(frozen=True)
class Bench:
    """A product whose every role is a model behind the gateway."""

    settings: Settings
    database: Database
    runtime: InterviewRuntime
    gate: Gateway
    spy: Spy

    def asked(self) -> tuple[int, int]:
        return len(self.gate.requests), len(self.spy.calls)

    def kinds(self) -> set[str]:
        """What the models were asked for, by the schema of the answer."""
        bodies = [request.body for request in self.gate.requests]
        return {body["response_format"]["json_schema"]["name"] for body in bodies if "response_format" in body}


@pytest.fixture(scope="module")
def held(template: Callable[[], str], settings: Settings, vault: Vault) -> Held:
    return hold(template(), settings, vault)


@pytest.fixture
def bench(settings: Settings, held: Held, servers: Services, vault: Vault, gate: Gateway) -> Iterator[Bench]:
    gate.default = _answer
    gate.models = (GOOD, CARELESS, EMBEDDING)
    roles = dict.fromkeys(("model_interviewer", "model_scorer", "model_risk", "model_diagnostician"), GOOD)
    wired = Settings(
        _env_file=None,
        crosscut_home=settings.crosscut_home,
        gateway_base_url=gate.base_url,
        gateway_api_key="k",
        model_embedding=EMBEDDING,
        model_choices=CARELESS,
        **roles,  # type: ignore[arg-type]
    )
    spy = Spy()
    with copied(held, servers, vault) as database, shelved(wired, database, retriever=spy) as runtime:
        yield Bench(wired, database, runtime, gate, spy)


def _answer(body: dict[str, Any]) -> Behaviour:
    if body["response_format"]["json_schema"]["name"] == "ModelOpinion":
        opinion = {"level": "none", "suicidality": False, "selfHarm": False, "violence": False, "substance": False}
        return json_reply(opinion)
    return answering()(body)


@contextmanager
def nobody_is_asked(bench: Bench) -> Iterator[None]:
    before = bench.asked()
    yield
    assert bench.asked() == before


def is_script(view: View) -> bool:
    """The script, to the byte, as the last and only thing that is left to read."""
    shown = view.lines[-1].text.encode() == SCRIPT.encode()
    return shown and view.profile.session_status is SessionStatus.TERMINATED and not view.open


def everything_is_refused_or_the_script(bench: Bench, session: str) -> None:
    runtime, reports = bench.runtime, bench.runtime.reports
    stopped = runtime.view(session)
    for text in ("I am fine now.", "Several days.", "skip", "What do you mean?", DANGER):
        assert is_script(runtime.submit(session, text, expected_turn=stopped.turn))
    for look in (runtime.view, runtime.watch, runtime.stored, runtime.recover, runtime.stop):
        assert look(session) == stopped
    assert session not in runtime.recover_all()
    for again in (None, Command(resume="Several days."), Command(goto="SCORE_ITEM"), Command(goto="ASK_ITEM")):
        runtime.graph.invoke(again, {"configurable": {"thread_id": session}}, durability="sync")
        assert runtime.view(session) == stopped
    for refused in (
        lambda: reports.write(session),
        lambda: reports.correct(session, 1, 2, "a slip", "Dr A"),
        lambda: SnapshotDesk(bench.database, runtime).freeze(session),
    ):
        with pytest.raises(InputError, match=REFUSED):
            refused()
    assert session not in reports.write_missing()
    _reloaded(bench, stopped)


def _reloaded(bench: Bench, stopped: View) -> None:
    """Another process opens the same session."""
    other = build_runtime(bench.settings, bench.database)
    try:
        assert other.view(stopped.session_id) == stopped
        assert is_script(other.submit(stopped.session_id, "Hello again.", expected_turn=stopped.turn))
    finally:
        other.close()


def replays_and_forks_show_the_script(bench: Bench, session: str) -> None:
    replay = Replay(bench.database, bench.runtime)
    closed = [one for one in replay.checkpoints(session) if one.status is SessionStatus.TERMINATED]
    assert closed
    for checkpoint in closed:
        assert replay.view(session, checkpoint.checkpoint_id).profile.session_status is SessionStatus.TERMINATED
        fork = replay.fork(session, checkpoint.checkpoint_id, "Several days.")
        assert is_script(bench.runtime.view(fork.session_id))


def test_a_session_stopped_in_the_middle_asks_nobody_for_anything(bench: Bench) -> None:
    view = answer_until(bench.runtime, bench.runtime.start(), 3)
    session = view.session_id
    assert bench.kinds() == {"Draft", "ItemScore", "ModelOpinion"}, "the models that a stop must silence are not asked"
    with nobody_is_asked(bench):
        assert is_script(bench.runtime.submit(session, DANGER, expected_turn=3))
        everything_is_refused_or_the_script(bench, session)
        replays_and_forks_show_the_script(bench, session)
        with pytest.raises(InputError, match=REFUSED):
            list(bench.runtime.reports.generate_report(GenerateReport(session_id=session)))


def test_a_session_stopped_after_its_end_ends_what_was_asked_for(
    bench: Bench, held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, runtime = held.session, bench.runtime
    runtime.reports.write(session)
    assert bench.kinds() == {"Diagnosis"}
    assert bench.spy.calls, "the report did not look into the library"
    cards, comparisons = _desks(bench)
    sha256 = cards.freeze(session)
    measuring = [job.id for job in cards.request(sha256)]
    run = comparisons.ask(sha256, [CARELESS])
    comparing = comparisons.job_of(run)
    assert len(measuring) == 2
    done = runtime.view(session)
    with nobody_is_asked(bench):
        assert is_script(runtime.submit(session, DANGER, expected_turn=done.turn))
        for job in (*measuring, comparing):
            assert Jobs(bench.database).get(job).status == "cancelled"
        everything_is_refused_or_the_script(bench, session)
        for refused in (
            lambda: cards.request(sha256, again=True),
            lambda: cards.card(sha256),
            lambda: comparisons.ask(sha256, [CARELESS]),
            lambda: comparisons.columns(run),
        ):
            with pytest.raises(InputError, match=REFUSED):
                refused()
        _workers_find_nothing(bench, comparisons, monkeypatch)
        for job in measuring:
            cards.run(job)
        comparisons.work(comparing)
        assert comparisons.runs._db.one("SELECT count(*) FROM comparison_columns") == {"count": 0}
    comparisons.close()


def _desks(bench: Bench) -> tuple[BenchmarkDesk, ComparisonDesk]:
    def no_scorer() -> Any:
        raise AssertionError("a stopped session was measured")

    cards = replace(open_benchmark(bench.settings, bench.database, bench.runtime), scorer=no_scorer)
    return cards, open_desk(bench.settings, bench.database, bench.runtime)


def _workers_find_nothing(bench: Bench, comparisons: ComparisonDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sweep and the taking up of lost jobs, as a worker's process runs them."""
    at_work = {
        "settings": bench.settings,
        "database": bench.database,
        "runtime": bench.runtime,
        "comparisons": comparisons,
    }
    for name, value in at_work.items():
        monkeypatch.setattr(celery_app._process, name, value)
    celery_app.sweep()
    assert celery_app.take_up(0.0) == 0
