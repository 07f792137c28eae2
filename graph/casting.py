"""Who plays in which session: a session may be started with a model and a locale of its own.

The second reader beside the risk rules is not among it: safety is the installation's choice, not a session's.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from agents.escalation import Escalation, escalation
from errors import CrosscutError, SettingsError
from storage.sessions import Choice, Sessions

CHOSEN_ROLES = ("interviewer", "scorer", "diagnostician")
_MOST_KEPT = 10_000

log = logging.getLogger("crosscut.casting")


class Casting:
    """`engines` makes the agents that a model plays, by role."""

    def __init__(self, sessions: Sessions, locale: str, engines: Callable[[str], Mapping[str, Any]]) -> None:
        self._sessions = sessions
        self._locale = locale
        self._engines = cache(engines)
        self._choices: dict[str, Choice] = {}

    def words(self, session_id: str) -> Escalation:
        """The safety script and the help line of the session's locale."""
        return escalation(self._choice(session_id).locale or self._locale)

    def __call__(self, session_id: str) -> Mapping[str, Any]:
        """What takes the place of the installation's own agents; nothing for a session that asks for nothing else."""
        choice = self._choice(session_id)
        changes: dict[str, Any] = {}
        if choice.locale is not None:
            changes["script"] = escalation(choice.locale).script
        if choice.model is not None:
            changes |= self._played_by(choice.model)
        return changes

    def _played_by(self, model: str) -> Mapping[str, Any]:
        try:
            return self._engines(model)
        except SettingsError as error:  # its key is gone since; the installation's own agents go on
            log.error("a session's own model cannot be used: %s", error)
            return {}

    def _choice(self, session_id: str) -> Choice:
        """It never changes. With the database gone, a session that was not met before gets the installation's own."""
        if session_id not in self._choices:
            try:
                found = self._sessions.choice(session_id)
            except CrosscutError:
                return Choice()
            if len(self._choices) >= _MOST_KEPT:
                self._choices.clear()
            self._choices[session_id] = found
        return self._choices[session_id]
