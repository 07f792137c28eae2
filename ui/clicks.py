"""Clicks that are neither lost nor done twice.

`if st.button(…)` can lose one: a run of the page that is just ending, such as that of a list that looks for changes,
takes back the clicks of all buttons. And it can do one twice: the second of a double click ends the run of the first,
after what it did and before it could say so. (A run may be ended where it writes to `st.session_state`, too.)
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import streamlit as st

T = TypeVar("T")
_CLICKS_AT_ONCE = 16
_DOUBLE_CLICK_SECONDS = 1.0
_UNSEEN_SECONDS = 5.0  # as long as a page that is not drawn anew may take to show what was done
_FRESH_SECONDS = 30.0  # an older click belongs to a page that was left before it was heard


@dataclass(frozen=True)
class Done(Generic[T]):
    result: T


@dataclass
class Once:
    """Something that is done once, however often it is asked for; all who ask get what came of it."""

    _begun: Future[Any] | None = None

    def do(self, act: Callable[..., T], *given: Any, **more: Any) -> T:
        """In a thread of its own, which no other click ends."""
        return self.begin(act, *given, **more).result()

    def begin(self, act: Callable[..., T], *given: Any, **more: Any) -> Future[T]:
        if self._begun is None:
            self._begun = _hands().submit(act, *given, **more)
        return self._begun


class _Click:
    """Kept between runs of the page; changed without a word to Streamlit, so that no run is ended meanwhile."""

    def __init__(self) -> None:
        self._noted: float | None = None
        self._done: float | None = None
        self._seen: float | None = None
        self._entered: tuple[Any, ...] = ()
        self._once = Once()

    @property
    def waits(self) -> bool:
        return self._noted is not None and time.monotonic() - self._noted < _FRESH_SECONDS

    def note(self) -> None:
        """For the button's callback. Only the second of a double click asks for what is done already."""
        self._noted = time.monotonic()
        if self._is_over(self._noted):
            self._begin_anew()

    def draw(self) -> None:
        if self._done is not None and self._seen is None:
            self._seen = time.monotonic()

    def _is_over(self, now: float) -> bool:
        """Whether who clicks now has seen what came of the click before, however late the page was drawn."""
        if self._seen is not None:
            return now - self._seen > _DOUBLE_CLICK_SECONDS
        return self._done is not None and now - self._done > _UNSEEN_SECONDS

    def _begin_anew(self) -> None:
        self._once, self._done, self._seen = Once(), None, None

    def answer(self, act: Callable[[], T], entered: tuple[Any, ...] = ()) -> Done[T]:
        if any(entered) and entered != self._entered:  # a form that is empty again is that of a double click
            self._begin_anew()
            self._entered = entered
        try:
            result = self._once.do(act)
        except Exception:
            self._begin_anew()  # whoever clicks again has it tried again
            raise
        finally:
            self._noted = None
        if self._done is None:
            self._done = time.monotonic()
        return Done(result)


def clicked(
    label: str,
    act: Callable[[], T],
    *,
    key: str,
    entered: tuple[Any, ...] = (),
    button: Callable[..., Any] = st.button,
    **how: Any,
) -> Done[T] | None:
    """A button. Where it was clicked, its act is done by now, and this is what came of it; what goes wrong is raised.

    The act is done in another thread, so it says nothing to the page. `entered` is what it is done with: what is
    clicked again with something else, however soon, is done as well.
    """
    click: _Click = st.session_state.setdefault(f"click on {key}", _Click())
    button(label, key=key, on_click=click.note, **how)
    click.draw()
    return click.answer(act, entered) if click.waits else None


@st.cache_resource
def _hands() -> ThreadPoolExecutor:
    """Not those who write reports, of whom there are few: a click waits for nobody."""
    return ThreadPoolExecutor(_CLICKS_AT_ONCE, thread_name_prefix="click")
