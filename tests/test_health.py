"""What the doctor says of the embedded readers: whether each answers, and what is so until it does."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest

from settings import Settings
from workers.health import Check, all_checks

READERS = ("risk", "scoring", "replies", "impressions")


def _of_readers(home: Path) -> list[Check]:
    return [check for check in all_checks(Settings(_env_file=None, crosscut_home=home)) if "reader" in check.name]


def test_the_doctor_asks_every_embedded_reader(tmp_path: Path) -> None:
    assert _of_readers(tmp_path) == [Check("embedded readers", "ok", ", ".join(READERS))]


@pytest.mark.parametrize("broken", READERS)
def test_the_doctor_finds_a_reader_that_does_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    (tmp_path / "reader.onnx").write_bytes(b"half of a reader")
    found_in = "agents.language.network.files"
    monkeypatch.setattr(found_in, lambda name: tmp_path if name == f"agents.{broken}" else files(name))
    others, found = _of_readers(tmp_path)
    assert (others.state, others.detail) == ("ok", ", ".join(name for name in READERS if name != broken))
    assert (found.name, found.state) == (f"{broken} reader", "broken")
    assert found.fix.startswith("install Crosscut anew; until then ")
