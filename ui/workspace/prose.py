"""A report's Markdown as HTML: our own tags become marks, a quote leads to its turn, all else is text.

The Markdown is ours and escapes what others wrote. Should that ever fail, nothing is lost here: of what Markdown knows
only paragraphs, lists, tables and emphasis are drawn, and no other HTML comes through.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache, partial

from markdown_it import MarkdownIt
from markdown_it.token import Token

from ui.workspace.markup import linked, text

Where = Callable[[str, str], str | None]
"""The address of the turn in which something was said, if there is one; in a table also what its row begins with."""

_TAG = re.compile(r"<(/?)(sym|quote|med)>")
_BLOCKS = {
    "paragraph": "p", "bullet_list": "ul", "ordered_list": "ol", "list_item": "li", "heading": "p", "table": "table",
    "thead": "thead", "tbody": "tbody", "tr": "tr", "th": "th", "td": "td",
}  # fmt: skip
_INLINE = {"strong": "b", "em": "i"}


def as_html(markdown: str, where: Where) -> str:
    drawn, head, column, beside = [], list[str](), 0, ""
    tokens = _parser().parse(markdown)
    for at, token in enumerate(tokens):
        kind, _, side = token.type.rpartition("_")
        if token.type == "inline":
            inside = _inline(token.children or [], partial(_asked, where, beside))
            if tokens[at - 1].type == "th_open":
                head.append(token.content)
                drawn.append(inside)
                continue
            if column == 1:
                beside = _TAG.sub("", token.content)
            drawn.append(inside or "—")
        elif kind == "td" and side == "open":
            drawn.append(_cell(head, column))
            column += 1
        elif kind in _BLOCKS and not token.hidden:
            column, beside = (0, "") if kind == "tr" else (column, beside)
            drawn.append(f"<{'/' if side == 'close' else ''}{_BLOCKS[kind]}>")
        elif token.content:  # code, HTML: nothing that our reports have
            drawn.append(f"<p>{text(token.content)}</p>")
    return "".join(drawn)


def _asked(where: Where, beside: str, said: str) -> str | None:
    return where(said, beside)


def _cell(head: Sequence[str], column: int) -> str:
    """With its column's name, which a narrow screen shows beside it."""
    named = 0 < column < len(head) - 1
    return f'<td data-head="{text(head[column])}">' if named else "<td>"


def _inline(tokens: Sequence[Token], where: Callable[[str], str | None]) -> str:
    drawn: list[str] = []
    quote: list[str] | None = None
    for token in tokens:
        tag = _TAG.fullmatch(token.content) if token.type == "html_inline" else None
        if tag and tag[2] == "quote":
            if tag[1] and quote is not None:
                drawn.append(_quote("".join(quote), where))
            quote = None if tag[1] else []
        elif quote is not None:
            quote.append(_plain(token))
        elif tag:
            drawn.append("</span>" if tag[1] else f'<span class="{tag[2]}">')
        else:
            drawn.append(_emphasis(token) or text(_plain(token)))
    return "".join(drawn)


def _quote(said: str, where: Callable[[str], str | None]) -> str:
    shown, href = f"“{text(said)}”", where(said)
    return linked(shown, href, "quote") if href else f'<span class="quote">{shown}</span>'


def _emphasis(token: Token) -> str:
    kind, _, side = token.type.rpartition("_")
    return f"<{'/' if side == 'close' else ''}{_INLINE[kind]}>" if kind in _INLINE else ""


def _plain(token: Token) -> str:
    return " " if token.type in ("softbreak", "hardbreak") else token.content


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": True}).enable("table")
