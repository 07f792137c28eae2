"""How hard texts are to read: Flesch-Kincaid grade, Gunning fog index and Flesch reading ease of all texts together."""

from typing import Any

import datasets
import evaluate

from benchmark.metrics.conversation import readability


class CrosscutReadability(evaluate.Metric):
    def _info(self) -> Any:
        return evaluate.MetricInfo(
            description=__doc__,
            citation="",
            inputs_description="predictions: what the interviewer said, one text a line",
            features=datasets.Features({"predictions": datasets.Value("string")}),
        )

    def _compute(self, predictions: list[str]) -> dict[str, float | None]:
        return {metric.name.partition(".")[2]: metric.value for metric in readability("\n".join(predictions))}
