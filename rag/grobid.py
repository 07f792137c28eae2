"""Headings as a GROBID server sees them, for books whose headings their print does not show.

The setting `GROBID_URL` names the server. It gets the PDF and gives back TEI, in which a heading says on which page and
how far down it stands. What it adds is used only where its words are found in that place.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element, ParseError

import urllib3
from defusedxml import DefusedXmlException, ElementTree

from errors import ServiceError
from rag.pdf import OutlineEntry

_TEI = "{http://www.tei-c.org/ns/1.0}"
_PATH = "/api/processFulltextDocument"
_SECONDS = 300.0


def grobid_headings(data: bytes, url: str, seconds: float = _SECONDS) -> list[OutlineEntry]:
    """Raises ServiceError when the server gives nothing usable: the book is then read without it."""
    try:
        answer = urllib3.request(
            "POST",
            url.rstrip("/") + _PATH,
            fields={"input": ("book.pdf", data, "application/pdf"), "teiCoordinates": "head"},
            timeout=seconds,
            retries=False,
        )
    except urllib3.exceptions.HTTPError as error:
        raise ServiceError(f"the GROBID server did not answer ({type(error).__name__}).") from None
    if answer.status != 200:
        raise ServiceError(f"the GROBID server answered with status {answer.status}.")
    try:
        tree = ElementTree.fromstring(answer.data)
    except (ParseError, DefusedXmlException, ValueError) as error:
        raise ServiceError(f"the GROBID server's answer is not TEI ({type(error).__name__}).") from None
    return list(_entries(tree))


def _entries(tree: Element) -> Iterator[OutlineEntry]:
    for head in tree.iter(f"{_TEI}head"):
        title, place = " ".join("".join(head.itertext()).split()), _place(head.get("coords", ""))
        if title and place:
            yield OutlineEntry(level=None, title=title, page=place[0], y=place[1])


def _place(coordinates: str) -> tuple[int, float] | None:
    """`page,x,y,width,height` of the first of the heading's rows."""
    try:
        page, _, y, _, height = coordinates.partition(";")[0].split(",")
        return int(page), float(y) + float(height)
    except ValueError:
        return None
