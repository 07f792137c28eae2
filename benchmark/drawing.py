"""Charts as files, drawn by a process of their own.

The library that draws them keeps the whole interpreter waiting, at first for seconds: within the app, every page of
every user would stand still meanwhile, a patient's too.
"""

from __future__ import annotations

import json
import subprocess
import sys
from base64 import b64decode, b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from benchmark.charts import PNG_SCALE
from errors import CrosscutError

_ROOT = Path(__file__).parent.parent
_LONGEST_SECONDS = 120
_MIME: dict[Literal["svg", "png"], str] = {"svg": "image/svg+xml", "png": "image/png"}


def drawn(charts: Mapping[str, Any]) -> dict[str, bytes]:
    """Every chart as `NAME.svg` and as `NAME.png`, the same as `save` writes them."""
    asked = json.dumps({name: chart.to_dict() for name, chart in charts.items()})
    command = [sys.executable, "-m", "benchmark.drawing"]
    try:
        done = subprocess.run(  # noqa: S603
            command, input=asked, capture_output=True, text=True, cwd=_ROOT, timeout=_LONGEST_SECONDS, check=True
        )
    except (subprocess.SubprocessError, OSError) as error:
        raise CrosscutError("the charts could not be drawn; the tables and files are complete without.") from error
    return {name: b64decode(content) for name, content in json.loads(done.stdout).items()}


def _draw(spec: dict[str, Any], kind: Literal["svg", "png"]) -> bytes:
    from altair.utils.mimebundle import spec_to_mimebundle

    made: Any = spec_to_mimebundle(spec, format=kind, mode="vega-lite", scale_factor=PNG_SCALE)
    content = (made[0] if isinstance(made, tuple) else made)[_MIME[kind]]
    return content.encode() if isinstance(content, str) else bytes(content)


def _main() -> None:
    asked: dict[str, dict[str, Any]] = json.load(sys.stdin)
    made = {f"{name}.{kind}": b64encode(_draw(spec, kind)).decode() for name, spec in asked.items() for kind in _MIME}
    json.dump(made, sys.stdout)


if __name__ == "__main__":
    _main()
