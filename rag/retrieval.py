"""`retrieveDsmPassages`: the passages that speak of what a session found, each with its citation."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from pydantic import BaseModel, ConfigDict

from instruments.level1 import level1
from instruments.tools import ILLUSTRATIVE, Passage, Passages, PassageSource, QueryState, RetrieveDsmPassages
from rag.embedding import Embedder
from storage.library import FoundPassage, Library, Search

_TAG = re.compile(r"</?[a-z][^<>]*>", re.IGNORECASE)
_WORD = re.compile(r"\w+(?:[-/.'’]\w+)*")


class _Limits(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    floor: float
    quotes: int
    candidates: int
    longest_query: int


@cache
def _limits() -> _Limits:
    return _Limits.model_validate(tomllib.loads(files("rag").joinpath("retrieval.toml").read_text("utf-8")))


@dataclass(frozen=True)
class PassageRetriever:
    library: Library
    embedder: Embedder

    def retrieve_dsm_passages(self, call: RetrieveDsmPassages) -> Passages:
        query = call.query_state
        return Passages(passages=self.find(_about(query), _names(query), query.top_k))

    def find(self, text: str, names: tuple[str, ...] = (), limit: int = 6) -> tuple[Passage, ...]:
        """By meaning and, for the names or else the text itself, by words."""
        (vector,) = self.embedder.embed([text])
        wanted = Search(vector, _worded(text, names), self.embedder.model, limit, _limits().floor)
        return tuple(map(_passage, self.library.search(wanted)))


def citation(book: str, page_start: int, page_end: int, section_path: str) -> str:
    pages = f"p. {page_start}" if page_start == page_end else f"p. {page_start}–{page_end}"
    return f"[{book}, {pages}, {section_path}]"


def _passage(found: FoundPassage) -> Passage:
    book = f"{found.book} ({ILLUSTRATIVE})" if found.illustrative else found.book
    return Passage(
        chunk_id=found.chunk_id,
        text=found.text,
        source=PassageSource(
            book=book, page_start=found.page_start, page_end=found.page_end, section_path=found.section_path
        ),
        citation=citation(book, found.page_start, found.page_end, found.section_path),
        similarity=round(found.similarity, 4),
    )


def _worded(text: str, names: tuple[str, ...]) -> str:
    """What full-text search is asked for: any of the names, each as a phrase, else all words of the text."""
    phrases = filter(None, map(_plain, names))
    return " OR ".join(f'"{phrase}"' for phrase in phrases) if names else _plain(text)


def _plain(text: str) -> str:
    """The words alone: these are a patient's or a model's, and no mark in them is meant for Postgres."""
    return " ".join(_WORD.findall(_TAG.sub(" ", text)))


def _names(query: QueryState) -> tuple[str, ...]:
    return query.candidate_diagnoses[: _limits().candidates]


def _about(query: QueryState) -> str:
    """The names that are considered, the domains that reached their threshold, and what was said."""
    thresholds = {domain.name: domain.threshold for domain in level1().domains}
    reached = [d.domain for d in query.symptom_summary if d.severity_aggregate >= thresholds[d.domain]]
    parts = [*_names(query), *reached, *query.salient_quotes[: _limits().quotes]]
    return ". ".join(parts)[: _limits().longest_query] or level1().title
