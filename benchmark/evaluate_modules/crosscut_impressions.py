"""First-named impressions against the expected ones: accuracy, macro-F1 and the F1 of each expected name."""

from typing import Any

import datasets
import evaluate

from benchmark.metrics.accuracy import macro_f1
from benchmark.metrics.accuracy import per_class_f1
from benchmark.metrics.base import mean


class CrosscutImpressions(evaluate.Metric):
    def _info(self) -> Any:
        features = datasets.Features({"predictions": datasets.Value("string"), "references": datasets.Value("string")})
        return evaluate.MetricInfo(
            description=__doc__,
            citation="",
            inputs_description="predictions and references: names of impressions",
            features=features,
        )

    def _compute(self, predictions: list[str], references: list[str]) -> dict[str, Any]:
        pairs = list(zip(references, predictions, strict=True))
        right = mean([float(gold == named) for gold, named in pairs])
        return {"top1": right, "macro_f1": macro_f1(pairs), "per_class_f1": per_class_f1(pairs)}
