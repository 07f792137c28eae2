"""Settings for measuring: nothing that the environment names is touched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from settings import RULES, Settings


def offline(home: Path, **given: Any) -> Settings:
    """Says openly what the environment could say otherwise: embedded servers, and rules where no model is given."""
    roles = dict.fromkeys(
        ("model_interviewer", "model_scorer", "model_risk", "model_diagnostician", "model_embedding"), RULES
    )
    return Settings(_env_file=None, crosscut_home=home, database_url=None, redis_url=None, **{**roles, **given})
