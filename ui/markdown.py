"""Text for Streamlit's Markdown, which reads more into it than Markdown does: icons, emoji, arrows, addresses.

Much of that is looked for in the text itself after all escapes were resolved. What is meant to stay as it was typed is
therefore cut into pieces as well, by marks that show nothing.
"""

from __future__ import annotations

import re

from agents.report.tags import Tag, unescaped

COLOURS: dict[Tag, str] = {"sym": "blue", "quote": "orange", "med": "violet"}
_CUT = ":small[]"
_SIGN = re.compile(r"[^\w ,;'’“”?%–—…-]|_")
_CUT_AT = re.compile(r"(?=[:@<>=~-])|(?<=[:@<>=~-])|(?<=www)(?=\.)", re.IGNORECASE)
_PIECE = re.compile(r"<(?P<tag>sym|quote|med)>(?P<inside>.*?)</(?P=tag)>|\\[!-/:-@\[-`{-~]|&#?\w+;", re.DOTALL)


def plain(text: str) -> str:
    """Markdown that shows the text letter for letter."""
    return _CUT.join(_SIGN.sub(_reference, piece) for piece in _CUT_AT.split(text) if piece)


def highlighted(report: str) -> str:
    """A report's Markdown with its evidence tags as coloured backgrounds."""
    return _PIECE.sub(_shown, report)


def _shown(piece: re.Match[str]) -> str:
    tag: Tag | None = piece["tag"]  # type: ignore[assignment]
    if tag is None:
        return f"{_CUT}{plain(unescaped(piece[0]))}{_CUT}"
    inside = plain(unescaped(piece["inside"]))
    return f":{COLOURS[tag]}-background[{f'“{inside}”' if tag == 'quote' else inside}]"


def _reference(sign: re.Match[str]) -> str:
    return f"&#{ord(sign[0])};"
