"""Text as a reader sees it: the characters of a line tidied, and lines put together again."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable

SOFT_HYPHEN = "\u00ad"

# Not NFKC: it would also turn a superscript into a digit, and "10²" into "102".
_SHAPES = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st", "\u2010": "-", "\u2011": "-"}
)
_INVISIBLE = re.compile(r"[\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff]")
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\ud800-\udfff]")  # Postgres refuses NUL and lone surrogates
_LONGEST_WORD = 60
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_LAST_WORD = re.compile(r"([^\W\d_]+(?:['’-][^\W\d_]+)*)[-\u00ad]$")

SUSPENDED = frozenset({"and", "or", "to", "nor", "versus", "vs"})  # "pre- and postnatal"


def tidy(text: str) -> str:
    """One line without ligatures, odd spaces and soft hyphens; one at the very end stays until lines are joined."""
    if text.isascii() and text.isprintable():
        return " ".join(text.split())
    shaped = _UNPRINTABLE.sub("", _INVISIBLE.sub("", unicodedata.normalize("NFC", text.translate(_SHAPES)))).strip()
    words = " ".join(shaped.replace(SOFT_HYPHEN, "").split())
    return words + SOFT_HYPHEN if words and shaped.endswith(SOFT_HYPHEN) else words


class Words:
    """The words of a book: they tell a word that was broken at a line's end from one that has a hyphen of its own."""

    def __init__(self, lines: Iterable[str], prefixes: frozenset[str] = frozenset()) -> None:
        self._seen: Counter[str] = Counter()
        self._prefixes = prefixes
        for line in lines:
            words = _WORD.findall(line.casefold())
            self._seen.update(words[:-1] if line.endswith(("-", SOFT_HYPHEN)) else words)

    def join(self, left: str, right: str) -> str:
        """Two lines as one."""
        dropped, between = self.seam(left, right)
        return left[: len(left) - dropped] + between + right

    def seam(self, left: str, right: str) -> tuple[int, str]:
        """How two lines go together: the characters that the left one loses, and what comes between them."""
        if not left or not right:
            return 0, ""
        if left.endswith(SOFT_HYPHEN):
            return 1, ""
        if not left.endswith("-") or left.endswith((" -", "--")):
            return 0, " "
        return self._hyphen(left, right)

    def _hyphen(self, left: str, right: str) -> tuple[int, str]:
        before, after = _LAST_WORD.search(left[-_LONGEST_WORD:]), _WORD.match(right)
        if before is None or after is None or not after[0][0].islower():
            return 0, ""  # "10-|12", "Obsessive-|Compulsive"
        first, second = before[1].casefold(), after[0].casefold()
        one, two = self._seen[first + second], self._seen[f"{first}-{second}"]
        if one or two:
            return (1, "") if one >= two else (0, "")
        if second in SUSPENDED:
            return 0, " "
        return (0, "") if first.rsplit("-", 1)[-1] in self._prefixes else (1, "")
