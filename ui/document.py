"""The HTML that a browser gets first, for pages whose address has a path.

Streamlit's own would look for its server below that path before it looks at the root, and so begin each visit with two
requests that fail. Here it is told where the server is, by the variable that it has for hosts.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import streamlit
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route

from ui.registry import PAGES

_ROOT = "{ BACKEND_BASE_URL: location.origin, MAIN_PAGE_BASE_URL: location.origin }"
_FRESH = {"Cache-Control": "no-cache"}  # it names files whose names change with each version


def documents() -> Sequence[Route]:
    html = _html()

    async def answer(_: Request) -> HTMLResponse:
        return HTMLResponse(html, headers=_FRESH)

    return [Route(f"/{page.name}", answer) for page in PAGES]


def _html() -> str:
    """Streamlit's, with our line before its first script."""
    theirs = (Path(streamlit.__file__).parent / "static" / "index.html").read_text("utf-8")
    return theirs.replace("<head>", f"<head><script>window.__streamlit = {_ROOT}</script>", 1)
