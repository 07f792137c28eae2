"""Every chart that can be exported, read as a reviewer would: titles, axes with units, legends, type, and marks."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from benchmark import charts as of_card
from benchmark.card import Card, card_of, core_of
from benchmark.card_files import as_markdown
from benchmark.comparison import Column, Comparison, RunState, as_csv, compared
from benchmark.comparison import charts as of_comparison
from benchmark.judge import Judgement
from benchmark.metrics import deterministic
from benchmark.metrics.calibration import reliability
from benchmark.reliability import FEWEST, Curve, curves, why_not_drawn
from benchmark.runs import charts as of_run
from benchmark.runs.aggregate import Aggregate, aggregated
from benchmark.runs.spec import parse_spec
from benchmark.snapshot import Snapshot
from benchmark.styling import TYPE
from instruments.tools import Diagnosis, Impression
from settings import Settings
from storage.crypto import Vault
from storage.runs import Cell
from tests.benchmarked import frozen, hold
from tests.svg import Drawn, read
from tests.test_judge import verdict
from tests.test_run_report import GOLD, MDD, completed

GAD, INSOMNIA = "Generalized Anxiety Disorder", "Insomnia Disorder"
DRIVER, SECOND, THIRD = "openai/gpt-4.1", "anthropic/claude-sonnet-4-20250514", "google/gemini-2.5-pro"
ALIKE = "anthropic/claude-sonnet-4-20250615"
"""Begins as another model does: two names must stay two rows."""

RELIABLE = {"Mean confidence (0–1)", "Share that was right (0–1)"}
SHARES = {"share of items", "share of interviews", "κ, −1 to 1", "F1, 0 to 1", "Model and mode"}
EFFORT = {
    "points, 0 to 4",
    "count per interview",
    "score, 0 to 1",
    "s per interview",
    "tokens per interview",
    "USD per interview",
    "Model and mode",
}
GAPS = {"points, 0 to 4", "share of items", "share of interviews", "score, 0 to 1"}
"""What the models below differ in."""
AXES: dict[str, set[str]] = {
    "card/radar": set(),
    "card/bars": {"Metric", "Share of the limit reached (%)"},
    "card/reliability": RELIABLE,
    "comparison/impressions": {"Impression", "Confidence (0–1)"},
    "run/accuracy": SHARES,
    "run/errors-and-effort": EFFORT,
    "run/differences": {"Pair of models"} | {f"difference, {unit}" for unit in GAPS},
    "run/classes": {"Model and mode", "Impression named first"},
    "run/reliability": RELIABLE,
}
"""Every chart there is, with the names of its axes."""
LEGENDS = {"card/bars": {"PASS", "WARN", "FAIL"}, "comparison/impressions": {f"{DRIVER} (driver)", SECOND, THIRD}}
"""Where colours stand for something that is not named beside its marks."""


@pytest.fixture(scope="module")
def snapshot(template: Callable[[], str], settings: Settings, vault: Vault) -> Snapshot:
    return frozen(hold(template(), settings, vault), settings, vault)


@pytest.fixture(scope="module")
def card(snapshot: Snapshot) -> Card:
    opinions: Any = verdict(empathy={"score": 1, "note": "Cold."}, flow={"score": 3, "note": "It jumps."})
    judgement = Judgement.model_validate({"status": "scored", "verdict": opinions})
    return card_of(core_of(snapshot, deterministic(snapshot)), judgement, None)


def _column(model: str, named: dict[str, float] | None) -> Column:
    said: dict[str, Any] = {"model": model, "is_driver": model == DRIVER, "engine": "llm", "seconds": 1.5}
    if named is None:
        return Column.model_validate({**said, "error": "no usable answer"})
    if model == DRIVER:
        said["judgement"] = Judgement(status="unscored", failures=("timeout", "schema"))
    made = [Impression(name=name, confidence=sure, item_ids=("L1-01",)) for name, sure in named.items()]
    nothing: dict[str, Any] = {"reasoning": (), "citations": (), "limitations": (), "rag_used": False}
    return Column.model_validate({**said, "diagnosis": Diagnosis(summary="Weighed.", diagnoses=tuple(made), **nothing)})


def _comparison() -> Comparison:
    state = RunState(
        run_id="r", session_id="s", snapshot_sha256="0" * 64, status="done", columns=(), asked_at=datetime.now(UTC)
    )
    named = {DRIVER: {MDD: 0.8, INSOMNIA: 0.3}, SECOND: {INSOMNIA: 0.3, MDD: 0.8, GAD: 0.2}, THIRD: None}
    return compared(state, [_column(model, impressions) for model, impressions in named.items()])


def _run() -> Aggregate:
    """Two modes, and models whose names differ only at their ends."""
    patients = {"grey-mornings": (MDD,), "what-if": (GAD,), "steady-nurse": ()}
    models, modes = ["rules", SECOND, ALIKE], ["diagnostic", "categorical"]
    spec = parse_spec({"name": "three engines", "personas": [*patients], "models": models, "modes": modes})
    cells = []
    for number, key in enumerate(spec.cells([*patients])):
        gold = patients[key.patient]
        scores = GOLD if key.model == "rules" else [1, 2, 2, 3, 4 - number % 2]
        figures = completed(scores, GOLD, list(gold) if number % 2 else [MDD], gold)
        cells.append(Cell(number, "run", key, "done", 1, None, figures, None))
    return aggregated(spec, cells)


@pytest.fixture(scope="module")
def pictures(card: Card, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Drawn]:
    folder = tmp_path_factory.mktemp("charts")
    made = {
        "card": of_card.charts_of(card),
        "comparison": of_comparison.charts_of(_comparison()),
        "run": of_run.charts_of(_run()),
    }
    return {
        f"{where}/{name}": read(of_card.save(chart, folder / f"{where}-{name}.svg").read_text())
        for where, charts in made.items()
        for name, chart in charts.items()
    }


def test_what_collides_or_is_cut_off_would_be_found() -> None:
    said = '<text font-size="12px" text-anchor="{}" transform="translate({},{}) rotate({})">Pair of models</text>'
    places = [("start", 10, 50, 0), ("start", 60, 52, 0), ("middle", 30, 90, 0), ("end", 190, 90, -90)]
    inside = "".join(said.format(*place) for place in places)
    drawn = read(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 200 200">{inside}</svg>')
    assert len(drawn.colliding()) == 1
    assert len(drawn.outside()) == 1
    assert drawn.ground == ""


def test_there_is_every_chart_and_no_other(pictures: dict[str, Drawn]) -> None:
    assert set(pictures) == set(AXES)


@pytest.mark.parametrize("name", AXES)
def test_a_chart_could_be_put_into_a_paper(pictures: dict[str, Drawn], name: str) -> None:
    drawn = pictures[name]
    assert drawn.ground == "white"
    assert drawn.said("title-text"), "a title"
    assert drawn.said("title-subtitle"), "and what a reader needs to know of it"
    assert set(drawn.said("axis-title")) == AXES[name]
    assert {text.said for text in drawn.texts if text.role == "legend-label"} == LEGENDS.get(name, set())
    assert len(drawn.legends) == bool(LEGENDS.get(name))
    assert min(text.size for text in drawn.texts) >= TYPE
    assert drawn.outside() == []
    assert drawn.colliding() == []
    assert sum(drawn.marks.values()) > 0


def test_every_panel_has_its_x_axis_named_and_the_first_of_a_row_its_y_axis(pictures: dict[str, Drawn]) -> None:
    for name, drawn in pictures.items():
        across = [axis for axis in drawn.axes if axis.startswith("X-axis")]
        assert all("titled" in axis for axis in across), name
        upright = [axis for axis in drawn.axes if axis.startswith("Y-axis")]
        assert bool(upright) == bool(AXES[name])
        assert sum("titled" in axis for axis in upright) >= len(upright) / 3, name


def test_charts_show_as_many_marks_as_there_are_figures(card: Card, pictures: dict[str, Drawn]) -> None:
    graded = [metric for metric in card.metrics if metric.grade]
    bars = pictures["card/bars"]
    assert bars.marks["mark-rect"] >= len(graded)
    assert {metric.label for metric in graded} == set(bars.said("axis-label")) & {metric.label for metric in graded}
    (curve,) = [curve for curve in curves(card) if curve.can_be_drawn]
    assert pictures["card/reliability"].marks["mark-symbol"] == len(curve.bins)
    assert pictures["comparison/impressions"].marks["mark-symbol"] == 5
    assert pictures["comparison/impressions"].said("mark") == ["rank 1", "rank 2", "rank 2", "rank 1", "rank 3"]
    made = _run()
    shown = pictures["run/accuracy"]
    names = ("item_exact", "kappa", "top1", "top3", "macro_f1", "stop_right")
    found = [group.estimates[name] for name in names for group in made.groups]
    assert shown.marks["mark-symbol"] == sum(one is not None for one in found)
    assert sorted(shown.said("mark")) == sorted(f"n = {one.cells} / {one.patients}" for one in found if one)


def test_a_count_stands_over_its_point_and_counts_do_not_touch() -> None:
    assert of_card._apart([0.1, 0.5, 0.9]) == [0.1, 0.5, 0.9]
    assert of_card._apart([0.58, 0.61]) == [0.58, 0.67]
    close = of_card._apart([0.0, 0.19, 0.2, 0.39, 0.4, 0.59, 0.6, 0.99, 1.0])
    gaps = [right - left for left, right in pairwise(close)]
    assert min(gaps) >= 0.09 - 1e-9
    assert (min(close), max(close)) == (0.0, 1.0)


def test_panels_of_a_row_have_their_titles_at_one_height(tmp_path: Path) -> None:
    """Also with one pair of models, where a panel is lower than the name of its rows is long."""
    spec = parse_spec({"name": "two", "personas": ["what-if", "grey-mornings"], "models": ["rules", SECOND]})
    cells = [
        Cell(n, "run", key, "done", 1, None, completed([n % 3, 2, 2, 3, 4], GOLD, [], (MDD,)), None)
        for n, key in enumerate(spec.cells(["what-if", "grey-mornings"]))
    ]
    for name in ("accuracy", "differences"):
        made = of_run.charts_of(aggregated(spec, cells))[name]
        drawn = read(of_card.save(made, tmp_path / f"{name}.svg").read_text())
        heights = [text.y for text in drawn.texts if text.role == "title-text" and "two" not in text.said]
        panels = [text for text in drawn.texts if text.role == "axis-title" and not text.angle]
        rows = -(-len(panels) // 3)
        assert len(heights) > rows
        assert len(set(heights)) == rows, name


def test_too_few_confidences_are_said_and_not_drawn(card: Card, snapshot: Snapshot) -> None:
    def curve(count: int) -> Curve:
        return Curve("Impressions", tuple(reliability([(0.5, True)] * count)))

    assert of_card.reliability_chart([curve(FEWEST - 1)]) is None
    assert of_card.reliability_chart([curve(FEWEST)]) is not None
    assert (
        why_not_drawn([curve(1)])
        == "No reliability plot: Impressions: 1 confidence, too few to be drawn (fewer than 10)."
    )
    assert why_not_drawn([curve(FEWEST), curve(1)]) == ""
    nobody = snapshot.model_copy(update={"persona_id": None})
    without = card_of(core_of(nobody, deterministic(nobody)), None, None)
    assert curves(without) == ()
    assert set(of_card.charts_of(without)) == {"radar", "bars"}
    assert "no gold" in why_not_drawn(curves(without))
    assert "## Reliability" not in as_markdown(without, nobody)
    few = next(one for one in curves(card) if not one.can_be_drawn)
    text = as_markdown(card, snapshot, {"reliability": "a b/reliability.svg"}).replace("\\", "")
    assert f"{few.too_few}." in text
    assert "![reliability](<a b/reliability.svg>)" in text


def test_a_comparison_as_csv_has_a_line_a_figure_and_no_zero_for_what_is_unknown() -> None:
    lines = list(csv.reader(io.StringIO(as_csv(_comparison()))))
    values = {tuple(line[3:7]): (line[7], line[8]) for line in lines[1:]}
    assert len(values) == len(lines) - 1, "no figure twice"
    assert values["confidence", SECOND, "", GAD] == ("0.2", "0 to 1")
    assert ("confidence", DRIVER, "", GAD) not in values
    assert values["cost", DRIVER, "", ""] == ("", "USD")
    assert values["answered", THIRD, "", ""] == ("0", "1 yes, 0 no")
    assert (values["error", THIRD, "", ""][0], values["error", DRIVER, "", ""][0]) == ("no usable answer", "")
    assert values["judge_status", THIRD, "", ""] == ("no report", "text")
    assert values["judge_status", DRIVER, "", ""] == ("unscored", "text")
    assert values["judge_failures", DRIVER, "", ""] == ("timeout, schema", "text")
    assert values["judge_status", SECOND, "", ""] == ("pending", "text"), "still to come is not a bad verdict"
    assert values["judge_flow", THIRD, "", ""] == ("", "1 to 5")
    assert values["jaccard_at_1", DRIVER, SECOND, ""] == ("0.0", "0 to 1")
    assert float(values["spearman", DRIVER, SECOND, ""][0]) == pytest.approx(-1)
