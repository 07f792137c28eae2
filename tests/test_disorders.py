"""The disorders that impressions may name, and the features that tell them apart."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from importlib.resources import files
from typing import Any

import pytest
from pydantic import ValidationError

from instruments.disorders import Disorders, disorders, plain
from instruments.level1 import level1

Change = Callable[[dict[str, Any]], object]

_NAMED = """
Major Depressive Disorder; Persistent Depressive Disorder; Premenstrual Dysphoric Disorder; Bipolar I Disorder;
Bipolar II Disorder; Generalized Anxiety Disorder; Panic Disorder; Agoraphobia; Social Anxiety Disorder;
Specific Phobia; Obsessive-Compulsive Disorder; Posttraumatic Stress Disorder; Acute Stress Disorder; Adjustment
Disorder; Schizophrenia; Schizoaffective Disorder; Depersonalization/Derealization Disorder; Borderline
Personality Disorder; Insomnia Disorder; Somatic Symptom Disorder; Illness Anxiety Disorder; Intermittent
Explosive Disorder; Tobacco Use Disorder; Attention-Deficit/Hyperactivity Disorder; Mild Neurocognitive
Disorder; Alcohol Use Disorder; Cannabis Use Disorder; Opioid Use Disorder; Sedative, Hypnotic, or Anxiolytic
Use Disorder
"""


def _personas() -> Iterator[dict[str, Any]]:
    for file in files("benchmark.personas").iterdir():
        if file.name.endswith(".json"):
            yield json.loads(file.read_text("utf-8"))


def _changed(change: Change) -> Disorders:
    data = disorders().model_dump(mode="json")
    change(data)
    return Disorders.model_validate(data)


def test_the_common_disorders_are_there() -> None:
    names = {disorder.name for disorder in disorders().disorders}
    assert {" ".join(name.split()) for name in _NAMED.split(";")} <= names
    assert len(names) >= 28


def test_every_impression_of_a_persona_is_known_by_the_same_name_and_category() -> None:
    gold = [one for persona in _personas() for one in (persona["impression"], *persona.get("also", ())) if one]
    known = {(disorder.name, disorder.category) for disorder in disorders().disorders}
    assert len(gold) > 30
    assert {(one["name"], one["category"]) for one in gold} <= known


def test_every_persona_reaches_the_required_domains_of_its_impressions() -> None:
    for persona in _personas():
        for one in (persona["impression"], *persona.get("also", ())):
            required = disorders().disorder(one["name"]).required_domains if one else ()
            for domain in (d for d in level1().domains if d.name in required):
                scores = [persona["scores"][str(item.number)] for item in domain.items]
                assert max(scores) >= domain.threshold, (persona["id"], one["name"], domain.name)


def test_no_wording_belongs_to_two_features() -> None:
    wordings = [plain(text) for feature in disorders().features for text in feature.wordings]
    assert len(set(wordings)) == len(wordings) > 800


def test_no_wording_is_copied_from_a_persona() -> None:
    """The personas measure the engine that reads these wordings."""
    said = {plain(text) for persona in _personas() for texts in persona["facts"].values() for text in texts}
    assert len(said) > 100
    assert said.isdisjoint(plain(text) for feature in disorders().features for text in feature.wordings)


def test_neighbours_differ_in_more_than_their_names() -> None:
    for disorder in disorders().disorders:
        for other in map(disorders().disorder, (neighbour.name for neighbour in disorder.adjacent)):
            mine, theirs = (
                (one.features, one.required_domains, tuple(one.item_weights.items())) for one in (disorder, other)
            )
            assert mine != theirs, (disorder.name, other.name)


def test_roles_and_lookups() -> None:
    ptsd = disorders().disorder("Posttraumatic Stress Disorder")
    assert ptsd.features_of("required") == ("trauma",)
    assert "event_within_a_month" in ptsd.features_of("against")
    assert ptsd.item_weights[16] > ptsd.item_weights[2]
    assert disorders().feature("trauma").wordings
    assert disorders().categories[0] == "Neurodevelopmental Disorders"
    assert disorders() is disorders()


def _first(data: dict[str, Any]) -> dict[str, Any]:
    first: dict[str, Any] = data["disorders"][0]
    return first


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: _first(data).update(supporting_domains=["Mood"]), r"unknown domain in .*Hyperactivity.*Mood"),
        (lambda data: _first(data).update(required_domains=["Memory"]), "domain in .* named twice"),
        (lambda data: _first(data).update(features=[{"id": "telepathy", "role": "typical"}]), "unknown feature"),
        (lambda data: _first(data).update(features=[{"id": "trauma", "role": "maybe"}]), "role"),
        (lambda data: _first(data).update(features=[{"id": "trauma", "role": "typical"}] * 2), "named twice"),
        (lambda data: _first(data).update(adjacent=[{"name": "Gout", "difference": "x"}]), "unknown disorder.*Gout"),
        (lambda data: _first(data).update(adjacent=[{"name": _first(data)["name"], "difference": "x"}]), "neighbour"),
        (lambda data: _first(data).pop("name"), r"disorders\.0\.name"),
        (lambda data: _first(data).update(name=""), r"disorders\.0\.name"),
        (lambda data: _first(data).pop("category"), r"disorders\.0\.category"),
        (lambda data: _first(data).update(item_weights={24: 0.5}), "less than or equal to 23"),
        (lambda data: _first(data).update(item_weights={1: 1.5}), "less than or equal to 1"),
        (lambda data: _first(data).update(criteria=["one"]), "at least 6"),
        (lambda data: _first(data).update(severity=3), "Extra inputs"),
        (lambda data: _first(data).update(required_domains=["Anxiety"]), "no item of the required domain 'Anxiety'"),
        (lambda data: data["disorders"].append(data["disorders"][-1]), "disorder named twice"),
        (lambda data: data["disorders"].pop(), "unknown disorder"),
        (lambda data: data["features"].pop(0), r"unknown feature: \['trauma'\]"),
        (lambda data: data["features"].append(data["features"][0] | {"id": "trauma"}), "feature named twice"),
        (lambda data: data["features"][0].update(wordings=["I saw it"] * 11), "at least 12"),
    ],
)
def test_a_broken_table_is_refused(change: Change, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        _changed(change)


def test_a_feature_that_no_disorder_uses_is_refused() -> None:
    spare = {"id": "spare", "description": "x", "wordings": [f"spare wording {n}" for n in range(12)]}
    with pytest.raises(ValidationError, match=r"no disorder uses the features \['spare'\]"):
        _changed(lambda data: data.update(features=[*data["features"], spare]))


@pytest.mark.parametrize("again", ["I WAS RAPED!", "i was raped", "I get flashbacks."])
def test_a_wording_of_another_feature_is_refused_in_any_spelling(again: str) -> None:
    def repeat(data: dict[str, Any]) -> None:
        feature = data["features"][-1]
        feature["wordings"] = [*feature["wordings"], again]

    with pytest.raises(ValidationError, match="wording named twice"):
        _changed(repeat)


def test_the_table_itself_passes_unchanged() -> None:
    assert _changed(dict.copy) == disorders()
