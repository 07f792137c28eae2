"""Goes on from the reader that is in use, with its weights read back from their eight bits.

Learning everything anew takes an hour of a core; new lines among a share of the old ones take a tenth of that.
"""

from __future__ import annotations

import re
from pathlib import Path

import onnx
import torch
from onnx import numpy_helper

from tools.train.network import Reader

_MADE_BY = re.compile(r"^/?(?P<module>layers\.\d+/\w+)/MatMul_output")


def resumed(reader: Reader, path: Path) -> Reader:
    """The same network with the weights of the ONNX file that was made of another."""
    graph = onnx.load(path).graph
    stored = {one.name: torch.from_numpy(numpy_helper.to_array(one).copy()) for one in graph.initializer}
    weights = {name: value for name, value in stored.items() if name in reader.state_dict()}
    for node in graph.node:
        if node.op_type == "MatMulInteger":
            weights[_weight_of(node.output[0])] = _opened(stored, node.input[1].removesuffix("_quantized")).T
    reader.load_state_dict(weights)  # strict: a missing or strange name is an error
    return reader


def averaged(readers: list[Reader]) -> Reader:
    """The mean of their weights: what only one of several readers has learned by chance is weakened."""
    states = [reader.state_dict() for reader in readers]
    mean = {name: sum(state[name] for state in states) / len(states) for name in states[0]}
    readers[0].load_state_dict(mean)
    return readers[0]


def _weight_of(output: str) -> str:
    found = _MADE_BY.match(output)
    return f"{found['module'].replace('/', '.')}.weight" if found else "head.weight"


def _opened(stored: dict[str, torch.Tensor], name: str) -> torch.Tensor:
    small = stored[f"{name}_quantized"].to(torch.float32)
    return (small - stored[f"{name}_zero_point"].to(torch.float32)) * stored[f"{name}_scale"]
