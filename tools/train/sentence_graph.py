"""The quick reader's network as an ONNX graph of few and large steps: small ones cost more than what they reckon.

onnxruntime has one step for an embedding with its norm, for attention, and for a norm with what is added before it; an
export from torch makes dozens of each. Constants have the names of the network's weights. Its steps are not in eight
bits: there one scale would serve all pieces of a message, and what stands beside a sentence would change it a little.
Inputs are those of `agents/language/sentences.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, nn

from tools.train.sentences import Layer, SentenceReader, Shape

_INPUTS: dict[str, tuple[int, list[str | int]]] = {
    "pieces": (TensorProto.INT32, [1, "length"]),
    "about": (TensorProto.INT32, [1, "length"]),
    "places": (TensorProto.INT32, [1, "length"]),
    "apart": (TensorProto.FLOAT, [1, 1, "length", "length"]),
    "rows": (TensorProto.INT64, ["sentences", "longest"]),
    "members": (TensorProto.INT64, ["stretches", "together"]),
    "shares": (TensorProto.FLOAT, ["stretches", "length"]),
}
_OPSET, _IR = 18, 10
_OURS = "com.microsoft"  # the domain of onnxruntime's own steps
_SHAPE = "shape"
_LARGEST = 127


def export(reader: SentenceReader, path: Path) -> None:
    graph = _Graph()
    pooled = _pooled(graph, _pieces(graph, reader))
    told = graph.step("Relu", [graph.step("Gemm", [pooled, *graph.weights("inner", reader.inner)], transB=1)])
    graph.step("Gemm", [told, *graph.weights("outer", reader.outer)], "outputs", transB=1)
    onnx.save(graph.model(reader.shape), path)


def read_back(path: Path) -> SentenceReader:
    """The network of which such a graph was made, its word vectors from their eight bits."""
    model = onnx.load(path)
    (shape,) = (one.value for one in model.metadata_props if one.key == _SHAPE)
    stored = {one.name: torch.from_numpy(numpy_helper.to_array(one).copy()) for one in model.graph.initializer}
    reader = SentenceReader(Shape(**json.loads(shape)))
    reader.load_state_dict({name: _opened(stored, name) for name in reader.state_dict()})
    return reader


def _opened(stored: dict[str, Tensor], name: str) -> Tensor:
    if name == "words.weight":
        return stored["words.small"] * stored["words.scales"]
    return stored[name].T if name.startswith("layers.") and stored[name].dim() > 1 else stored[name]


class _Graph:
    """Steps and their constants, as they are added."""

    def __init__(self) -> None:
        self._steps: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []

    def step(self, kind: str, given: list[str], *names: str, ours: bool = False, **settings: Any) -> str:
        """Gives the name of what is found, the first of `names` where there are any."""
        found = names or (f"{kind} {len(self._steps)}",)
        self._steps.append(helper.make_node(kind, given, found, domain=_OURS if ours else "", **settings))
        return found[0]

    def constant(self, name: str, numbers: Tensor | npt.NDArray[Any]) -> str:
        table = numbers.detach().numpy() if isinstance(numbers, Tensor) else numbers
        self._constants.append(numpy_helper.from_array(np.ascontiguousarray(table), name))
        return name

    def weights(self, name: str, part: nn.Module, kinds: Iterable[str] = ("weight", "bias")) -> list[str]:
        return [self.constant(f"{name}.{kind}", getattr(part, kind)) for kind in kinds]

    def linear(self, name: str, layer: nn.Linear) -> list[str]:
        return [self.constant(f"{name}.weight", layer.weight.T), *self.weights(name, layer, ["bias"])]

    def added(self, name: str, norm: nn.LayerNorm, *given: str) -> str:
        """The norm of what is given: two tables and a bias."""
        x, more, bias = given
        norms = self.weights(name, norm)
        return self.step("SkipLayerNormalization", [x, more, *norms, bias], ours=True, epsilon=norm.eps)

    def model(self, shape: Shape) -> onnx.ModelProto:
        inputs = [helper.make_tensor_value_info(name, *what) for name, what in _INPUTS.items()]
        output = helper.make_tensor_value_info("outputs", TensorProto.FLOAT, ["stretches", shape.outputs])
        graph = helper.make_graph(self._steps, "reader", inputs, [output], self._constants)
        opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_OURS, 1)]
        made = helper.make_model(graph, opset_imports=opsets, ir_version=_IR)
        made.metadata_props.add(key=_SHAPE, value=json.dumps(asdict(shape)))
        return made


def _pieces(graph: _Graph, reader: SentenceReader) -> str:
    """The vectors of all pieces. Their sentences stand in one row, and do not see one another."""
    tables = [graph.weights(name, getattr(reader, name), ["weight"])[0] for name in ("places", "questions")]
    given = ["pieces", "about", _words(graph, reader.words), *tables, *graph.weights("norm", reader.norm)]
    given += ["", "places"]
    x = graph.step("EmbedLayerNormalization", given, "embedded", "unused", ours=True, epsilon=reader.norm.eps)
    for number, layer in enumerate(reader.layers):
        x = _layer(graph, f"layers.{number}", layer, x)
    return x


def _words(graph: _Graph, words: nn.Embedding) -> str:
    """In eight bits with a scale a word, since most of the file are these; made wide once, when it is loaded."""
    table = words.weight.detach().numpy()
    scales = np.maximum(np.abs(table).max(1, keepdims=True) / _LARGEST, 1e-12).astype(np.float32)
    small = graph.constant("words.small", np.round(table / scales).astype(np.int8))
    wide = graph.step("Cast", [small], to=TensorProto.FLOAT)
    return graph.step("Mul", [wide, graph.constant("words.scales", scales)])


def _layer(graph: _Graph, name: str, layer: Layer, x: str) -> str:
    asked = graph.linear(f"{name}.questions", layer.questions)
    seen = graph.step("Attention", [x, *asked, "", "", "apart"], ours=True, num_heads=layer.heads)
    weight, bias = graph.linear(f"{name}.attended", layer.attended)
    x = graph.added(f"{name}.first_norm", layer.first_norm, x, graph.step("MatMul", [seen, weight]), bias)
    weight, bias = graph.linear(f"{name}.inner", layer.inner)
    inner = graph.step("Relu", [graph.step("Add", [graph.step("MatMul", [x, weight]), bias])])
    weight, bias = graph.linear(f"{name}.outer", layer.outer)
    return graph.added(f"{name}.second_norm", layer.second_norm, x, graph.step("MatMul", [inner, weight]), bias)


def _pooled(graph: _Graph, x: str) -> str:
    """Of each stretch the greatest of every number over its pieces, and their mean."""
    first, second = (graph.constant(f"axis {axis}", np.array([axis], np.int64)) for axis in (0, 1))
    pieces = graph.step("Squeeze", [x, first])
    greatest = graph.step("ReduceMax", [graph.step("Gather", [pieces, "rows"]), second], keepdims=0)
    greatest = graph.step("ReduceMax", [graph.step("Gather", [greatest, "members"]), second], keepdims=0)
    return graph.step("Concat", [greatest, graph.step("MatMul", ["shares", pieces])], axis=1)
