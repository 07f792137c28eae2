"""BERTScore over the embedded MiniLM, without torch and without a download."""

from typing import Any

import datasets
import evaluate

from benchmark.metrics.bertscore import EmbeddedScorer


class CrosscutBertscore(evaluate.Metric):
    def _info(self) -> Any:
        features = datasets.Features({"predictions": datasets.Value("string"), "references": datasets.Value("string")})
        return evaluate.MetricInfo(
            description=__doc__,
            citation="",
            inputs_description="predictions and references: texts",
            features=features,
        )

    def _compute(self, predictions: list[str], references: list[str]) -> dict[str, Any]:
        alike = EmbeddedScorer().score(list(zip(predictions, references, strict=True)))
        figures = {part: [getattr(one, part) for one in alike] for part in ("precision", "recall", "f1")}
        return {**figures, "model": EmbeddedScorer.model}
