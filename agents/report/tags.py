"""Evidence tags: `<sym>` for a symptom, `<quote>` for the patient's own words, `<med>` for a medical term.

What stands between tags is written with character references wherever Markdown or HTML could read a sign as theirs, so
that a patient's words can neither break a table nor become markup, and come out letter for letter when unescaped.
"""

from __future__ import annotations

import html
import re
from typing import Literal

Tag = Literal["sym", "quote", "med"]
TAGS: tuple[Tag, ...] = ("sym", "quote", "med")
_SIGNS = re.compile(r"[^\w ,.;?'’“”\"()/%–—-]|(?<=\w)_|_(?=\w)", re.ASCII)
_TAGGED = re.compile(r"<(sym|quote|med)>(.*?)</\1>", re.DOTALL)
_ANY_TAG = re.compile(r"</?(?:sym|quote|med)>")


def escaped(text: str) -> str:
    """The text with every sign that means something to Markdown or HTML as a character reference."""
    return _SIGNS.sub(lambda sign: sign[0] if ord(sign[0]) > 127 and sign[0].isalpha() else f"&#{ord(sign[0])};", text)


def tagged(tag: Tag, text: str) -> str:
    return f"<{tag}>{escaped(text)}</{tag}>"


def quote(text: str) -> str:
    return tagged("quote", text)


def found_in(markdown: str, tag: Tag) -> list[str]:
    """What stands between the tags of one kind, letter for letter."""
    return [html.unescape(match[2]) for match in _TAGGED.finditer(markdown) if match[1] == tag]


def are_well_formed(markdown: str) -> bool:
    """Every tag is closed before another opens."""
    return not _ANY_TAG.search(_TAGGED.sub(lambda match: match[2] if _ANY_TAG.search(match[2]) else "", markdown))
