"""With the extra [metrics] and torch: our BERTScore is that of its own library, and `evaluate` takes our modules."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmark.evaluate_modules import module, modules
from benchmark.metrics import deterministic
from benchmark.metrics.bertscore import EmbeddedScorer, LibraryScorer, scorer
from benchmark.metrics.conversation import spoken
from benchmark.personas import load_personas
from benchmark.simulator import SimulatedPatient
from benchmark.snapshot import Snapshot, SnapshotDesk
from graph.transcripts import NOTHING_TO_ADD
from instruments.level1 import level1
from settings import Settings
from storage.crypto import Vault
from storage.database import Database
from tests.benchmarked import hold, shelved

pytestmark = [pytest.mark.metrics, pytest.mark.timeout(600), pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module", autouse=True)
def offline(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Before anything of Hugging Face is imported: no hub, and caches that go away with the test."""
    cache = str(tmp_path_factory.mktemp("hf"))
    os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_EVALUATE_OFFLINE": "1", "HF_HOME": cache}


@pytest.fixture(scope="module")
def snapshot(template: Callable[[], str], settings: Settings, vault: Vault) -> Snapshot:
    held = hold(template(), settings, vault)
    with Database(held.url, vault) as database, shelved(settings, database) as runtime:
        desk = SnapshotDesk(database, runtime)
        return desk.get(desk.freeze(held.session))


def _pairs() -> list[tuple[str, str]]:
    """Answers of all manner of patients against the items they answer; some short, some long, one with odd signs."""
    pairs = [(NOTHING_TO_ADD, "?"), ("Ça va — “fine”, naïve 🙂", "How are you?"), ("no", "yes " * 600)]
    for number, one in enumerate(load_personas().values()):
        item = level1().items[number % len(level1().items)]
        answer = SimulatedPatient(one, number).answer(item.number, is_follow_up=False, question="")
        pairs.append((answer, item.text))
    return pairs


def test_both_ways_to_a_bertscore_agree_to_three_decimals() -> None:
    pairs = _pairs()
    assert len(pairs) > 36
    ours, theirs = EmbeddedScorer().score(pairs), LibraryScorer().score(pairs)
    for mine, other in zip(ours, theirs, strict=True):
        assert mine == pytest.approx(other, abs=5e-4)
    assert max(one.f1 for one in ours) - min(one.f1 for one in ours) > 0.2, "they tell texts apart"


def test_the_library_is_used_where_it_is_installed_with_whatever_local_model() -> None:
    from minilm.weights import model_folder

    named = scorer(model_folder())
    assert isinstance(scorer(), LibraryScorer)
    assert isinstance(named, LibraryScorer)
    assert named.model == f"{model_folder()} (bert-score)"


def test_what_is_measured_on_a_snapshot_is_the_same_by_evaluate(snapshot: Snapshot, tmp_path: Path) -> None:
    """Of one that keeps the rules and of one that breaks them, so that the figures are not all alike."""
    import evaluate

    said = "You should see a doctor. " * 3
    lines = tuple(
        line.model_copy(update={"text": said}) if line.kind in ("intro", "closing") else line for line in snapshot.lines
    )
    both = [snapshot, snapshot.model_copy(update={"lines": lines, "sections": snapshot.sections[:1]})]
    asked = {
        "readability": [line.text for line in both[1].lines if line.role == "interviewer"],
        "coherence": [line.text for line in spoken(both[1])],
        "protocol": [one.model_dump_json(by_alias=True) for one in both],
        "explainability": [one.model_dump_json(by_alias=True) for one in both],
    }
    ours: list[dict[str, float | None]] = [
        {metric.name.partition(".")[2]: metric.value for metric in deterministic(one)} for one in both
    ]
    assert [one["oversteps"] for one in ours] == [0, 2]
    for name, predictions in asked.items():
        found = evaluate.load(module(name), cache_dir=str(tmp_path)).compute(predictions=predictions)
        found.pop("model", None)
        per_snapshot = name in ("protocol", "explainability")
        assert len(found) == {"readability": 3, "coherence": 2, "protocol": 8, "explainability": 9}[name]
        for key, value in found.items():
            assert value == ([one[key] for one in ours] if per_snapshot else ours[1][key]), (name, key)


CASES: dict[str, tuple[list[Any], list[Any], dict[str, Any]]] = {
    "items": ([0, 1, 2, 4], [0, 1, 2, 3], {"exact": 0.75, "mae": 0.25}),
    "impressions": (["A", "A", "B"], ["A", "B", "B"], {"top1": 2 / 3, "macro_f1": 2 / 3}),
    "calibration": ([1.0, 0.5], [True, False], {"brier": 0.125}),
    "bertscore": (["I sleep badly."], ["I sleep badly."], {"f1": [1.0], "model": "embedded/minilm-l6-v2"}),
}


def test_every_module_is_tried() -> None:
    assert {*CASES, "readability", "coherence", "protocol", "explainability"} == set(modules())


@pytest.mark.parametrize("name", CASES)
def test_our_metrics_are_modules_of_evaluate(name: str, tmp_path: Path) -> None:
    import evaluate

    predictions, references, expected = CASES[name]
    found = evaluate.load(module(name), cache_dir=str(tmp_path)).compute(predictions=predictions, references=references)
    for key, value in expected.items():
        assert found[key] == (value if isinstance(value, str) else pytest.approx(value, abs=1e-4))
