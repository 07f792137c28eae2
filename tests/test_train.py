"""What is learned with torch is what is used: the quick reader's graph says what its network says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from agents.language.network import session_of
from agents.language.sentences import SentenceEncoder, pieces_of, stretches
from tools.train.variants import Told, Variants

TOLD = ["i have not slept", "no", "the days run into one another and nobody rings", "i am fine, thank you"]


@pytest.mark.metrics
def test_the_graph_says_of_every_stretch_what_the_network_says_of_its_sentences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    from tools.train.sentence_graph import export, read_back
    from tools.train.sentences import Batch, SentenceReader, Shape

    torch.manual_seed(0)
    path = tmp_path / "quick.onnx"
    export(SentenceReader(Shape(outputs=5, width=48, layers=2, inner=2, heads=4)).eval(), path)
    network = read_back(path).eval()  # with the weights in eight bits, as they are used
    texts = [[pieces_of(one) for one in TOLD[start:end]] for start, end in stretches(len(TOLD))]
    with torch.no_grad():
        wanted = network.read(Batch.of(texts, [7] * len(texts))).numpy()
    monkeypatch.setattr("agents.language.sentences.session_of", lambda *_: session_of(str(tmp_path), "quick.onnx"))
    monkeypatch.setattr("agents.language.network.files", Path)
    found = SentenceEncoder("there").read(TOLD, 7)
    assert np.abs(wanted).max() > 0.1
    np.testing.assert_allclose(found, wanted, atol=0.02 * np.abs(wanted).max())


def test_variants_of_any_texts_are_made_even_of_single_words() -> None:
    told: list[Told] = [
        (0, "no"),
        (2, "i am going to stay at home tonight"),
        (3, "she is going to stay at work tonight"),
    ]
    variants = Variants(told, [(1, "yes")], seed=1)
    made = {found for found in (variants.make() for _ in range(200)) if found}
    assert len(made) > 20
    assert any("at work" in text and text.startswith("i am") for _, text in made)
