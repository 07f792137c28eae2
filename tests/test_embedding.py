"""Embeddings: the embedded model agrees with the formula, and a gateway's faults never become vectors."""

from __future__ import annotations

import json
import logging
import math
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tokenizers import Tokenizer

import gateway as failures
from errors import GatewayError, InputError, ModelError, RejectedOutput, SettingsError
from gateway import CallError
from minilm import network
from minilm.weights import model_folder
from rag.embedding import DIMENSIONS, GATEWAY_BATCH, Embedder, GatewayEmbedder, MiniLmEmbedder, embedder
from settings import Settings
from tests import gateway as gw
from tests.gateway import wire

Numbers = npt.NDArray[np.float64]
MODEL = "openai/text-embedding-3-small"
SECRET = "my patient said this"
WEATHER = ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."]
TEXTS = [
    *WEATHER,
    "I cry most evenings, and I cannot say why.",
    "Five (or more) of the following symptoms have been present during the same 2-week period.",
    "ok",
    "Ärger, Grübeln – naïve café 😀 3.5 mg",
    "word " * 400,
]
FORK = """
import os, sys
from rag.embedding import MiniLmEmbedder
texts = ["a longer text " * 20] * 4
known = MiniLmEmbedder().embed(texts)
pid = os.fork()
same = MiniLmEmbedder().embed(texts) == known
if pid == 0:
    os._exit(0 if same else 1)
print(same, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), sorted({"langchain_openai", "openai"} & set(sys.modules)))
"""


@pytest.fixture(scope="module")
def minilm() -> Embedder:
    return MiniLmEmbedder()


@pytest.fixture
def remote(gate: gw.Gateway) -> GatewayEmbedder:
    return GatewayEmbedder(gate.base_url, "sk-secret", seconds=5)


@pytest.fixture(autouse=True)
def _short_back_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failures, "FIRST_BACK_OFF", 0.001)


def settings_for(gate: gw.Gateway | None = None, **given: Any) -> Settings:
    address = {"gateway_base_url": gate.base_url} if gate else {}
    return Settings(_env_file=None, **{"gateway_api_key": None, "model_embedding": "rules", **address, **given})


def cosines(vectors: list[list[float]]) -> Numbers:
    matrix = np.array(vectors)
    unit = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    return np.asarray(unit @ unit.T)


class Reference:
    """The same model another way: its own reader of the file, the library's truncation, plain formulas in doubles."""

    def __init__(self) -> None:
        content = (model_folder() / "model.safetensors").read_bytes()
        length = int.from_bytes(content[:8], "little")
        self.at, self.header, self.content = 8 + length, json.loads(content[8 : 8 + length]), content
        self.tokenizer = Tokenizer.from_file(str(model_folder() / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(256)

    def weight(self, name: str) -> npt.NDArray[np.float32]:
        start, shape = self.header[name]["data_offsets"][0], self.header[name]["shape"]
        return np.frombuffer(self.content, "<f4", math.prod(shape), self.at + start).reshape(shape)

    def linear(self, name: str, x: Numbers) -> Numbers:
        return np.asarray(x @ self.weight(f"{name}.weight").T + self.weight(f"{name}.bias"))

    def norm(self, name: str, x: Numbers) -> Numbers:
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)
        return np.asarray(scaled * self.weight(f"{name}.weight") + self.weight(f"{name}.bias"))

    def attention(self, name: str, x: Numbers) -> Numbers:
        query, key, value = (self.linear(f"{name}.{part}", x) for part in ("query", "key", "value"))
        heads = []
        for head in range(12):
            cut = slice(32 * head, 32 * head + 32)
            weights = np.exp(query[:, cut] @ key[:, cut].T / math.sqrt(32))
            heads.append(weights / weights.sum(-1, keepdims=True) @ value[:, cut])
        return np.concatenate(heads, axis=1)

    def layer(self, name: str, x: Numbers) -> Numbers:
        from scipy.special import erf

        looked = self.linear(f"{name}.attention.output.dense", self.attention(f"{name}.attention.self", x))
        x = self.norm(f"{name}.attention.output.LayerNorm", x + looked)
        inner = self.linear(f"{name}.intermediate.dense", x)
        inner = inner * 0.5 * (1 + erf(inner / math.sqrt(2)))
        return self.norm(f"{name}.output.LayerNorm", x + self.linear(f"{name}.output.dense", inner))

    def embed(self, text: str) -> Numbers:
        ids = self.tokenizer.encode(text).ids
        words, places, sides = (
            self.weight(f"embeddings.{kind}_embeddings.weight") for kind in ("word", "position", "token_type")
        )
        x = self.norm("embeddings.LayerNorm", words[ids].astype(np.float64) + places[: len(ids)] + sides[0])
        for number in range(6):
            x = self.layer(f"encoder.layer.{number}", x)
        mean = x.mean(0)
        return np.asarray(mean / np.linalg.norm(mean))


@cache
def reference() -> Reference:
    return Reference()


def test_the_embedded_model_agrees_with_the_formula(minilm: Embedder) -> None:
    for text, vector in zip(TEXTS, minilm.embed(TEXTS), strict=True):
        assert np.abs(np.array(vector[:384]) - reference().embed(text)).max() < 1e-4


def test_the_embedded_model_agrees_with_its_makers_figures(minilm: Embedder) -> None:
    """As the quick start of Sentence Transformers prints them for this model."""
    found = cosines(minilm.embed(WEATHER))
    assert found[0, 1] == pytest.approx(0.6660, abs=1e-3)
    assert found[0, 2] == pytest.approx(0.1046, abs=1e-3)
    assert found[1, 2] == pytest.approx(0.1411, abs=1e-3)


@pytest.mark.parametrize(
    ("asked", "near", "far"),
    [
        ("trouble sleeping", "insomnia nearly every night", "a fear of heights and bridges"),
        ("I drink too much", "problematic pattern of alcohol use", "recurrent unexpected panic attacks"),
        ("I wash my hands over and over", "repetitive acts such as hand washing", "elevated, expansive mood"),
    ],
)
def test_what_is_related_is_nearer(minilm: Embedder, asked: str, near: str, far: str) -> None:
    found = cosines(minilm.embed([asked, near, far]))
    assert found[0, 1] > found[0, 2] + 0.1


def test_zeros_fill_the_vector_and_change_no_cosine(minilm: Embedder) -> None:
    vectors = minilm.embed(TEXTS)
    assert {len(vector) for vector in vectors} == {DIMENSIONS}
    assert not np.array(vectors)[:, 384:].any()
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)
    assert cosines(vectors) == pytest.approx(cosines([vector[:384] for vector in vectors]), abs=1e-12)


def test_a_text_has_the_same_vector_alone_and_among_others(minilm: Embedder) -> None:
    many = (TEXTS * 3)[: 2 * network.BATCH + 3]
    together = np.array(minilm.embed(many))
    alone = np.array([minilm.embed([text])[0] for text in many])
    assert np.abs(together - alone).max() < 1e-4


def test_only_the_first_256_pieces_count(minilm: Embedder) -> None:
    short, long, longer = minilm.embed([" ".join(["sleep"] * n) for n in (200, 254, 3000)])
    assert long == pytest.approx(longer, abs=1e-5)
    assert np.abs(np.array(short) - long).max() > 1e-3
    assert len(network.pieces_of("sleep " * 3000)) == network.LONGEST


def test_no_texts_are_no_vectors(minilm: Embedder, remote: GatewayEmbedder, gate: gw.Gateway) -> None:
    assert minilm.embed([]) == remote.embed([]) == []
    assert gate.requests == []


@pytest.mark.parametrize("empty", ["", " \n\t", " "])
def test_an_empty_text_is_refused_by_its_place(
    minilm: Embedder, remote: GatewayEmbedder, gate: gw.Gateway, empty: str
) -> None:
    for one in (minilm, remote):
        with pytest.raises(InputError, match="text 2 of 3 has no words"):
            one.embed(["a", empty, "b"])
    assert gate.requests == []


def test_a_text_of_characters_that_the_model_drops_is_refused(minilm: Embedder) -> None:
    with pytest.raises(InputError, match="text 1 of 1"):
        minilm.embed(["\x00\x01\u200b"])


def test_a_lone_surrogate_is_no_obstacle(minilm: Embedder, remote: GatewayEmbedder, gate: gw.Gateway) -> None:
    assert minilm.embed(["I feel \ud83d low"]) == minilm.embed(["I feel ? low"])
    remote.embed(["I feel \ud83d low"])
    assert gate.requests[0].body["input"] == ["I feel ? low"]


def test_a_forked_worker_embeds_too_and_nothing_of_a_gateway_is_loaded() -> None:
    """As Celery's prefork pool does: the parent has embedded before."""
    root = Path(failures.__file__).parent
    environment = {**os.environ, "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORK]
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "True 0 []\n"), done.stderr


def test_the_setting_chooses(gate: gw.Gateway) -> None:
    assert embedder(settings_for()).model == "embedded/minilm-l6-v2"
    chosen = embedder(settings_for(gate, model_embedding="somebody/some-model", gateway_api_key="k"))
    assert chosen.model == "somebody/some-model"
    chosen.embed(["a"])
    assert gate.requests[0].body["model"] == "somebody/some-model"


def test_a_model_without_our_key_never_borrows_another(gate: gw.Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "somebody-elses")
    with pytest.raises(SettingsError, match="GATEWAY_API_KEY"):
        embedder(settings_for(gate, model_embedding=MODEL))


def test_what_is_sent(gate: gw.Gateway, remote: GatewayEmbedder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "somebody-elses")
    monkeypatch.setenv("OPENAI_API_TYPE", "azure")
    remote.embed([SECRET, "b"])
    [request] = gate.requests
    assert request.path == "/v1/embeddings"
    assert request.headers["Authorization"] == "Bearer sk-secret"
    body = request.body
    assert (body["model"], body["input"], body["dimensions"]) == (MODEL, [SECRET, "b"], 1536)


def test_each_text_gets_its_own_vector_over_several_calls(gate: gw.Gateway, remote: GatewayEmbedder) -> None:
    texts = [f"text {n}" for n in range(2 * GATEWAY_BATCH + 1)]
    found = remote.embed(texts)
    assert [len(r.body["input"]) for r in gate.requests] == [GATEWAY_BATCH, GATEWAY_BATCH, 1]
    assert np.abs(np.array(found) - [wire.vector(text) for text in texts]).max() < 1e-6


@pytest.mark.parametrize(
    "fault",
    [
        gw.rate_limited(0.01),
        gw.rate_limited(),
        gw.server_error(500),
        gw.server_error(503),
        gw.truncated_body(),
        gw.html_page(),
        gw.reply({"object": "list", "data": []}),
        gw.embeddings(drop=1),
        gw.reply({"data": [{"index": 0, "embedding": [0.0] * 1536}, {"index": 1, "embedding": [0.1] * 1536}]}),
        gw.reply({"data": [{"index": 0, "embedding": [0.1] * 1536}, {"index": 1, "embedding": [0.1] * 7}]}),
    ],
    ids=repr,
)
def test_a_fault_is_tried_again_and_never_becomes_a_vector(
    gate: gw.Gateway, remote: GatewayEmbedder, fault: gw.Behaviour
) -> None:
    gate.script(fault, fault, model=MODEL)
    found = remote.embed([SECRET, "b"])
    assert len(gate.requests) == 3
    assert found[0] == pytest.approx(wire.vector(SECRET), abs=1e-6)
    gate.script(fault, fault, fault, model=MODEL)
    with pytest.raises(GatewayError) as caught:
        remote.embed([SECRET, "b"])
    assert len(gate.requests) == 6
    assert isinstance(caught.value, ModelError)
    assert MODEL in str(caught.value)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("fault", [gw.unauthorised(), gw.status(400), gw.status(404)], ids=repr)
def test_what_would_fail_again_is_not_tried_again(
    gate: gw.Gateway, remote: GatewayEmbedder, fault: gw.Behaviour
) -> None:
    gate.script(fault, model=MODEL)
    with pytest.raises(CallError, match="status 40") as caught:
        remote.embed([SECRET])
    assert SECRET not in str(caught.value)
    assert len(gate.requests) == 1


def test_a_model_of_another_size_is_refused_with_the_way_out(gate: gw.Gateway, remote: GatewayEmbedder) -> None:
    gate.script(gw.embeddings(512), model=MODEL)
    with pytest.raises(RejectedOutput, match=r"512 numbers.*1536.*MODEL_EMBEDDING"):
        remote.embed(["a"])
    assert len(gate.requests) == 1


def test_the_gateways_wish_is_waited_for_or_the_call_given_up(
    gate: gw.Gateway, remote: GatewayEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []

    async def noted(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr("rag.embedding.asyncio.sleep", noted)
    gate.script(gw.rate_limited(17), gw.rate_limited(3600), model=MODEL)
    with pytest.raises(CallError, match="429"):
        remote.embed(["a"])
    assert waited == [17]
    assert len(gate.requests) == 2


@pytest.mark.parametrize("fault", [gw.hang(4), gw.drip(4)], ids=repr)
def test_the_deadline_is_on_the_whole_call(gate: gw.Gateway, fault: gw.Behaviour) -> None:
    """Left alone, these hang up after four seconds: a later deadline would see a broken connection instead."""
    gate.script(fault, model=MODEL)
    with pytest.raises(CallError, match=r"within 0\.3 s"):
        GatewayEmbedder(gate.base_url, "k", seconds=0.3, tries=1).embed(["a"])


def test_a_gateway_that_is_not_there_is_a_clear_error() -> None:
    with gw.gateway() as gone:
        remote = GatewayEmbedder(gone.base_url, "k")
    with pytest.raises(CallError, match="connection"):
        remote.embed(["a"])


def test_a_redirect_is_not_followed(gate: gw.Gateway, remote: GatewayEmbedder) -> None:
    with gw.gateway() as stranger:
        gate.script(gw.redirected(f"{stranger.base_url}/embeddings"), model=MODEL)
        with pytest.raises(CallError, match="307"):
            remote.embed(["a"])
        assert stranger.requests == []


@pytest.mark.parametrize("fault", [gw.embeddings(), gw.status(400)], ids=repr)
def test_no_log_holds_the_words_or_the_key(
    gate: gw.Gateway, remote: GatewayEmbedder, fault: gw.Behaviour, caplog: pytest.LogCaptureFixture
) -> None:
    gate.script(fault, model=MODEL)
    with caplog.at_level(logging.DEBUG):
        try:
            remote.embed([SECRET])
        except CallError:
            logging.getLogger("test").exception("the call failed")
    assert any(r.name.startswith(("openai", "httpcore", "httpx")) for r in caplog.records)
    assert SECRET not in caplog.text
    assert "sk-secret" not in caplog.text + repr(remote)
