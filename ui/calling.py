"""Our own constant words to somebody who may be in danger, with each number one tap from a call."""

from __future__ import annotations

import re
from html import escape
from typing import Literal

import streamlit as st

_NUMBER = re.compile(r"\d(?:[\d ]*\d)?")


def show_callable(words: str, kind: Literal["script", "help-line"]) -> None:
    """Letter for letter. Only for words of ours, in which every number is one to call: never what a patient wrote."""
    st.html(f'<div class="cc-{kind}">{_NUMBER.sub(_link, escape(words))}</div>')


def _link(number: re.Match[str]) -> str:
    return f'<a href="tel:{number[0].replace(" ", "")}">{number[0]}</a>'
