"""Confidences against what is so: Brier score and the bins of a reliability plot."""

from typing import Any

import datasets
import evaluate

from benchmark.metrics.calibration import brier
from benchmark.metrics.calibration import reliability


class CrosscutCalibration(evaluate.Metric):
    def _info(self) -> Any:
        features = datasets.Features({"predictions": datasets.Value("float64"), "references": datasets.Value("bool")})
        return evaluate.MetricInfo(
            description=__doc__,
            citation="",
            inputs_description="predictions: confidences from 0 to 1; references: whether it is so",
            features=features,
        )

    def _compute(self, predictions: list[float], references: list[bool]) -> dict[str, Any]:
        sure = list(zip(predictions, map(bool, references), strict=True))
        return {"brier": brier(sure), "reliability": [one.to_json_dict() for one in reliability(sure)]}
