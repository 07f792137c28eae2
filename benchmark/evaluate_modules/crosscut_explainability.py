"""Whether reports show what they rest on: tags, steps, quotes, citations; a list a figure."""

from typing import Any

import datasets
import evaluate

from benchmark.evaluate_modules import figures
from benchmark.metrics.explainability import explainability


class CrosscutExplainability(evaluate.Metric):
    def _info(self) -> Any:
        return evaluate.MetricInfo(
            description=__doc__,
            citation="",
            inputs_description="predictions: snapshots as JSON, as `crosscut benchmark SESSION --snapshot` prints them",
            features=datasets.Features({"predictions": datasets.Value("string")}),
        )

    def _compute(self, predictions: list[str]) -> dict[str, list[float | None]]:
        return figures(explainability, predictions)
