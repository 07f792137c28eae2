"""Evidence tags: `<sym>` for a symptom, `<quote>` for the patient's own words, `<med>` for a medical term.

What stands between tags is written so that neither Markdown nor HTML can read a sign of it as theirs: a patient's words
can neither break a table nor become a link or markup, and come out letter for letter when unescaped.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

Tag = Literal["sym", "quote", "med"]
TAGS: tuple[Tag, ...] = ("sym", "quote", "med")
_AS_REFERENCE = re.compile(r"[<>&\x00-\x1f\x7f\x85\u2028\u2029]")
_BY_BACKSLASH = re.compile(
    r"""[\\`*_{}\[\]#|~$^@=!+]
    | :(?![ ])                 # a directive, or the beginning of an address
    | (?<=www)\.               # another
    | ^\s*-                    # a list or a rule
    | ^\s*\d{1,9}[.)]          # a numbered list
    """,
    re.VERBOSE | re.IGNORECASE,
)
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])|&(lt|gt|amp);|&#(\d+);")
_NAMED = {"<": "lt", ">": "gt", "&": "amp"}
_BY_NAME = {name: sign for sign, name in _NAMED.items()}
_TAGGED = re.compile(r"<(sym|quote|med)>(.*?)</\1>", re.DOTALL)
_ANY_TAG = re.compile(r"</?(?:sym|quote|med)>")


def escaped(text: str) -> str:
    """The text with every sign that means something to Markdown or HTML made plain."""
    plain = _BY_BACKSLASH.sub(lambda sign: sign[0][:-1] + "\\" + sign[0][-1], text)
    return _AS_REFERENCE.sub(lambda sign: _reference(sign[0]), plain)


def unescaped(text: str) -> str:
    """What `escaped` was given; HTML's own reading of references would lose control characters."""
    return _ESCAPE.sub(lambda sign: sign[1] or _BY_NAME.get(sign[2]) or chr(int(sign[3])), text)


def _reference(sign: str) -> str:
    return f"&{_NAMED.get(sign) or f'#{ord(sign)}'};"


def tagged(tag: Tag, text: str) -> str:
    return f"<{tag}>{escaped(text)}</{tag}>"


def quote(text: str) -> str:
    return tagged("quote", text)


def prose(text: str) -> str:
    """Prose that may have evidence tags: these stay, whatever stands inside of one is plain, all else is escaped."""
    parts, at, text = [], 0, text.strip()  # leading spaces would make it a block of code
    for match in _TAGGED.finditer(text):
        parts += [escaped(text[at : match.start()]), f"<{match[1]}>{escaped(_ANY_TAG.sub('', match[2]))}</{match[1]}>"]
        at = match.end()
    return "".join([*parts, escaped(text[at:])])


def requoted(text: str, exact: Callable[[str], str]) -> str:
    """Prose with what stands in each `<quote>` replaced."""
    return _TAGGED.sub(lambda found: f"<quote>{exact(found[2])}</quote>" if found[1] == "quote" else found[0], text)


def found_in(markdown: str, tag: Tag) -> list[str]:
    """What stands between the tags of one kind, letter for letter."""
    return [unescaped(match[2]) for match in _TAGGED.finditer(markdown) if match[1] == tag]


def are_well_formed(markdown: str) -> bool:
    """Every tag is closed before another opens."""
    return not _ANY_TAG.search(_TAGGED.sub(lambda match: match[2] if _ANY_TAG.search(match[2]) else "", markdown))
