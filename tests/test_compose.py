"""The set-up for several machines: what a container leaves on disk outlives it, and the others see it."""

from __future__ import annotations

from typing import Any

import yaml

from tests.product import ROOT


def _compose() -> dict[str, Any]:
    made: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))
    return made


def test_all_that_may_spool_a_stop_share_one_lasting_home() -> None:
    compose = _compose()
    ours = {name: service for name, service in compose["services"].items() if "build" in service}
    assert ours.keys() == {"app", "worker", "batch"}
    homes = {service["environment"]["CROSSCUT_HOME"] for service in ours.values()}
    mounted = {tuple(service["volumes"]) for service in ours.values()}
    assert len(homes) == len(mounted) == 1
    ((volume,),) = mounted
    name, _, place = volume.partition(":")
    assert name in compose["volumes"]
    assert {place} == homes


def test_the_home_belongs_to_the_account_that_the_image_runs_as() -> None:
    """A new volume takes its owner from the image's folder."""
    (home,) = {
        service["environment"]["CROSSCUT_HOME"] for service in _compose()["services"].values() if "build" in service
    }
    assert f"--home-dir {home} --create-home crosscut" in (ROOT / "Dockerfile").read_text("utf-8")


def test_what_servers_keep_lasts() -> None:
    compose = _compose()
    for name in ("postgres", "redis"):
        (volume,) = compose["services"][name]["volumes"]
        assert volume.partition(":")[0] in compose["volumes"]
