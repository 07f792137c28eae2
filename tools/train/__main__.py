"""`python -m tools.train risk|scorer|replies|impressions`, by itself or with one of the options below."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import torch

from tools.train import impressions, replies, risk, scorer
from tools.train.further import averaged, resumed
from tools.train.network import Reader, export
from tools.train.sentence_graph import export as export_pupil

AGENTS = Path(__file__).parent.parent.parent / "agents"
PLACES: dict[str, tuple[Any, Path]] = {
    "risk": (risk, AGENTS / "risk" / "reader.onnx"),
    "scorer": (scorer, AGENTS / "scoring" / "reader.onnx"),
    "replies": (replies, AGENTS / "replies" / "reader.onnx"),
    "impressions": (impressions, AGENTS / "impressions" / "reader.onnx"),
}
PUPILS = {"risk": AGENTS / "risk" / "quick.onnx"}


def main() -> int:
    parser = argparse.ArgumentParser(description="Train a reader and write it beside the rules it helps.")
    parser.add_argument("which", choices=tuple(PLACES))
    parser.add_argument(
        "--held-out",
        type=Path,
        help="write to this file what readers say of lines whose authors they have not learned from, and no reader",
    )
    parser.add_argument(
        "--further",
        nargs="+",
        metavar="AUTHOR",
        help="go on from the reader in use with these new authors' lines among some of the old ones",
    )
    parser.add_argument(
        "--average", nargs="+", type=Path, metavar="FILE", help="write the mean of these readers; nothing is learned"
    )
    parser.add_argument(
        "--pupil",
        type=Path,
        metavar="FOLDER",
        help="teach the quick reader further, or anew where there is none; what its teacher says is kept here",
    )
    wanted = parser.parse_args()
    torch.set_num_threads(1)
    made, target = PLACES[wanted.which]
    if wanted.held_out and not hasattr(made, "held_out"):
        parser.error(f"the lines of {wanted.which} do not tell their authors, so none can be held out")
    if wanted.further and not hasattr(made, "further"):
        parser.error(f"{wanted.which} is learned anew only")
    if wanted.average and not hasattr(made, "OUTPUTS"):
        parser.error(f"there is but one reader of {wanted.which}")
    if wanted.pupil and wanted.which not in PUPILS:
        parser.error(f"the reader of {wanted.which} has no pupil")
    if wanted.pupil:
        pupil = PUPILS[wanted.which]
        export_pupil(made.pupil(wanted.pupil, pupil), pupil)
    elif wanted.held_out:
        wanted.held_out.write_text(json.dumps(made.held_out()))
    else:
        export(_made(made, target, wanted), target)
    return 0


def _made(made: Any, target: Path, wanted: argparse.Namespace) -> Reader:
    if wanted.average:
        return averaged([resumed(Reader(made.OUTPUTS, made.LAYERS), path) for path in wanted.average])
    found: Reader = made.further(target, frozenset(wanted.further)) if wanted.further else made.final()
    return found


if __name__ == "__main__":
    sys.exit(main())
