"""The graphs that LangGraph Studio loads are the product's own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.product import ROOT, environment


def test_every_graph_in_langgraph_json_loads_from_its_path_without_our_saver(tmp_path: Path) -> None:
    graphs = json.loads((ROOT / "langgraph.json").read_text())["graphs"]
    assert set(graphs) == {"interview"}
    path, name = graphs["interview"].split(":")
    program = (
        "import importlib.util, json, sys\n"
        f"spec = importlib.util.spec_from_file_location('studio', {str(ROOT / path)!r})\n"
        "module = importlib.util.module_from_spec(spec); spec.loader.exec_module(module)\n"
        f"graph = module.{name}\n"
        "print(json.dumps([sorted(graph.nodes), graph.checkpointer is None]))\n"
    )
    clean = {k: v for k, v in environment(tmp_path / "home").items() if k != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=clean, cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    nodes, without_saver = json.loads(done.stdout)
    assert {"INTRO", "ASK_ITEM", "RISK_CHECK", "SCORE_ITEM", "SAFETY_STOP"} <= set(nodes)
    assert without_saver
