"""Vectors by which passages are found: of the embedded MiniLM, or of a model behind the gateway.

Vectors of two models have nothing to do with each other: keep `Embedder.model` beside each one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from errors import GatewayError, InputError, RejectedOutput, SettingsError
from gateway import back_off, call_error
from minilm import network
from settings import EMBEDDING_MODEL, RULES, Settings

if TYPE_CHECKING:
    import openai
    from langchain_openai import OpenAIEmbeddings

DIMENSIONS = 1536
GATEWAY_BATCH = 32
"""Texts a call: even of the longest (8192 tokens) so many are below the 300 000 tokens that OpenAI takes at once."""
LONGEST_WAIT = 60.0
"""Seconds. A gateway that asks for more is not waited for: whoever runs the job tries again later."""
Vector = list[float]


class Embedder(Protocol):
    @property
    def model(self) -> str: ...

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """One vector of 1536 numbers for each text; raises InputError for an empty text, else ModelError."""


def embedder(settings: Settings) -> Embedder:
    """The one that MODEL_EMBEDDING names."""
    model = settings.embedding
    if model == RULES:
        return MiniLmEmbedder()
    key = settings.gateway_api_key
    if key is None:
        raise SettingsError(f"GATEWAY_API_KEY is not set, and {model!r} needs it.")
    return GatewayEmbedder(
        str(settings.gateway_base_url),
        key.get_secret_value(),
        model,
        seconds=settings.model_call_seconds,
        tries=settings.model_tries,
    )


class MiniLmEmbedder:
    """Runs inside the process. Its 384 numbers are followed by zeros, which change no cosine."""

    model = "embedded/minilm-l6-v2"

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        if not texts:
            return []
        pieces = [network.pieces_of(text) for text in _sendable(texts)]
        _refuse_empty([len(one) > 2 for one in pieces])  # the two marks alone: characters that count for nothing
        padded = np.zeros((len(pieces), DIMENSIONS))
        padded[:, : network.WIDTH] = network.embed(pieces)
        return _as_lists(padded)


class GatewayEmbedder:
    """A model at an OpenAI-compatible endpoint. Must be called from a thread that runs no event loop."""

    def __init__(
        self, base_url: str, api_key: str, model: str = EMBEDDING_MODEL, *, seconds: float = 20.0, tries: int = 3
    ) -> None:
        self._base_url, self._api_key, self._model = base_url, api_key, model
        self._seconds, self._tries = seconds, tries

    def __repr__(self) -> str:
        return f"GatewayEmbedder({self._model!r})"

    @property
    def model(self) -> str:
        return self._model

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        return asyncio.run(self._embed(_sendable(texts))) if texts else []

    async def _embed(self, texts: list[str]) -> list[Vector]:
        import openai

        # A redirect would carry the words to a host that nobody configured.
        async with openai.DefaultAsyncHttpxClient(follow_redirects=False) as http:
            client = self._client(http)
            found: list[Vector] = []
            for at in range(0, len(texts), GATEWAY_BATCH):
                found += await self._batch(client, texts[at : at + GATEWAY_BATCH])
        return found

    async def _batch(self, client: OpenAIEmbeddings, texts: list[str]) -> list[Vector]:
        for failed in range(1, self._tries):
            try:
                return await self._try(client, texts)
            except GatewayError as error:
                pause = back_off(failed) if error.retry_after is None else error.retry_after
                if not error.retryable or pause > LONGEST_WAIT:
                    raise
            await asyncio.sleep(pause)
        return await self._try(client, texts)

    async def _try(self, client: OpenAIEmbeddings, texts: list[str]) -> list[Vector]:
        try:
            # The total deadline: a server that drips bytes never trips the client's read timeout.
            async with asyncio.timeout(self._seconds):
                vectors = np.array(await client.aembed_documents(texts), np.float64)
        except Exception as error:
            raise call_error(error, self._model, self._seconds) from None
        return self._checked(vectors, len(texts))

    def _checked(self, vectors: npt.NDArray[np.float64], texts: int) -> list[Vector]:
        if vectors.ndim != 2 or len(vectors) != texts:
            raise GatewayError(f"{self._model}: the gateway did not answer {texts} texts with as many vectors")
        if vectors.shape[1] != DIMENSIONS:
            raise RejectedOutput(
                f"{self._model} makes vectors of {vectors.shape[1]} numbers, and the store holds {DIMENSIONS}: "
                "set MODEL_EMBEDDING to another model."
            )
        if not np.isfinite(vectors).all() or not vectors.any(axis=1).all():
            raise GatewayError(f"{self._model}: the gateway sent a vector without a direction")
        return _as_lists(vectors)

    def _client(self, http: openai.DefaultAsyncHttpxClient) -> OpenAIEmbeddings:
        from langchain_openai import OpenAIEmbeddings

        async def key() -> str:  # given as a coroutine, langchain makes no second, blocking client
            return self._api_key

        return OpenAIEmbeddings(
            model=self._model,
            openai_api_base=self._base_url,
            openai_api_key=key,
            http_async_client=http,
            openai_proxy="",
            openai_api_type=None,  # else taken from the environment, and refused when that is Azure's
            dimensions=DIMENSIONS,
            chunk_size=GATEWAY_BATCH,
            check_embedding_ctx_length=False,  # else it downloads a tokenizer
            max_retries=0,
            request_timeout=None,
        )


def _sendable(texts: Sequence[str]) -> list[str]:
    """Refuses empty texts; lone surrogates, which neither UTF-8 nor the tokenizer takes, become question marks."""
    _refuse_empty([bool(text.strip()) for text in texts])
    return [text.encode("utf-8", "replace").decode() for text in texts]


def _refuse_empty(full: list[bool]) -> None:
    if not all(full):
        raise InputError(f"text {full.index(False) + 1} of {len(full)} has no words in it: it cannot be embedded.")


def _as_lists(vectors: npt.NDArray[np.float64]) -> list[Vector]:
    found: list[Vector] = vectors.tolist()
    return found
