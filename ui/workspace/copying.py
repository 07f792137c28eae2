"""A button that copies a text at once: Streamlit has one only inside a block of code, and shows it on hover."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Any

from streamlit.components.v2 import component

_BUTTON = """
<button type="button">
  <svg viewBox="0 0 24 24" aria-hidden="true"><rect x="8" y="8" width="12" height="13" rx="2"/>
  <path d="M16 8V5a2 2 0 0 0-2-2H6a2 2 0 0 0-2 2v10a2 2 0 0 0 2 2h2"/></svg>
  <span aria-live="polite">Copy</span>
</button>
"""


def offer_copy(text: str, *, key: str, help: str) -> None:  # noqa: A002  # as Streamlit's own buttons have it
    """The text goes to the script as data and is never read as anything else."""
    _button()(data={"text": text, "help": help}, key=key, width="content", height="content")


@cache
def _button() -> Callable[..., Any]:
    """Registered once a process."""
    here = files("ui.workspace")
    return component(
        "copy_button",
        html=_BUTTON,
        css=here.joinpath("copy.css").read_text("utf-8"),
        js=here.joinpath("copy.js").read_text("utf-8"),
    )
