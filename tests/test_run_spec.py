"""The file that says what a run is to do: strict, and clear about what is wrong with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmark.personas import load_personas
from benchmark.runs.patients import cell_seed, load_patient, patients_of
from benchmark.runs.spec import parse_spec, read_spec
from errors import InputError

FULL = """
name: rules against two models
personas: [grey-mornings, letters-written]
models:
  - rules
  - openai/gpt-4.1
  - {model: openai/gpt-4.1, roles: [scorer]}
modes: [diagnostic, categorical]
repeats: 3
seed: 7
judge: yes
keep: no
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "spec.yaml"
    path.write_text(text, "utf-8")
    return path


def test_a_whole_spec_gives_each_cell_once(tmp_path: Path) -> None:
    spec = read_spec(written(tmp_path, FULL))
    labels = ["rules", "openai/gpt-4.1", "openai/gpt-4.1 (scorer)"]
    assert [entry.label for entry in spec.models] == labels
    assert spec.entry(labels[2]).settings == {
        "model_interviewer": "rules",
        "model_scorer": "openai/gpt-4.1",
        "model_diagnostician": "rules",
        "model_risk": "rules",
    }
    assert spec.entry(labels[1]).settings["model_diagnostician"] == "openai/gpt-4.1"
    cells = list(spec.cells(patients_of(spec)))
    assert len(cells) == len(set(cells)) == 2 * 3 * 2 * 3
    assert parse_spec(spec.to_json_dict()) == spec


def test_all_means_every_persona(tmp_path: Path) -> None:
    spec = read_spec(written(tmp_path, "name: x\npersonas: all\n"))
    assert set(patients_of(spec)) == set(load_personas())
    assert (spec.modes, spec.repeats, [entry.model for entry in spec.models]) == (("diagnostic",), 1, ["rules"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"personas": ["nobody"]}, r"personas: there is no persona 'nobody'; choose from after-the-move, .* \(given: "),
        ({"personas": "some"}, r"personas: must be 'all' or a list of ids \(given: 'some'\)"),
        ({"personas": []}, r"personas: names nobody"),
        ({"personas": None}, r"say who is interviewed"),
        ({"answers": "a.jsonl"}, r"by `personas` or by `answers`, not by both"),
        ({"models": ["gpt"]}, r"models\.0\.model: must be 'rules' or an id such as 'openai/gpt-4\.1' \(given: 'gpt'\)"),
        ({"models": ["a/b", "a/b"]}, r"model 'a/b' is named twice"),
        ({"models": [{"model": "a/b", "roles": ["boss"]}]}, r"models\.0\.roles\.0: .*\(given: 'boss'\)"),
        ({"models": [{"model": "rules", "roles": ["scorer"]}]}, r"leave out its roles"),
        ({"modes": ["quick"]}, r"modes\.0: .*\(given: 'quick'\)"),
        ({"repeats": 0}, r"repeats: .*\(given: 0\)"),
        ({"repeats": "3"}, r"repeats: .*\(given: '3'\)"),
        ({"seed": -1}, r"seed: .*\(given: -1\)"),
        ({"judge": "maybe"}, r"judge: .*\(given: 'maybe'\)"),
        ({"jugde": True}, r"jugde: there is no such entry; there are name, personas"),
        ({"name": ""}, r"name: .*\(given: ''\)"),
    ],
)
def test_what_is_wrong_is_named_with_its_value(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_spec({"name": "x", "personas": ["grey-mornings"], **change})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: [", "is not YAML"),
        ("- a list", "must be a mapping"),
        ("name: a\nname: b\npersonas: all", "'name' is there twice"),
        ("name: !!python/object/apply:os.system [true]", "is not YAML"),
    ],
)
def test_a_file_that_is_no_spec_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_spec(written(tmp_path, text))


def line(identifier: str | int, **more: Any) -> str:
    return json.dumps({"id": identifier, "answers": {"1": ["Most days", "Nine days"]}, **more})


def test_prepared_answers_come_with_what_should_come_out(tmp_path: Path) -> None:
    labelled = line("a", scores={"1": 3}, impression="Panic Disorder", stops=False)
    (tmp_path / "answers.jsonl").write_text("\n".join([labelled, line("b", impression=None), line(3)]))
    spec = read_spec(written(tmp_path, "name: x\nanswers: answers.jsonl\n"))
    kept = patients_of(spec)
    assert list(kept) == ["a", "b", "3"]
    one, healthy, unknown = (load_patient(name, body).expected for name, body in kept.items())
    assert (one.scores, one.names("diagnostic"), one.stops) == ({1: 3}, ("Panic Disorder",), False)
    assert one.names("categorical") == ("Anxiety Disorders",)
    assert (healthy.names("diagnostic"), healthy.scores) == ((), None)
    assert unknown.names("diagnostic") is None
    assert unknown.gold("diagnostic", "3") is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "line 1: JSON: not JSON"),
        (line("a", scores={"1": 9}), "line 1: scores"),
        (line("a", impression="The Vapours"), "'The Vapours' is none of the disorders"),
        (
            line("a", impresion="Panic Disorder"),
            "line 1: impresion: there is no such entry; there are id, answers, scores",
        ),
        (line("a", also=["Panic Disorder"]), "line 1: the whole: `also` names what there is besides an `impression`"),
        (line("a", impression=None, also=["Panic Disorder"]), "line 1: the whole: `also` names"),
        (line("a") + "\n" + line("a"), "line 2 has the id of line 1 again"),
        (line(1) + "\n" + line("1"), "cannot be told apart"),
        ("", "has no lines"),
    ],
)
def test_a_file_of_answers_is_taken_whole_or_not_at_all(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "answers.jsonl").write_text(content)
    with pytest.raises(InputError, match=message) as refused:
        patients_of(read_spec(written(tmp_path, "name: x\nanswers: answers.jsonl\n")))
    assert "Most days" not in str(refused.value)


def test_a_patient_speaks_the_same_words_to_every_model_and_other_words_in_every_repeat() -> None:
    assert cell_seed(1, "a", 1) == cell_seed(1, "a", 1)
    assert len({cell_seed(s, p, r) for s in (1, 2) for p in ("a", "b") for r in (1, 2, 3)}) == 12
