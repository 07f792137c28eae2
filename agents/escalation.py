"""The constant words of a safety stop; never written by a model."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files


@cache
def safety_script() -> str:
    data = tomllib.loads(files("agents").joinpath("escalation.toml").read_text("utf-8"))
    return str(data["script"]).strip()
