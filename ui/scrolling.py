"""Brings something on a page into sight."""

from __future__ import annotations

import streamlit as st

_TOUCHES = ["pointerdown", "keydown", "wheel", "input"]
# For some seconds again and again: what stands above and the style may come later than this. Any touch ends it.
_SCROLL = """(() => {{
  let tries = 50, next;
  const look = () => {{
    const found = document.getElementById("{identifier}");
    let box = found?.parentElement;
    while (box && box.scrollHeight <= box.clientHeight + 1) box = box.parentElement;
    if (found && box) {{
      const offset = found.getBoundingClientRect().top - box.getBoundingClientRect().top;
      box.scrollIntoView({{block: "nearest"}});
      box.scrollTop += offset - (box.clientHeight - found.clientHeight) / 2;
    }}
    if (tries-- > 0) next = setTimeout(look, 100);
  }};
  const leave = () => clearTimeout(next);  // one more look would move the page between a press and its release
  for (const kind of {touches}) addEventListener(kind, leave, {{once: true, passive: true}});
  look();
}})()"""


def scroll_to(identifier: str) -> None:
    """Bring something of ours to the middle of the box it is in, and the box on the screen."""
    st.html(f"<script>{_SCROLL.format(identifier=identifier, touches=_TOUCHES)}</script>", unsafe_allow_javascript=True)


def stay_here(identifier: str) -> None:
    """Bring the place where this is drawn into sight."""
    st.html(f'<div id="{identifier}"></div>')
    scroll_to(identifier)
