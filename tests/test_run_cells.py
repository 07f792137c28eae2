"""A cell from its claim to its figures, in one process: whole interviews with models, answers and stops."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agents.models import cost_usd
from benchmark.judge import JUDGE_MODEL, judge_of
from benchmark.making import benchmark_digest
from benchmark.metrics import VERSION
from benchmark.runs.cells import MOST_TRIES, CellRunner
from benchmark.runs.desk import RunDesk
from benchmark.runs.figures import OTHER, CellFigures
from benchmark.runs.measuring import NO_BOOK
from benchmark.runs.spec import RunSpec, parse_spec
from benchmark.runs.tables import markdown
from errors import SettingsError
from graph.provenance import source_digest
from settings import Settings
from storage.database import Database
from storage.deletion import delete_session
from storage.runs import Cell, Runs
from tests.gateway import Gateway, json_reply, server_error
from tests.models import BROKEN, CARELESS, GOOD, answering, diagnosed

CANARY = "the violet heron"


@pytest.fixture
def through(settings: Settings, gate: Gateway) -> Settings:
    gate.default = answering()
    given = {name: getattr(settings, name) for name in Settings.model_fields}
    models = {"gateway_base_url": gate.base_url, "gateway_api_key": "k", "model_embedding": "rules", "model_tries": 1}
    return Settings(_env_file=None, **{**given, **models})


class Bench:
    """A desk and a runner on one database; nobody sends messages, cells are worked on when told."""

    def __init__(self, settings: Settings, database: Database) -> None:
        self.ended: list[str] = []
        self.settings = settings
        self.runs = Runs(database)
        self.database = database
        self.desk = RunDesk(
            settings,
            self.runs,
            wake=lambda _: None,
            wake_aggregate=self.ended.append,
            delete_session=lambda session_id: delete_session(database, session_id),
        )
        self.runner = CellRunner(settings, database, database, self.ended.append)

    def close(self) -> None:
        self.runner.close()

    def held(self, spec: RunSpec) -> tuple[str, dict[str, Cell]]:
        """The run, and its cells by model (or by patient, where there is one model)."""
        run_id = self.desk.start(spec)
        for cell in list(self.runs.cells(run_id)):
            assert self.runner.run(cell.id)
        cells = list(self.runs.cells(run_id))
        by_patient = len(spec.models) == 1
        return run_id, {cell.key.patient if by_patient else cell.key.model: cell for cell in cells}

    def sessions(self) -> int:
        return len(self.database.all("SELECT id FROM sessions"))


@pytest.fixture
def bench(through: Settings, database: Database) -> Iterator[Bench]:
    with closing(Bench(through, database)) as made:
        yield made


def figures(cell: Cell) -> CellFigures:
    assert cell.figures is not None, cell.error
    return CellFigures.model_validate(cell.figures)


def spec(**given: Any) -> RunSpec:
    return parse_spec({"name": "x", "seed": 7, **given})


def test_models_are_measured_and_one_that_gives_nothing_has_failed(bench: Bench, gate: Gateway) -> None:
    run_id, cells = bench.held(spec(personas=["grey-mornings"], models=[GOOD, CARELESS, BROKEN], judge=True))
    good, careless = figures(cells[GOOD]), figures(cells[CARELESS])
    assert (good.outcome, good.stop_right, len(good.items)) == ("completed", True, 23)
    exact = {name: made.metrics["accuracy.item_exact"] for name, made in (("good", good), ("careless", careless))}
    assert (exact["good"] or 0) > (exact["careless"] or 0)
    assert [one.name for one in good.impressions or ()] == ["Major Depressive Disorder"]
    assert {role: played.by_rules for role, played in good.roles.items()} == dict.fromkeys(
        ("interviewer", "scorer", "diagnostician"), 0
    )
    assert good.spent.calls == sum(r.body["model"] == GOOD for r in gate.requests), "the judge is not its cost"
    assert good.judge is not None
    paid = good.judge.spent
    assert paid is not None
    assert (paid.calls, (paid.prompt_tokens or 0) > 1000, (paid.completion_tokens or 0) > 0) == (1, True, True)
    assert paid.cost_usd == pytest.approx(cost_usd(JUDGE_MODEL, paid.prompt_tokens, paid.completion_tokens))
    assert good.judge.scores == dict.fromkeys(("coverage", "relevance", "flow", "justification", "empathy"), 4)
    broken = figures(cells[BROKEN])
    assert (cells[BROKEN].status, broken.outcome, broken.items, broken.metrics) == ("failed", "failed", (), {})
    assert broken.spent.calls == sum(r.body["model"] == BROKEN for r in gate.requests) > 0, "it cost something"
    assert cells[BROKEN].error == "the model gave nothing usable as diagnostician, interviewer, scorer (gateway)"
    made = good.provenance
    assert made is not None
    assert (made.metrics, made.source, made.judge) == (VERSION, source_digest(), judge_of(bench.settings).version)
    assert made.prompts.startswith("interviewer@")
    assert bench.ended == [run_id], "whoever ended the last cell said so, once"
    assert bench.sessions() == 0, "nothing is kept that was not asked for"
    found = bench.desk.aggregate(run_id)
    assert [group.outcomes.failed for group in found.groups] == [0, 0, 1]
    assert found.provenance["metrics"] == {VERSION: 3}, "also of the one that failed"
    assert (found.provenance["judge"], found.is_of_one_making) == ({made.judge: 2}, True)
    assert found.provenance["benchmark"] == {benchmark_digest(): 3}
    assert (found.provenance["library"], found.provenance["embedding"]) == ({NO_BOOK: 3}, {"rules": 3})
    assert found.provenance["temperature"][f"{GOOD}: 0"] == 1
    assert {pair.difference.value for pair in found.pairs if pair.metric == "judge.empathy"} == {0.0}
    assert found.groups[0].total_cost_usd is None, "unknown"
    assert (found.groups[0].wasted, found.groups[2].wasted) == (None, broken.spent)
    assert not any(found.groups[2].estimates.values()), "nothing of it counts"
    assert found.groups[2].judge_cost_usd is None, "nobody pays for a verdict on what failed"
    assert sum(r.body["model"] == JUDGE_MODEL for r in gate.requests) == 2
    assert found.groups[0].judge_cost_usd == pytest.approx(paid.cost_usd, abs=1e-4), "told apart from the model's"


def test_a_stop_is_an_outcome_and_a_kept_session_can_be_looked_at(bench: Bench) -> None:
    run_id, cells = bench.held(spec(personas=["no-way-out"], keep=True))
    (stopped,) = cells.values()
    made = figures(stopped)
    assert (made.outcome, made.stop_right, made.snapshot, made.items, made.metrics) == ("stopped", True, None, (), {})
    assert made.provenance is not None
    assert (made.provenance.metrics, made.provenance.code) == (VERSION, None)
    assert bench.database.all("SELECT * FROM snapshots") == []
    assert stopped.session_id is not None
    assert bench.sessions() == 1
    bench.desk.delete(run_id)
    assert bench.sessions() == 0


def test_prepared_answers_leave_figures_and_no_words(bench: Bench, gate: Gateway, tmp_path: Path) -> None:
    """The model repeats the patient's words as a name and fails now and then: neither gets into the results."""
    file = tmp_path / "answers.jsonl"
    answers = {str(n): [f"Several days, {CANARY}.", "4 days"] for n in range(1, 24)}
    scores = {str(n): 2 for n in range(1, 24)}
    file.write_text(json.dumps({"id": "p 1", "answers": answers, "scores": scores, "impression": None}))
    plain = answering()

    def quoting(body: dict[str, Any]) -> Any:
        if body["response_format"]["json_schema"]["name"] == "Diagnosis":
            quote = f"Several days, {CANARY}."
            named = {"name": CANARY, "confidence": 0.5, "itemIds": ["L1-01"], "quotes": [quote]}
            named |= {"citations": [], "steps": []}
            rest = {"reasoning": ["It was said."], "citations": [], "limitations": ["One."], "ragUsed": False}
            return json_reply({"summary": "An impression from a screening.", "diagnoses": [named], **rest})
        item_five = body["messages"][-1]["content"].startswith("Item: Starting lots more")
        return server_error() if item_five else plain(body)

    gate.default = quoting
    _, cells = bench.held(spec(answers=file, models=[GOOD]))
    made = figures(cells["p 1"])
    assert [one.name for one in made.impressions or ()] == [OTHER]
    assert (made.gold_names, made.stop_right) == ((), None)
    assert made.metrics["accuracy.item_exact"] == 1.0
    assert (made.roles["scorer"].asked, made.roles["scorer"].by_rules) == (23, 1)
    kept = json.dumps(bench.database.all("SELECT * FROM cells") + bench.database.all("SELECT * FROM runs"), default=str)
    assert CANARY not in kept


def test_what_a_model_makes_up_is_in_the_tables_though_no_report_has_it(bench: Bench, gate: Gateway) -> None:
    plain = answering()

    def inventing(body: dict[str, Any]) -> Any:
        made = plain(body)
        if body["model"] != CARELESS or body["response_format"]["json_schema"]["name"] != "Diagnosis":
            return made
        reply = diagnosed(str(body["messages"][-1]["content"]), True)
        (impression,) = reply["diagnoses"]
        invented = {**impression, "quotes": [*impression["quotes"], CANARY], "citations": ["[No Such Book, p. 1]"]}
        return json_reply({**reply, "diagnoses": [invented], "ragUsed": True})

    gate.default = inventing
    run_id, cells = bench.held(spec(personas=["grey-mornings"], models=[GOOD, CARELESS]))
    good, careless = figures(cells[GOOD]).metrics, figures(cells[CARELESS]).metrics
    assert (good["explainability.verbatim_quotes"], good["explainability.real_citations"]) == (1.0, None)
    assert 0 < (careless["explainability.verbatim_quotes"] or 0) < 1
    assert (careless["explainability.real_citations"], careless["explainability.rag_usage"]) == (0.0, 0.0)
    row = next(line for line in markdown(bench.desk.aggregate(run_id)).splitlines() if "Citations that were" in line)
    assert row == "| Citations that were retrieved (share) | – | – | 0.000 | 1 / 1 |"


def test_an_item_that_a_patient_skips_is_counted_and_scored_as_nothing(bench: Bench, tmp_path: Path) -> None:
    """Gold says 0 and 3 of the two that are skipped: as zeros one would be right and the other three points off."""
    file = tmp_path / "answers.jsonl"
    skip = ["I'd rather not answer that.", "I'd rather not say, please go on."]
    answers = {str(n): ["Several days.", "4 days"] for n in range(1, 24)} | {"2": skip, "3": skip}
    scores = {str(n): 2 for n in range(1, 24)} | {"2": 0, "3": 3}
    file.write_text(json.dumps({"id": "p", "answers": answers, "scores": scores, "impression": None}))
    run_id, cells = bench.held(spec(answers=file))
    made = figures(cells["p"])
    assert [item.item for item in made.items if item.unanswered] == [2, 3]
    assert made.metrics["protocol.unanswered"] == 2
    assert made.metrics["accuracy.item_coverage"] == pytest.approx(21 / 23, abs=1e-4)
    (group,) = bench.desk.aggregate(run_id).groups
    for name, value in (("item_exact", 1), ("item_mae", 0), ("unanswered", 2), ("coverage", 1)):
        found = group.estimates[name]
        assert found is not None, name
        assert found.value == pytest.approx(value, abs=1e-4), name
    assert sum(one.count for one in group.reliability["items"]) == 21
    assert "| Items without an answer (count per interview) | 2.00 | 1 / 1 |" in markdown(bench.desk.aggregate(run_id))


def test_a_cell_that_ends_its_workers_is_given_up_and_one_that_is_taken_back_is_left(bench: Bench) -> None:
    run_id = bench.desk.start(spec(personas=["no-way-out", "old-score"]))
    first, second = bench.runs.cells(run_id)
    for _ in range(MOST_TRIES):
        claim = bench.runs.claim(first.id, -1.0)
        assert claim is not None
    assert bench.runner.run(first.id)
    assert next(iter(list(bench.runs.cells(run_id)))).error == f"{MOST_TRIES} workers ended while they worked on it"
    assert bench.desk.cancel(run_id) == 1
    assert not bench.runner.run(second.id)
    assert bench.desk.status(run_id).cancelled == 1
    assert bench.desk.resume(run_id) == 2
    assert bench.runner.run(first.id)
    assert bench.runner.run(second.id)
    assert [figures(cell).stop_right for cell in bench.runs.cells(run_id)] == [True, True]


def test_a_run_with_models_needs_a_key(settings: Settings, database: Database) -> None:
    with closing(Bench(settings, database)) as bench, pytest.raises(SettingsError, match="GATEWAY_API_KEY is not set"):
        bench.desk.start(spec(personas=["what-if"], models=["openai/gpt-4.1"]))
