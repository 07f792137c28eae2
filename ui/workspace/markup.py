"""HTML of our own making. Every text goes through `text`: what a patient or a model wrote is never markup.

A page of many Streamlit elements is slow, since each is a message of its own; so what is long is drawn as one element.
"""

from __future__ import annotations

from functools import cache
from html import escape
from importlib.resources import files

import streamlit as st

_CONTROLS = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 127))

_REVEAL = """(() => {{
  const seen = "{identifier}", page = document.documentElement;
  const end = () => page.classList.add("cc-revealed");
  if (sessionStorage.getItem(seen)) return end();
  sessionStorage.setItem(seen, "seen");
  page.classList.remove("cc-revealed");
  for (const kind of ["pointerdown", "keydown", "wheel"]) addEventListener(kind, end, {{once: true, passive: true}});
}})()"""


def text(value: object) -> str:
    """Letter for letter, for element content and for quoted attributes alike."""
    return escape(str(value).translate(_CONTROLS), quote=True)


def draw(body: str, kind: str = "") -> None:
    st.html(f'<div class="cc {kind}">{body}</div>')


def draw_style() -> None:
    st.html(f"<style>{_style()}</style>")


def badge(label: str, kind: str = "") -> str:
    return f'<span class="cc-badge {kind}">{text(label)}</span>'


def address(session_id: str, tab: str, turn: int | None = None) -> str:
    """Within this page: a link that can be copied, opened beside it, and gone back from."""
    where = f"?session={session_id}&tab={tab}"
    return where if turn is None else f"{where}&turn={turn}"


def linked(shown: str, href: str, kind: str = "") -> str:
    """`shown` is HTML already."""
    return f'<a class="{kind}" href="{text(href)}">{shown}</a>'


def reveal_once(identifier: str) -> None:
    """Drawn before what is to appear bit by bit. It is there at once for whoever touches a key, wheel or screen,
    and for whoever has seen it in this tab before, be it before a reload."""
    st.html(f"<script>{_REVEAL.format(identifier=identifier)}</script>", unsafe_allow_javascript=True)


@cache
def _style() -> str:
    return files("ui.workspace").joinpath("style.css").read_text("utf-8")
