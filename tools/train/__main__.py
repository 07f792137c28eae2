"""`python -m tools.train risk|scorer|replies|impressions [--held-out FILE]`."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import torch

from tools.train import impressions, replies, risk, scorer
from tools.train.network import export

AGENTS = Path(__file__).parent.parent.parent / "agents"
PLACES: dict[str, tuple[Any, str]] = {
    "risk": (risk, "risk"),
    "scorer": (scorer, "scoring"),
    "replies": (replies, "replies"),
    "impressions": (impressions, "impressions"),
}


def main() -> int:
    parser = argparse.ArgumentParser(description="Train a reader and write it beside the rules it helps.")
    parser.add_argument("which", choices=tuple(PLACES))
    parser.add_argument(
        "--held-out",
        type=Path,
        help="write to this file what readers say of lines whose authors they have not learned from, and no reader",
    )
    wanted = parser.parse_args()
    torch.set_num_threads(1)
    made, folder = PLACES[wanted.which]
    if wanted.held_out and not hasattr(made, "held_out"):
        parser.error(f"the lines of {wanted.which} do not tell their authors, so none can be held out")
    if wanted.held_out:
        wanted.held_out.write_text(json.dumps(made.held_out()))
    else:
        export(made.final(), AGENTS / folder / "reader.onnx")
    return 0


if __name__ == "__main__":
    sys.exit(main())
