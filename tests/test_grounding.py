"""Quotes are the speaker's own words, letter for letter, or they are gone."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agents.grounding import fold, grounded_quotes

TEXT = "I can’t sleep — “most” nights,\n  and  CAFÉ noise doesn't help. ½ of them in the ofﬁce, Straße."
WORDS = st.text(st.sampled_from("aAbé ßİ’'“\"—-ﬁ½\n\t.e\u0301\u0130\u1112\u1161\u11ab한ı"), max_size=30)


@pytest.mark.parametrize(
    ("quote", "span"),
    [
        ("most", "most"),
        ("I can't sleep", "I can’t sleep"),
        ('sleep - "most" nights', "sleep — “most” nights"),
        ("nights, and café noise", "nights,\n  and  CAFÉ noise"),
        ("cafe\u0301 noise", "CAFÉ noise"),
        ("I CAN’T", "I can’t"),
        ("doesn’t help", "doesn't help"),
        ("in the office", "in the ofﬁce"),
        ("1⁄2 of them", "½ of them"),
        ("STRASSE", "Straße"),
        ("  can't  sleep ", "can’t sleep"),
    ],
)
def test_a_retyped_quote_becomes_the_span_it_stands_for(quote: str, span: str) -> None:
    assert grounded_quotes([quote], TEXT) == (span,)


@pytest.mark.parametrize("quote", ["I can sleep", "cafe noise", "", " ", "\n", ",", "—", "never said", "nights help"])
def test_what_was_not_said_is_dropped(quote: str) -> None:
    assert grounded_quotes([quote], TEXT) == ()


def test_order_is_kept_and_doubles_are_not() -> None:
    assert grounded_quotes(["help", "MOST", "most", "lies", "I"], TEXT) == ("help", "most", "I")


def test_a_quote_may_be_from_any_of_the_texts_but_not_across_them() -> None:
    assert grounded_quotes(["every day", "SINCE MAY"], "every day", "since May") == ("every day", "since May")
    assert grounded_quotes(["day since"], "every day", "since May") == ()


def test_no_text_no_quote() -> None:
    assert grounded_quotes(["x"]) == ()


@given(st.lists(WORDS, max_size=5), st.lists(WORDS, max_size=3))
def test_whatever_comes_out_is_in_a_text(quotes: list[str], texts: list[str]) -> None:
    for span in grounded_quotes(quotes, *texts):
        assert any(span in text for text in texts)
        assert any(fold(quote) in fold(span) for quote in quotes)


@given(WORDS, st.data())
def test_every_real_quote_survives_unchanged(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    quote = text[start : data.draw(st.integers(start, len(text)))]
    expected = (quote,) if any(c.isalnum() for c in quote) else ()
    assert grounded_quotes([quote], text) == expected


@given(
    st.text(st.characters(categories=["L", "N", "Zs"]), max_size=30),
    st.sampled_from(["NFC", "NFKC", "NFD", "NFKD"]),
)
@example("ŉ", "NFKC")
def test_normalising_a_quote_does_not_lose_it(text: str, form: str) -> None:
    quote = unicodedata.normalize(form, text)  # type: ignore[arg-type]
    if any(c.isalnum() for c in quote):
        assert grounded_quotes([quote], text)


@given(st.text())
def test_folding_twice_changes_nothing_more(text: str) -> None:
    assert fold(fold(text)) == fold(text)
