"""Whether interviewers kept to the rules: items covered, rules broken, messages checked; a list a figure."""

from typing import Any

import datasets
import evaluate

from benchmark.evaluate_modules import figures
from benchmark.metrics.protocol import protocol


class CrosscutProtocol(evaluate.Metric):
    def _info(self) -> Any:
        return evaluate.MetricInfo(
            description=__doc__,
            citation="",
            inputs_description="predictions: snapshots as JSON, as `crosscut benchmark SESSION --snapshot` prints them",
            features=datasets.Features({"predictions": datasets.Value("string")}),
        )

    def _compute(self, predictions: list[str]) -> dict[str, list[float | None]]:
        return figures(protocol, predictions)
