"""Text for Streamlit's Markdown, which reads more into it than Markdown does: icons, emoji, arrows, addresses.

Much of that is looked for in the text itself after all escapes were resolved. What is meant to stay as it was typed is
therefore cut into pieces as well, by marks that show nothing.
"""

from __future__ import annotations

import re

_CUT = ":small[]"
_SIGN = re.compile(r"[^\w ,;'’“”?%–—…-]|_")
_CUT_AT = re.compile(r"(?=[:@<>=~-])|(?<=[:@<>=~-])|(?<=www)(?=\.)", re.IGNORECASE)


def plain(text: str) -> str:
    """Markdown that shows the text letter for letter."""
    return _CUT.join(_SIGN.sub(_reference, piece) for piece in _CUT_AT.split(text) if piece)


def _reference(sign: re.Match[str]) -> str:
    return f"&#{ord(sign[0])};"
