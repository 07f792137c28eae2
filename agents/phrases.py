"""Lists of phrases that a text must or must not have, as data: a `*` stands for the rest of a word."""

from __future__ import annotations

import re
from functools import cache


@cache
def any_of(phrases: tuple[str, ...]) -> re.Pattern[str]:
    parts = (re.escape(phrase).replace(r"\*", r"\w*").replace("'", "['’]") for phrase in phrases)
    return re.compile(rf"(?<!\w)(?:{'|'.join(parts)})(?!\w)", re.IGNORECASE)
