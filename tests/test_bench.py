"""A bench that misses an aim says so, with figures that show it, and ends with a failure."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from tools.bench import __main__ as bench
from tools.bench import batch
from tools.bench.aims import Aim
from tools.bench.batch import BatchFigures, Timed


@pytest.mark.parametrize(
    ("value", "shown", "verdict"),
    [
        (1.27, "1.270", "aim ≤ 1.3 met"),
        (1.3, "1.300", "aim ≤ 1.3 met"),
        (1.300004, "1.300004", "aim ≤ 1.3 missed"),
        (1.2999999, "1.2999999", "aim ≤ 1.3 met"),
        (2.0, "2.000", "aim ≤ 1.3 missed"),
    ],
)
def test_a_ratio_is_shown_as_exactly_as_its_verdict_needs(value: float, shown: str, verdict: str) -> None:
    aim = Aim("a turn", value, 1.3)
    assert (aim.shown, aim.verdict) == (shown, verdict)


@pytest.mark.parametrize(
    ("value", "shown", "verdict"),
    [
        (1.89, "1.890", "aim ≥ 1.7 met"),
        (1.7, "1.700", "aim ≥ 1.7 met"),
        (1.69999, "1.69999", "aim ≥ 1.7 missed"),
        (1.2, "1.200", "aim ≥ 1.7 missed"),
    ],
)
def test_some_ratios_must_be_at_least_so_high(value: float, shown: str, verdict: str) -> None:
    aim = Aim("two processes", value, 1.7, least=True)
    assert (aim.shown, aim.verdict) == (shown, verdict)


@pytest.mark.parametrize(("seconds", "code", "verdict"), [(76.6, 0, "met"), (120.0, 1, "missed")])
def test_a_second_worker_that_is_not_worth_it_is_the_commands_failure(
    seconds: float, code: int, verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = io.StringIO()
    runs = {1: Timed(145.0, 11.0, 2.0), 2: Timed(seconds, 11.0, 2.0)}
    monkeypatch.setattr(bench, "Console", lambda **_: Console(file=said, width=120))
    monkeypatch.setattr(batch, "measure", lambda _: BatchFigures(12, runs, 0.5))
    assert bench.main("batch") == code
    assert f"aim ≥ 1.7 {verdict}" in said.getvalue()
    assert ("a batch run by 2 processes, times one: 1.208, aim ≥ 1.7 missed" in said.getvalue()) is bool(code)


@pytest.mark.parametrize(("share", "code"), [(39.9, 0), (40.2, 1)])
def test_a_missed_aim_is_the_commands_failure(share: float, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    said = Console(file=io.StringIO(), width=120)
    monkeypatch.setattr(bench, "Console", lambda **_: said)
    monkeypatch.setattr(bench, "_turns", lambda _: [Aim("a turn", 1.2, 1.3), Aim("prompt tokens", share, 40, " %")])
    assert bench.main("turns") == code
    assert isinstance(said.file, io.StringIO)
    assert ("prompt tokens: 40.200 %, aim ≤ 40 % missed" in said.file.getvalue()) is bool(code)
