"""The library: what a search finds and what it never sees, and books that change all at once."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from psycopg.conninfo import conninfo_to_dict

from errors import InputError, NotFoundError
from instruments.level1 import level1
from instruments.profile import DomainSummary
from instruments.tools import ILLUSTRATIVE, QueryState, RetrieveDsmPassages
from rag.embedding import DIMENSIONS, MiniLmEmbedder, Vector
from rag.ingestion import embeddable
from rag.retrieval import PassageRetriever, citation
from storage import library as library_module
from storage.crypto import Vault
from storage.database import Database
from storage.library import BookRow, FoundPassage, Library, NewBook, NewPassage, Search

MODEL, OTHER = "openai/text-embedding-3-small", "embedded/minilm-l6-v2"
FLOOR = 0.2
NEAREST = 50
"""So many passages of each kind of search are fused."""


@pytest.fixture
def library(database: Database) -> Library:
    return Library(database)


def towards(cosine: float, aside: int = 1) -> Vector:
    """A unit vector with this cosine to the query; `aside` is the direction of the rest."""
    vector = [0.0] * DIMENSIONS
    vector[0], vector[aside] = cosine, math.sqrt(1 - cosine**2)
    return vector


QUERY = towards(1.0)


def passage(ordinal: int, cosine: float, *, section: str | None = None, text: str = "Nothing special.") -> NewPassage:
    path = f"Chapter > Section {ordinal}" if section is None else section
    return NewPassage(ordinal, path, ordinal + 1, ordinal + 1, text, towards(cosine, 1 + ordinal % 1000))


def book(name: str, *, model: str = MODEL, illustrative: bool = False, content: str = "") -> NewBook:
    identity = (f"{name}{content}".encode().hex() * 64)[:64]
    return NewBook(identity, name, illustrative, 7, [{"path": "kept"}], [{"path": "left out"}], model)


def put(library: Library, name: str, passages: Sequence[NewPassage], **given: Any) -> NewBook:
    made = book(name, **given)
    library.replace(made, passages)
    return made


def found(library: Library, words: str = "", *, limit: int = 6, model: str = MODEL) -> list[FoundPassage]:
    return library.search(Search(QUERY, words, model, limit, FLOOR))


def ordinals(passages: Sequence[FoundPassage]) -> list[int]:
    return [int(one.chunk_id.rsplit("-", 1)[1]) for one in passages]


def row(library: Library, name: str) -> BookRow:
    (one,) = (one for one in library.books() if one.name == name)
    return one


# ---- What a search finds ---------------------------------------------------------------------------------------------


def test_what_is_near_and_what_has_the_words_both_come(library: Library) -> None:
    near = [passage(n, 0.95 - n / 1000) for n in range(NEAREST + 10)]
    by_words = passage(90, 0.3, text="Dysthymia is named here.")
    put(library, "Manual", [*near, by_words])
    assert ordinals(found(library, limit=50)) == list(range(NEAREST)), "by meaning alone it is too far"
    both = found(library, "dysthymia")
    assert {0, 90} <= set(ordinals(both)[:2])
    assert both[0].fused == pytest.approx(1 / 61)
    assert [round(one.similarity, 3) for one in both if one.chunk_id.endswith("90")] == [0.3]


def test_a_passage_that_is_near_and_has_the_words_comes_first(library: Library) -> None:
    texts = {3: "Low mood for two years is dysthymia.", 7: "Dysthymia, dysthymia and again dysthymia."}
    put(library, "Manual", [passage(n, 0.9 - n / 100, text=texts.get(n, "Nothing special.")) for n in range(9)])
    first = found(library, "dysthymia")
    assert set(ordinals(first)[:2]) == {3, 7}
    assert [one.fused for one in first] == sorted((one.fused for one in first), reverse=True)
    assert ordinals(found(library)) == [0, 1, 2, 3, 4, 5]


def test_words_are_found_in_their_other_forms_and_in_the_name_of_a_section(library: Library) -> None:
    put(
        library,
        "Manual",
        [
            *(passage(n, 0.9 - n / 100) for n in range(5)),
            passage(5, 0.3, text="Panicking suddenly."),
            passage(6, 0.3, section="Anxiety Disorders > Agoraphobia > Diagnostic Criteria"),
        ],
    )
    assert 5 in ordinals(found(library, "panicked", limit=2))
    assert 6 in ordinals(found(library, "agoraphobia", limit=2))


@pytest.mark.parametrize(
    "text", ["“Dysthymia” is low mood.", "Low mood—dysthymia…", "‘Dysthymia’ it is.", "low–dysthymia"]
)
def test_typographic_signs_do_not_hide_a_word_of_a_book(library: Library, text: str) -> None:
    near = [passage(n, 0.95 - n / 1000) for n in range(NEAREST + 10)]
    put(library, "Manual", [*near, passage(90, 0.3, text=text)])
    assert 90 in ordinals(found(library, "dysthymia")[:2])


def test_a_section_gives_two_passages_at_most(library: Library) -> None:
    crowded = [passage(n, 0.95 - n / 100, section="Mood > X > Criteria") for n in range(6)]
    apart = [passage(n, 0.5 - n / 100) for n in range(6, 10)]
    put(library, "Manual", [*crowded, *apart])
    assert ordinals(found(library)) == [0, 1, 6, 7, 8, 9]
    assert ordinals(found(library, limit=3)) == [0, 1, 6]


def test_two_books_with_a_section_of_the_same_name_give_two_passages_each(library: Library) -> None:
    for name in ("First", "Second"):
        put(library, name, [passage(n, 0.9 - n / 100, section="Mood > X > Criteria") for n in range(4)])
    assert sorted((one.book, number) for one, number in zip(found(library), ordinals(found(library)), strict=True)) == [
        ("First", 0),
        ("First", 1),
        ("Second", 0),
        ("Second", 1),
    ]


def test_what_is_less_alike_than_the_floor_is_not_found_even_by_its_words(library: Library) -> None:
    put(library, "Manual", [passage(0, FLOOR - 0.01, text="Dysthymia."), passage(1, FLOOR + 0.01, text="Dysthymia.")])
    assert ordinals(found(library, "dysthymia")) == [1]


def test_an_empty_library_finds_nothing(library: Library) -> None:
    assert found(library, "dysthymia") == []
    assert library.books() == []


# ---- Vectors of two models -------------------------------------------------------------------------------------------


def test_vectors_of_two_models_are_never_compared(library: Library) -> None:
    put(library, "Ours", [passage(n, 0.4, text="Dysthymia.") for n in range(2)], model=MODEL)
    put(library, "Theirs", [passage(n, 0.99, text="Dysthymia.") for n in range(2)], model=OTHER)
    assert {one.book for one in found(library, "dysthymia", model=MODEL)} == {"Ours"}
    assert {one.book for one in found(library, "dysthymia", model=OTHER)} == {"Theirs"}
    assert found(library, "dysthymia", model="someone/else") == []


def test_a_library_says_which_books_another_model_hides(library: Library) -> None:
    put(library, "Ours", [passage(0, 0.4)], model=MODEL)
    put(library, "Theirs", [passage(0, 0.4)], model=OTHER)
    assert [one.name for one in library.of_other_models(MODEL)] == ["Theirs"]
    assert [one.name for one in library.of_other_models(OTHER)] == ["Ours"]
    assert [one.name for one in library.of_other_models("someone/else")] == ["Ours", "Theirs"]


def test_a_crowd_of_another_models_vectors_does_not_hide_our_few(database: Database, vault: Vault) -> None:
    """In the index all lie together: a search that looked at the nearest alone would see none of ours."""
    put(Library(database), "Theirs", [somewhere(n, 0.99 - n / 10_000) for n in range(250)], model=OTHER)
    put(Library(database), "Ours", [somewhere(n, 0.4 - n / 100) for n in range(5)], model=MODEL)
    name = conninfo_to_dict(database.url)["dbname"]
    for other_way in ("enable_seqscan", "enable_sort", "enable_bitmapscan"):
        database.run(f"ALTER DATABASE {name} SET {other_way} = off")
    with Database(database.url, vault, size=1) as opened:
        assert "passages_embedding" in _plan(opened)
        assert ordinals(found(Library(opened))) == [0, 1, 2, 3, 4]


def somewhere(ordinal: int, cosine: float) -> NewPassage:
    """A passage with this cosine to the query, and the rest of its vector anywhere."""
    rest = np.random.default_rng(ordinal).normal(size=DIMENSIONS)
    rest[0] = 0
    vector = rest / np.linalg.norm(rest) * math.sqrt(1 - cosine**2)
    vector[0] = cosine
    return replace(passage(ordinal, cosine), embedding=vector.tolist())


def _plan(database: Database) -> str:
    wanted = library_module._parameters(Search(QUERY, "", MODEL, 6, FLOOR))
    with database.connection() as connection:
        return str(connection.execute(f"EXPLAIN {library_module._SEARCH}".encode(), wanted).fetchall())


# ---- The illustrative book -------------------------------------------------------------------------------------------


def test_the_illustrative_book_is_searched_only_while_no_licensed_one_is_in(library: Library) -> None:
    sample = put(library, "Sample", [passage(0, 0.9)], illustrative=True)
    assert [(one.book, one.illustrative) for one in found(library)] == [("Sample", True)]
    licensed = put(library, "Manual", [passage(0, 0.4)])
    assert [(one.book, one.illustrative) for one in found(library)] == [("Manual", False)]
    library.remove(licensed.id)
    assert [one.book for one in found(library)] == ["Sample"]
    library.remove(sample.id)
    assert found(library) == []


def test_a_licensed_book_that_another_model_hides_is_not_replaced_by_the_illustrative_one(library: Library) -> None:
    put(library, "Sample", [passage(0, 0.9)], illustrative=True)
    put(library, "Manual", [passage(0, 0.4)], model=OTHER)
    assert found(library) == []
    assert [one.name for one in library.of_other_models(MODEL)] == ["Manual"]


# ---- Queries and citations -------------------------------------------------------------------------------------------


class Fixed:
    """Every text means the same, so that a passage far from it is found by its words or not at all."""

    model = MODEL

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        return [QUERY for _ in texts]


@pytest.fixture
def retriever(library: Library) -> PassageRetriever:
    """Over a book in which one passage is found by words alone: panic attacks."""
    near = [passage(n, 0.95 - n / 1000) for n in range(NEAREST + 10)]
    put(library, "Manual", [*near, passage(90, 0.3, text="Panic attacks come out of the blue.")])
    return PassageRetriever(library, Fixed())


def by_words(retriever: PassageRetriever, text: str, names: tuple[str, ...] = ()) -> bool:
    return any(one.chunk_id.endswith("-00090") for one in retriever.find(text, names))


HOSTILE = {
    "a quote": '"',
    "quotes": "\"\" '' “ ” ` '\"'",
    "operators": "& | ! <-> :* () && || !!",
    "minus": "- -- --- –",
    "comment": "/* */ ; -- ",
    "markup": "<b></b> <sym> <script src='x'> <!-- -->",
    "null": "\0 \0\0",
    "controls": "\x01\x1b[\x7f\r\n\t\v",
    "backslashes": "\\ \\\\ \\'",
    "placeholders": "% %% {} $ ?",
    "lone surrogate": "\ud800",
    "invisible": "\u200b\u202e\ufeff",
    "brackets": "[]{}()<>",
    "emoji": "🙂",
}


@pytest.mark.parametrize("noise", HOSTILE.values(), ids=HOSTILE)
def test_marks_in_a_query_do_not_keep_its_words_from_being_found(retriever: PassageRetriever, noise: str) -> None:
    assert by_words(retriever, f"{noise}panic {noise} attacks{noise}")
    assert by_words(retriever, "x", (f"{noise}Panic {noise} Attacks{noise}",))
    assert retriever.find(noise), "by meaning"
    assert retriever.find("x", (noise,)), "by meaning"


@pytest.mark.parametrize(
    "text", ["panic -attacks", 'panic -"attacks"', "panic and attacks", "panic, attacks!", "attacks of panic"]
)
def test_nothing_in_a_query_excludes_a_passage(retriever: PassageRetriever, text: str) -> None:
    assert by_words(retriever, text)
    assert not by_words(retriever, f"{text} gambling"), "all of the words are looked for"


def test_any_of_the_names_is_looked_for_as_a_phrase(retriever: PassageRetriever) -> None:
    assert by_words(retriever, "x", ("Gambling Disorder", "Panic Attacks"))
    assert not by_words(retriever, "x", ("Attacks Panic", "Gambling Disorder"))
    assert not by_words(retriever, "x", ('Gambling" OR "Attacks', 'Gambling" OR panic OR "x')), "a name is no operator"


def test_a_query_that_means_harm_is_only_a_query(retriever: PassageRetriever, library: Library) -> None:
    for text in ("'; DROP TABLE passages; --", "panic') OR 1=1; DELETE FROM books; --", "x" * 100_000, "or " * 5000):
        assert retriever.find(text)
    assert row(library, "Manual").passages == NEAREST + 11


def test_as_many_passages_come_as_were_asked_for(retriever: PassageRetriever) -> None:
    assert len(retriever.find("x")) == 6
    assert [len(retriever.find("x", limit=limit)) for limit in (1, 3, 50)] == [1, 3, 50]


@pytest.mark.parametrize(
    ("pages", "cited"),
    [
        ((160, 161), "[DSM-5, p. 160–161, Depressive Disorders > Major Depressive Disorder > Diagnostic Criteria]"),
        ((160, 160), "[DSM-5, p. 160, Depressive Disorders > Major Depressive Disorder > Diagnostic Criteria]"),
    ],
)
def test_a_citation_names_book_pages_and_section(library: Library, pages: tuple[int, int], cited: str) -> None:
    section = "Depressive Disorders > Major Depressive Disorder > Diagnostic Criteria"
    assert citation("DSM-5", *pages, section) == cited
    library.replace(book("DSM-5"), [NewPassage(0, section, *pages, "A. Low mood.", towards(0.61))])
    (one,) = PassageRetriever(library, Fixed()).find("x")
    assert (one.citation, one.text, one.similarity) == (cited, "A. Low mood.", 0.61)
    assert (one.source.book, one.source.page_start, one.source.page_end) == ("DSM-5", *pages)
    assert (one.source.section_path, one.is_illustrative) == (section, False)


def test_a_citation_of_the_illustrative_book_says_what_it_is(library: Library) -> None:
    put(library, "Sample", [passage(0, 0.9, section="S")], illustrative=True)
    (one,) = PassageRetriever(library, Fixed()).find("x")
    assert one.citation == f"[Sample ({ILLUSTRATIVE}), p. 1, S]"
    assert one.is_illustrative


class Listening(Fixed):
    def __init__(self) -> None:
        self.heard: list[str] = []

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        self.heard += texts
        return super().embed(texts)


def test_a_session_is_looked_up_by_names_domains_over_their_threshold_and_quotes(library: Library) -> None:
    put(library, "Manual", [passage(n, 0.95 - n / 1000, text="Panic Disorder." if n == 5 else "-") for n in range(9)])
    first, second = level1().domains[:2]
    query = QueryState(
        symptom_summary=(
            DomainSummary(domain=first.name, severity_aggregate=first.threshold),
            DomainSummary(domain=second.name, severity_aggregate=second.threshold - 1),
        ),
        candidate_diagnoses=("Panic Disorder", *(f"Name {n}" for n in range(9))),
        salient_quotes=tuple(f"quote {n}" for n in range(9)),
        top_k=4,
    )
    ear = Listening()
    got = PassageRetriever(library, ear).retrieve_dsm_passages(RetrieveDsmPassages(query_state=query)).passages
    assert len(got) == 4
    assert got[0].chunk_id.endswith("-00005"), "the only one with a name"
    names = "Panic Disorder. Name 0. Name 1. Name 2. Name 3"
    assert ear.heard == [f"{names}. {first.name}. quote 0. quote 1. quote 2. quote 3"]


def test_a_session_without_findings_is_looked_up_all_the_same(library: Library) -> None:
    put(library, "Manual", [passage(0, 0.9)])
    query = RetrieveDsmPassages(query_state=QueryState(symptom_summary=()))
    assert len(PassageRetriever(library, Fixed()).retrieve_dsm_passages(query).passages) == 1


def test_meaning_and_words_of_real_sentences_find_their_passage(library: Library) -> None:
    texts = {
        "Mood > Low Mood Disorder": "A. Sadness and loss of interest on most days.",
        "Anxiety > Panic Disorder": "A. Sudden attacks of fear with a racing heart.",
        "Sleep > Insomnia Disorder": "A. Lying awake for hours at night.",
    }
    embedder = MiniLmEmbedder()
    vectors = embedder.embed([embeddable(section, text) for section, text in texts.items()])
    passages = [
        NewPassage(n, section, 1, 1, text, vector)
        for n, ((section, text), vector) in enumerate(zip(texts.items(), vectors, strict=True))
    ]
    library.replace(book("Manual", model=embedder.model), passages)
    retriever = PassageRetriever(library, embedder)
    for said, section in (
        ("my heart pounds and I am terrified out of nowhere", "Anxiety > Panic Disorder"),
        ("I cannot fall asleep", "Sleep > Insomnia Disorder"),
        ("nothing brings me joy any more", "Mood > Low Mood Disorder"),
    ):
        assert retriever.find(said)[0].source.section_path == section
    with pytest.raises(InputError, match="no words in it"):
        retriever.find(" \0")


# ---- Books that change -----------------------------------------------------------------------------------------------


def test_a_book_is_listed_with_what_it_holds(library: Library) -> None:
    put(library, "Sample", [passage(0, 0.9)], illustrative=True)
    made = put(library, "Manual", [passage(n, 0.9) for n in range(3)])
    first, second = library.books()
    assert (first.id, first.name, first.passages, first.pages) == (made.id, "Manual", 3, 7)
    assert (first.kept, first.left_out, first.embedding_model) == (made.kept, made.left_out, MODEL)
    assert (second.name, second.illustrative) == ("Sample", True)


def test_a_book_takes_the_place_of_what_has_its_name_or_its_file(library: Library) -> None:
    old = put(library, "Manual", [passage(n, 0.9) for n in range(3)])
    new = put(library, "Manual", [passage(n, 0.9) for n in range(5)], content="changed")
    assert [(one.id, one.passages) for one in library.books()] == [(new.id, 5)]
    assert (library.has(old.id, "Manual", MODEL), library.has(new.id, "Manual", MODEL)) == (False, True)
    library.replace(NewBook(new.id, "Renamed", False, 7, [], [], MODEL), [passage(0, 0.9)])
    assert [(one.name, one.passages) for one in library.books()] == [("Renamed", 1)]
    assert not library.has(new.id, "Manual", MODEL)
    assert not library.has(new.id, "Renamed", OTHER)


def test_an_unknown_book_cannot_be_removed(library: Library) -> None:
    with pytest.raises(NotFoundError, match="there is no book 'x'"):
        library.remove("x")


def whole(library: Library, texts: tuple[str, ...]) -> str:
    """What somebody sees who looks now: the one text that all passages of the book have, and how it is listed."""
    seen = {one.text for one in found(library, limit=50)}
    (listed,) = library.books()
    assert len(seen) == 1, f"a mixture: {seen}"
    (text,) = seen
    assert text in texts
    assert listed.passages == PASSAGES
    return text


PASSAGES = 30


def edition(text: str) -> list[NewPassage]:
    return [passage(n, 0.9 - n / 100, text=text) for n in range(PASSAGES)]


def test_whoever_looks_while_a_book_is_being_replaced_sees_the_old_one_whole(library: Library) -> None:
    put(library, "Manual", edition("old"))
    half_way, go_on = threading.Event(), threading.Event()

    def slowly() -> Iterator[NewPassage]:
        for number, one in enumerate(edition("new")):
            if number == PASSAGES // 2:
                half_way.set()
                assert go_on.wait(30)
            yield one

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(library.replace, book("Manual", content="new"), slowly())
        try:
            assert half_way.wait(30)
            assert whole(library, ("old", "new")) == "old"
        finally:
            go_on.set()
        writing.result(30)
    assert whole(library, ("old", "new")) == "new"


def test_a_replacement_that_fails_half_way_leaves_the_old_book(library: Library) -> None:
    put(library, "Manual", edition("old"))

    def broken() -> Iterator[NewPassage]:
        yield from edition("new")[:7]
        raise RuntimeError("out of ink")

    with pytest.raises(RuntimeError, match="out of ink"):
        library.replace(book("Manual", content="new"), broken())
    assert whole(library, ("old", "new")) == "old"


def test_readers_never_see_a_mixture_however_often_a_book_changes(library: Library) -> None:
    put(library, "Manual", edition("0"))
    texts, done = tuple(map(str, range(12))), threading.Event()

    def look() -> set[str]:
        seen = set()
        while not done.is_set():
            seen.add(whole(library, texts))
        return seen

    with ThreadPoolExecutor(2) as pool:
        readers = [pool.submit(look) for _ in range(2)]
        try:
            for text in texts[1:]:
                put(library, "Manual", edition(text), content=text)
        finally:
            done.set()
        assert all(reader.result(30) for reader in readers)
    assert whole(library, texts) == "11"


def test_of_two_that_put_in_a_book_of_one_name_at_once_one_is_in_whole(library: Library) -> None:
    texts = ("a", "b", "c", "d")
    barrier = threading.Barrier(len(texts))

    def write(text: str) -> None:
        barrier.wait(30)
        put(library, "Manual", edition(text), content=text)

    with ThreadPoolExecutor(len(texts)) as pool:
        list(pool.map(write, texts))
    assert whole(library, texts) in texts


# ---- Other vectors ---------------------------------------------------------------------------------------------------


def vectors_of(library: Library, made: NewBook, cosine: float) -> list[tuple[str, Vector]]:
    return [(chunk_id, towards(cosine)) for chunk_id, _, _ in library.texts(made.id)]


def test_a_book_gets_the_vectors_of_another_model_all_at_once(library: Library) -> None:
    made = put(library, "Manual", [passage(n, 0.9, text=f"text {n}") for n in range(3)])
    assert [(section, text) for _, section, text in library.texts(made.id)] == [
        (f"Chapter > Section {n}", f"text {n}") for n in range(3)
    ]
    assert library.reembed(row(library, "Manual"), OTHER, vectors_of(library, made, 0.5)) == 3
    assert found(library) == []
    assert [round(one.similarity, 3) for one in found(library, model=OTHER)] == [0.5] * 3
    assert library.of_other_models(OTHER) == []


def test_a_book_that_was_replaced_meanwhile_keeps_its_vectors(library: Library) -> None:
    old = put(library, "Manual", [passage(n, 0.9) for n in range(3)])
    listed, late = row(library, "Manual"), vectors_of(library, old, 0.5)
    put(library, "Manual", [passage(n, 0.8) for n in range(5)])  # the same file, put in again
    assert library.reembed(listed, OTHER, late) == 0
    assert [round(one.similarity, 3) for one in found(library)] == [0.8] * 5
    library.remove(old.id)
    assert library.reembed(listed, OTHER, late) == 0
    assert library.books() == []
