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
from typing import Any

from errors import CrosscutError

PNG_SCALE = 2.0

_ROOT = Path(__file__).parent.parent
_LONGEST_SECONDS = 120


def drawn(charts: Mapping[str, Any]) -> dict[str, bytes]:
    """Every chart as `NAME.svg` and as `NAME.png`, the same as `save` writes them."""
    from altair import SCHEMA_VERSION

    version = "_".join(SCHEMA_VERSION.split(".")[:2])
    asked = json.dumps({"version": version, "charts": {name: chart.to_dict() for name, chart in charts.items()}})
    command = [sys.executable, "-m", "benchmark.drawing"]
    try:
        done = subprocess.run(  # noqa: S603
            command, input=asked, capture_output=True, text=True, cwd=_ROOT, timeout=_LONGEST_SECONDS, check=True
        )
    except (subprocess.SubprocessError, OSError) as error:
        raise CrosscutError("the charts could not be drawn; the tables and files are complete without.") from error
    return {name: b64decode(content) for name, content in json.loads(done.stdout).items()}


def _main() -> None:
    """Nothing else is loaded here: whoever looks at a page waits for it."""
    import vl_convert

    asked = json.load(sys.stdin)
    made: dict[str, bytes] = {}
    for name, spec in asked["charts"].items():
        made[f"{name}.svg"] = vl_convert.vegalite_to_svg(spec, vl_version=asked["version"]).encode()
        made[f"{name}.png"] = vl_convert.vegalite_to_png(spec, vl_version=asked["version"], scale=PNG_SCALE, ppi=72)
    json.dump({name: b64encode(content).decode() for name, content in made.items()}, sys.stdout)


if __name__ == "__main__":
    _main()
