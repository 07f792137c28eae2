"""Agreement of item scores from 0 to 4 with gold: exact, mean absolute error, quadratic-weighted kappa."""

from typing import Any

import datasets
import evaluate

from benchmark.metrics.accuracy import exact
from benchmark.metrics.accuracy import mean_error
from benchmark.metrics.accuracy import quadratic_kappa


class CrosscutItems(evaluate.Metric):
    def _info(self) -> Any:
        features = datasets.Features({"predictions": datasets.Value("int64"), "references": datasets.Value("int64")})
        return evaluate.MetricInfo(
            description=__doc__,
            citation="",
            inputs_description="predictions and references: scores from 0 to 4",
            features=features,
        )

    def _compute(self, predictions: list[int], references: list[int]) -> dict[str, float | None]:
        pairs = list(zip(references, predictions, strict=True))
        return {"exact": exact(pairs), "mae": mean_error(pairs), "kappa": quadratic_kappa(pairs)}
