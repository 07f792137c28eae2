"""A whole conversation with somebody who answers by themselves: a file, a persona, a person at a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from errors import InputError
from graph.runtime import InterviewRuntime
from graph.transcripts import AnswerScript
from graph.view import View

Reply = Callable[[View], str]
Refused = Callable[[View, Exception], View]
"""What to go on with when a message was not taken; it raises the error where the conversation ends with it."""
MOST_REPLIES_AN_ITEM = 5
"""A question, its follow-up, and a pause or two. A person may go on for ever; a file must not."""


def _ends(_: View, error: Exception) -> View:
    raise error


def converse(
    runtime: InterviewRuntime,
    view: View,
    reply: Reply,
    show: Callable[[View], None] = lambda _: None,
    refused: Refused = _ends,
) -> View:
    """Answer until the session is closed; `show` sees each state before it is answered, and the last."""
    show(view)
    while view.open:
        text = reply(view)
        try:
            view = runtime.submit(view.session_id, text, expected_turn=view.turn, item=view.item, paused=view.paused)
        except Exception as error:
            view = refused(view, error)
        show(view)
    return view


def asks_again(view: View) -> bool:
    """Whether what is asked is a follow-up, of whatever kind, and not an item's first question."""
    return view.lines[-1].kind != "question"


def scripted(script: AnswerScript) -> Reply:
    return ending(lambda view: script.answer(view.item, is_follow_up=asks_again(view)))


def ending(reply: Reply) -> Reply:
    """The same replies, but an error where they would never get the conversation any further."""
    given: Counter[int] = Counter()

    def counted(view: View) -> str:
        given[view.item] += 1
        if given[view.item] > MOST_REPLIES_AN_ITEM:
            raise InputError(
                f"item {view.item} is still open after {MOST_REPLIES_AN_ITEM} replies: do they ask to stop?"
            )
        return reply(view)

    return counted
