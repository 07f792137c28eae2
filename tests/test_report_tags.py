"""Whatever is put between evidence tags comes out letter for letter, and no reader of Markdown takes it for markup."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from agents.report.tags import TAGS, Tag, are_well_formed, escaped, found_in, prose, quote, requoted, tagged, unescaped

# Every sign that Markdown, HTML or Streamlit gives a meaning to, in the shapes in which they mean something.
_SIGNS = st.sampled_from(
    [
        *"\\`*_{}[]()<>#+-.!|~$^@=:&;\"'/ \t\n\r\x00\x01\x0b\x0c\x7f\x85\u2028\u2029\u202e\u200b",
        "<quote>", "</quote>", "<sym>", "</med>", "<b>", "<script>alert(1)</script>", "<!--", "-->",
        "&lt;", "&#10;", "&amp;",
        "[a](javascript:x)", "![a](http://e.org/p.png)", "<http://e.org>", "https://e.org/a", "www.e.org", "me@e.org",
        ":red[x]", ":material/home:", ":smile:", ":::note", "$x^2$", "$$", "**b**", "__b__", "~~s~~", "`c`", "```",
        "    ", "\n\n", "\n- a", "\n1. a", "\n# h", "\n> q", "\n---\n", "| a | b |", "\\|", "\\",
        "1. ", "123456789) ", "- ", "* ", "+ ",
        "ﬁ", "é", "e\u0301", "😢", "👨‍👩‍👧", "سلام", "שלום", "我",
    ]
)  # fmt: skip
TEXTS = st.lists(_SIGNS | st.text(max_size=6), max_size=12).map("".join)
RUNS = settings(max_examples=150, deadline=None)
_ESCAPES = re.compile(r"\\[!-/:-@\[-`{-~]|&(?:lt|gt|amp);|&#\d+;")
_LIST_ITEM = ("list_item_open", "paragraph_open", "paragraph_close", "list_item_close")
_MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


def _inline(markdown: str) -> list[Token]:
    return [part for token in _MARKDOWN.parse(markdown) if token.type == "inline" for part in token.children or ()]


def _blocks(markdown: str) -> list[str]:
    return [token.type for token in _MARKDOWN.parse(markdown) if token.type != "inline"]


def _shown(text: str) -> str:
    """As a reader of Markdown shows it: what HTML has no sign for becomes the sign for that."""
    return re.sub(r"[\x00-\x08\x0b\x0e-\x1f\x7f\x85]", "\ufffd", text)


# ---- letter for letter ----


@RUNS
@given(TEXTS)
@example("\x00\x01\x0b\x7f\x85")
@example("&amp;#10; \\&lt; \\\\")
def test_what_is_escaped_comes_back_letter_for_letter(text: str) -> None:
    assert unescaped(escaped(text)) == text


@RUNS
@given(st.sampled_from(TAGS), TEXTS)
def test_what_is_tagged_is_found_letter_for_letter(tag: Tag, text: str) -> None:
    found = {kind: found_in(tagged(tag, text), kind) for kind in TAGS}
    assert found == {kind: [text] if kind == tag else [] for kind in TAGS}


@RUNS
@given(st.lists(TEXTS, max_size=4), TEXTS)
def test_several_quotes_are_found_in_their_order(quotes: list[str], between: str) -> None:
    markdown = escaped(between).join(quote(text) for text in quotes)
    assert found_in(markdown, "quote") == quotes


# ---- nothing is markup ----


@RUNS
@given(TEXTS)
def test_no_sign_is_left_that_means_anything(text: str) -> None:
    bare = _ESCAPES.sub("", escaped(text))
    assert not re.search(r"[\\`*_{}\[\]<>#|~$^@=!+&\x00-\x1f\x7f\x85\u2028\u2029]", bare)
    assert not re.search(r":(?!\s)", escaped(text).replace("\\:", "")), "a directive or an address"
    assert not re.search(r"www\.", escaped(text), re.IGNORECASE)


@RUNS
@given(st.sampled_from(TAGS), TEXTS)
@example("quote", "</quote><img src=x onerror=alert(1)>")
@example("quote", "[a](javascript:alert(1)) ![b](http://e.org/p.png) <http://e.org>")
def test_tagged_text_in_a_paragraph_is_text_between_two_tags(tag: Tag, text: str) -> None:
    markdown = f"Said: {tagged(tag, text)} and no more."
    assert _blocks(markdown) == ["paragraph_open", "paragraph_close"]
    first, opening, *inside, closing, last = _inline(markdown)
    assert (first.content, opening.content, closing.content, last.content) == (
        "Said: ", f"<{tag}>", f"</{tag}>", " and no more."
    )  # fmt: skip
    assert {part.type for part in inside} <= {"text"}
    assert "".join(part.content for part in inside) == _shown(text)


@RUNS
@given(st.sampled_from(TAGS), TEXTS)
def test_tagged_text_in_a_list_leaves_the_list_as_it_is(tag: Tag, text: str) -> None:
    blocks = _blocks(f"- {tagged(tag, text)}\n- the next")
    assert blocks == ["bullet_list_open", *_LIST_ITEM, *_LIST_ITEM, "bullet_list_close"]


@RUNS
@given(TEXTS, TEXTS)
@example("|", "\\|")
@example("\\", "\n| a | b | c |")
def test_tagged_text_in_a_table_breaks_no_cell(left: str, right: str) -> None:
    table = f"| a | b |\n| --- | --- |\n| {quote(left)} | {quote(right)} |\n| last | row |"
    tokens = _MARKDOWN.parse(table)
    assert [token.type for token in tokens].count("tr_open") == 3
    cells = [token for token in tokens if token.type == "inline"]
    assert len(cells) == 6
    for cell, text in zip(cells[2:4], (left, right), strict=True):
        opening, *inside, closing = cell.children or []
        assert (opening.content, closing.content) == ("<quote>", "</quote>")
        assert {part.type for part in inside} <= {"text"}
        assert "".join(part.content for part in inside) == _shown(text)


@RUNS
@given(TEXTS)
def test_rendered_text_has_no_tag_but_ours(text: str) -> None:
    rendered = _MARKDOWN.render(f"{quote(text)}\n\n- {prose(text)}\n")
    assert set(re.findall(r"<(/?\w+)", rendered)) <= {
        *(f"{end}{tag}" for tag in (*TAGS, "p", "ul", "li") for end in ("", "/"))
    }
    assert not re.search(r"\bhref\b|\bsrc\b", re.sub(r">[^<]*<", "><", rendered))


# ---- prose that may have tags of its own ----


@RUNS
@given(TEXTS)
@example("    a block of code")
@example("1234. a list")
@example("---")
@example("<quote>a <sym>b</quote></sym>")
@example("<qu<sym>ote>")
def test_prose_is_one_paragraph_whose_tags_are_closed_and_not_nested(text: str) -> None:
    made = prose(text)
    assert are_well_formed(made)
    if made:
        assert _blocks(made) == ["paragraph_open", "paragraph_close"]
        assert _blocks(f"- {made}") == ["bullet_list_open", *_LIST_ITEM, "bullet_list_close"]
    kinds = {part.type for part in _inline(made)}
    assert kinds <= {"text", "html_inline"}
    assert {part.content for part in _inline(made) if part.type == "html_inline"} <= {
        f"<{end}{tag}>" for tag in TAGS for end in ("", "/")
    }


def test_prose_keeps_its_tags_and_escapes_all_else() -> None:
    made = prose("<sym>Low *mood*</sym> & <b>more</b>: <quote>a|b</quote> <med>GAD-7</med>")
    assert made == ("<sym>Low \\*mood\\*</sym> &amp; &lt;b&gt;more&lt;/b&gt;: <quote>a\\|b</quote> <med>GAD-7</med>")


def test_a_tag_within_a_tag_is_taken_out_and_a_lone_one_is_shown_as_text() -> None:
    assert prose("<quote>I <sym>am</sym> low</quote>") == "<quote>I am low</quote>"
    assert prose("a </quote> b <med>") == "a &lt;/quote&gt; b &lt;med&gt;"


@pytest.mark.parametrize(
    ("text", "is_so"),
    [
        ("", True),
        ("no tags, 3 < 4", True),
        ("<sym>a</sym> <quote>b</quote><med>c</med>", True),
        ("<b>not ours</b>", True),
        ("<sym>a", False),
        ("a</sym>", False),
        ("<sym>a</quote>", False),
        ("<quote>a <sym>b</sym></quote>", False),
        ("<quote>a <quote>b</quote></quote>", False),
        ("<quote>a <sym>b</quote></sym>", False),
    ],
)
def test_well_formed_means_closed_before_another_opens(text: str, is_so: bool) -> None:
    assert are_well_formed(text) is is_so


def test_only_quotes_are_replaced() -> None:
    text = "<sym>low</sym> <quote>low</quote> low <quote>off</quote>"
    assert requoted(text, str.upper) == "<sym>low</sym> <quote>LOW</quote> low <quote>OFF</quote>"
