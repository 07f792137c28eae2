"""Personas' interviews that go on by themselves at a pace that can be watched, whoever looks or closes the page."""

from __future__ import annotations

import logging
import zlib
from threading import Lock, Thread
from time import sleep

from benchmark.acting import Actor, recording, reply_of
from benchmark.personas import persona
from benchmark.simulator import SimulatedPatient
from errors import InputError, NotFoundError
from graph.conversation import converse
from graph.runtime import InterviewRuntime
from graph.view import View
from storage.sessions import Choice, DiagnosticMode

log = logging.getLogger("crosscut.live")


class LiveInterviews:
    """Their threads end with the process; what is left can be resumed, like any interview.

    `actor` plays the personas; without one they speak by their script.
    """

    def __init__(self, runtime: InterviewRuntime, *, seconds_a_turn: float = 0.6, actor: Actor | None = None) -> None:
        self._runtime = runtime
        self._pace = seconds_a_turn
        self._actor = actor
        self._running: set[str] = set()
        self._lock = Lock()

    def start(
        self,
        persona_id: str,
        *,
        mode: DiagnosticMode = "diagnostic",
        owner: str | None = None,
        choice: Choice = Choice(),  # noqa: B008  # frozen
    ) -> str:
        """Begin an interview with this persona and give its session."""
        persona(persona_id)
        session_id = self._runtime.start(mode=mode, persona=persona_id, owner=owner, choice=choice).session_id
        self.resume(session_id)
        return session_id

    def resume(self, session_id: str) -> None:
        """Go on with it, unless it is going on or has ended."""
        if self._runtime.sessions.get(session_id).persona is None:
            raise InputError("only a persona's interview goes on by itself.")
        with self._lock:
            if session_id in self._running:
                return
            self._running.add(session_id)
        Thread(target=self._hold, args=(session_id,), name="live-interview", daemon=True).start()

    def is_running(self, session_id: str) -> bool:
        return session_id in self._running

    def _hold(self, session_id: str) -> None:
        try:
            session = self._runtime.sessions.get(session_id)
            patient = SimulatedPatient(persona(session.persona or ""), zlib.crc32(session_id.encode()))
            reply = reply_of(patient, self._actor, recording(self._runtime))
            converse(self._runtime, self._runtime.view(session_id), reply, self._wait)
            self._runtime.reports.newest(session_id)
        except NotFoundError:  # deleted meanwhile
            pass
        except Exception as error:  # the page says that it stands still, and offers to go on
            log.error("a persona's interview stands still: %s", type(error).__name__)
        finally:
            self._running.discard(session_id)

    def _wait(self, view: View) -> None:
        if view.open:
            sleep(self._pace)
