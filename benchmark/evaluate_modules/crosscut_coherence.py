"""Whether turns belong together: mean cosine of each turn and the one before it, and of each and the mean of all."""

from typing import Any

import datasets
import evaluate

from benchmark.metrics.base import rounded
from benchmark.metrics.conversation import cosines
from rag.embedding import MiniLmEmbedder


class CrosscutCoherence(evaluate.Metric):
    def _info(self) -> Any:
        return evaluate.MetricInfo(
            description=__doc__,
            citation="",
            inputs_description="predictions: the turns of one conversation in their order",
            features=datasets.Features({"predictions": datasets.Value("string")}),
        )

    def _compute(self, predictions: list[str]) -> dict[str, Any]:
        found = cosines(predictions)
        return {
            "coherence_adjacent": rounded(found.adjacent),
            "coherence_whole": rounded(found.whole),
            "model": MiniLmEmbedder.model,
        }
