"""Networks that stand in ONNX files beside the modules that use them."""

from __future__ import annotations

from importlib.resources import files

import onnxruntime

READER = "reader.onnx"


def session_of(package: str, file: str = READER) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # texts are short: threads would cost more than they bring
    model = files(package).joinpath(file).read_bytes()
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
