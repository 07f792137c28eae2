"""The sample handbook: an original, illustrative text with which everything works before anyone owns a manual.

It is not DSM-5 text. Its criteria were written by this project from general knowledge and are not for clinical use.
"""

from rag.handbook.pdf import build_pdf
from rag.handbook.text import front_page

__all__ = ["NOTICE", "book_title", "build_pdf"]

NOTICE = "illustrative handbook, not DSM-5"
"""What every citation of it and every report that uses it must carry."""


def book_title() -> str:
    return front_page().title
