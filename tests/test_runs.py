"""Runs in Postgres: who may work on a cell, whose figures count, and what becomes of what is left."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from benchmark.runs.aggregate import Aggregate, aggregated
from benchmark.runs.spec import RunSpec, parse_spec
from errors import NotFoundError
from storage.database import Database
from storage.runs import Cell, CellKey, Claim, Runs
from workers.runs import enter_tables

KEYS = [CellKey(patient, model, "diagnostic", repeat) for patient in "abc" for model in "xy" for repeat in (1, 2)]
FIGURES = {"outcome": "completed"}
LONG, OVER = 600.0, -1.0


@pytest.fixture
def runs(database: Database) -> Runs:
    return Runs(database)


@pytest.fixture
def run_id(runs: Runs) -> str:
    return runs.create("a run", {"name": "a run"}, dict.fromkeys("abc"), KEYS)


def claims(runs: Runs, run_id: str) -> Iterator[Claim]:
    for cell in runs.cells(run_id):
        claim = runs.claim(cell.id, LONG)
        assert claim is not None
        yield claim


def first_cell(runs: Runs, run_id: str) -> int:
    return next(iter(list(runs.cells(run_id)))).id


def test_a_run_has_each_cell_once_in_the_order_of_its_keys(runs: Runs, run_id: str) -> None:
    assert [cell.key for cell in runs.cells(run_id)] == sorted(KEYS)
    with pytest.raises(Exception, match="cells_run_id_patient_model_mode_repeat_key"):
        runs.create("twice", {}, {"a": None}, [KEYS[0], KEYS[0]])
    assert [run.id for run in runs.newest()] == [run_id], "a run that could not be written whole is not there"


def test_a_run_is_its_starters(runs: Runs, run_id: str) -> None:
    mine = runs.create("mine", {}, {}, [], owner="me")
    runs.create("yours", {}, {}, [], owner="you")
    assert [run.id for run in runs.newest(owner="me")] == [mine]
    assert len(runs.newest()) == 3
    assert (runs.get(mine).owner, runs.get(run_id).owner) == ("me", None)


def test_a_cell_is_one_persons_until_the_lease_is_over(runs: Runs, run_id: str) -> None:
    cell = first_cell(runs, run_id)
    first = runs.claim(cell, LONG)
    assert first is not None
    assert runs.claim(cell, LONG) is None
    assert runs.keep(first, OVER), "a heartbeat, as late as if the holder had fallen silent"
    second = runs.claim(cell, LONG)
    assert second is not None
    assert (second.tries, first.tries) == (2, 1)
    assert not runs.keep(first, LONG)
    assert runs.finish(first, FIGURES) == "lost", "whoever was silent too long has nothing to say any more"
    assert runs.finish(second, FIGURES) == "entered"
    assert runs.finish(second, {"outcome": "stopped"}) == "lost"
    assert runs.claim(cell, LONG) is None
    assert next(iter(list(runs.cells(run_id)))).figures == FIGURES


def test_of_many_who_claim_a_cell_at_once_one_gets_it(runs: Runs, run_id: str) -> None:
    cell, together = first_cell(runs, run_id), Barrier(6)

    def claim() -> Claim | None:
        together.wait(30)
        return runs.claim(cell, LONG)

    with ThreadPoolExecutor(6) as pool:
        got = [future.result() for future in [pool.submit(claim) for _ in range(6)]]
    assert sum(one is not None for one in got) == 1


def test_of_those_who_finish_at_once_exactly_one_is_the_last(runs: Runs, run_id: str) -> None:
    taken = list(claims(runs, run_id))
    for claim in taken[6:]:
        assert runs.finish(claim, None, error="the model gave nothing") == "entered"
    together = Barrier(6)

    def finish(claim: Claim) -> str:
        together.wait(30)
        return runs.finish(claim, FIGURES)

    with ThreadPoolExecutor(6) as pool:
        told = sorted(pool.map(finish, taken[:6]))
    assert told == ["entered"] * 5 + ["last"]
    assert runs.get(run_id).status == "aggregating"
    assert runs.unaggregated() == [run_id]
    assert runs.counts(run_id) == {"queued": 0, "running": 0, "done": 6, "failed": 6, "cancelled": 0}


def test_the_tables_of_a_run_are_made_by_one_and_once(runs: Runs, run_id: str, database: Database) -> None:
    for claim in claims(runs, run_id):
        runs.finish(claim, FIGURES)
    with runs.aggregating(run_id) as run:
        assert run is not None
        with Runs(database).aggregating(run_id) as another:
            assert another is None
        assert runs.enter_aggregate(run, {"groups": []})
    with runs.aggregating(run_id) as again:
        assert again is None
    assert (runs.get(run_id).status, runs.get(run_id).aggregate) == ("done", {"groups": []})


def test_tables_of_cells_as_they_were_before_a_run_was_taken_up_again_are_not_its_last(runs: Runs, run_id: str) -> None:
    first, *others = claims(runs, run_id)
    runs.finish(first, None, error="the model gave nothing")
    for claim in others:
        runs.finish(claim, FIGURES)
    with runs.aggregating(run_id) as run:
        assert run is not None
        assert runs.resume(run_id) == 1, "while the tables are made"
        assert not runs.enter_aggregate(run, {"groups": ["old"]}), "a cell is open"
        (again,) = [found for cell in runs.to_send(1) if (found := runs.claim(cell, LONG))]
        assert runs.finish(again, FIGURES) == "last"
        with runs.aggregating(run_id) as another:
            assert another is None, "whoever ended the last cell leaves it to who is at work"
        assert not runs.enter_aggregate(run, {"groups": ["old"]}), "the cells are others now"
        renewed = runs.to_aggregate(run_id)
        assert renewed is not None
        assert runs.enter_aggregate(renewed, {"groups": ["new"]})
    assert (runs.get(run_id).status, runs.get(run_id).aggregate) == ("done", {"groups": ["new"]})


def test_the_worker_makes_stale_tables_again(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = parse_spec({"name": "x", "personas": ["what-if"]})
    run_id = runs.create("x", spec.to_json_dict(), {"what-if": None}, spec.cells(["what-if"]))
    (claim,) = claims(runs, run_id)
    runs.finish(claim, None, error="the model gave nothing")
    made: list[int] = []

    def taken_up_meanwhile(spec: RunSpec, cells: Iterable[Cell]) -> Aggregate:
        found = aggregated(spec, list(cells))
        made.append(found.groups[0].outcomes.failed)
        if len(made) == 1:
            runs.resume(run_id)
            (again,) = claims(runs, run_id)
            assert runs.finish(again, {"outcome": "stopped", "spent": {"seconds": 1.0}}) == "last"
        return found

    monkeypatch.setattr("workers.runs.aggregated", taken_up_meanwhile)
    with runs.aggregating(run_id) as run:
        assert enter_tables(runs, run)
    assert made == [1, 0]
    kept = runs.get(run_id).aggregate
    assert kept is not None
    assert kept["groups"][0]["outcomes"]["stopped"] == 1
    assert not enter_tables(runs, runs.to_aggregate(run_id)), "once"


def test_what_is_given_back_is_no_try(runs: Runs, run_id: str) -> None:
    """A database that is away for an hour ends no worker, so no cell is given up for it."""
    cell_id = first_cell(runs, run_id)
    for _ in range(3):
        claim = runs.claim(cell_id, LONG)
        assert claim is not None
        assert claim.tries == 1
        runs.give_back(claim)


def test_messages_go_out_in_pieces_and_again_when_they_are_lost(runs: Runs, run_id: str) -> None:
    sent = runs.to_send(5)
    assert len(sent) == 5
    assert runs.to_send(5) == [], "so many are on their way"
    claim = runs.claim(sent[0], LONG)
    assert claim is not None
    (sixth,) = runs.to_send(5)
    assert sixth not in sent
    assert set(runs.to_send(100, again=True)) == {cell.id for cell in runs.cells(run_id)} - {sent[0]}
    runs.keep(claim, OVER)
    assert runs.to_send(100) == [sent[0]], "its holder is silent"


def test_a_cancelled_run_is_given_to_nobody_until_it_is_resumed(runs: Runs, run_id: str) -> None:
    held, done, failed, *_ = claims(runs, run_id)
    runs.finish(done, FIGURES)
    runs.finish(failed, None, error="x")
    assert runs.cancel(run_id) == 10
    assert not runs.keep(held, LONG), "the heartbeat tells whoever was at work"
    assert runs.finish(held, FIGURES) == "lost"
    assert (runs.to_send(100, again=True), runs.claim(held.cell_id, LONG)) == ([], None)
    assert runs.resume(run_id) == 11, "what failed is tried again as well"
    assert len(runs.to_send(100)) == 11
    assert runs.counts(run_id)["done"] == 1


def test_prepared_answers_are_sealed_and_go_with_their_run(runs: Runs, database: Database) -> None:
    run_id = runs.create("b", {}, {"p": b"my own words"}, [CellKey("p", "x", "diagnostic", 1)])
    assert runs.answers(run_id, "p") == b"my own words"
    stored = database.one("SELECT answers FROM run_patients WHERE run_id = %s", run_id)
    assert stored is not None
    assert b"words" not in bytes(stored["answers"])
    runs.delete(run_id)
    with pytest.raises(NotFoundError, match="crosscut batch list"):
        runs.get(run_id)
    assert database.one("SELECT FROM cells WHERE run_id = %s", run_id) is None
    assert database.one("SELECT FROM run_patients WHERE run_id = %s", run_id) is None
