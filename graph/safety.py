"""What happens around a risk check: the audit row with its notice, and the spool for when Postgres is gone."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache

from agents.escalation import Escalation
from agents.risk import RiskVerdict, Span
from graph.interview import ReceivedMessage
from instruments.profile import RiskFlags
from storage.audit import Audit, text_mac
from storage.database import Connection, Database
from storage.jobs import Jobs
from storage.notices import Notices, add_within
from storage.raised import Raised, RaisedMessages
from storage.sessions import Sessions, stop_within
from storage.spool import Spool

Decided = tuple[ReceivedMessage, RiskVerdict]
"""A message, and what was decided about it."""
_AFTER_A_STOP = "closed"


class SafetyDesk:
    """`words` gives a session's script where sessions may have others than `escalation`."""

    def __init__(
        self,
        database: Database,
        escalation: Escalation,
        spool: Spool,
        words: Callable[[str], Escalation] | None = None,
    ) -> None:
        self._audit = Audit(database)
        self._sessions = Sessions(database)
        self._jobs = Jobs(database)
        self._notices = Notices(database)
        self._raised = RaisedMessages(database)
        self._audit_key = lru_cache(maxsize=256)(self._sessions.audit_key)
        self._undecided: dict[str, Decided] = {}
        self._held: dict[str, Decided] = {}
        self.words = words or (lambda _: escalation)
        self.spool = spool

    def record(self, message: ReceivedMessage, verdict: RiskVerdict) -> None:
        """One audit row a check, and a notice for a flag or stop; the same message again adds nothing.

        With a stop the session is closed in the same moment, whoever works on it, and the message is kept until the
        conversation has it.
        """
        if verdict.level == "stop" and verdict.model_level == "stop":  # whom the rules stop, the runtime knows of
            self._undecided[message.session_id] = message, verdict
        key = self._key(message)
        durable = verdict.level != "none"
        with self._audit.once(message.session_id, key, self._entry(message, verdict), durable=durable) as connection:
            if connection is not None and verdict.level != "none":
                add_within(connection, message.session_id, verdict.level, None if message.refused else message.turn)
                self._keep_within(connection, message, verdict)
        if verdict.level == "stop":
            self._jobs.cancel_for_session(message.session_id)

    def record_signal(self, session_id: str, turn: int) -> None:
        """A notice for a flag that a score has set; a turn that is worked on again adds none, nor does one told of."""
        self._notices.add(session_id, "flag", turn)

    def has(self, message: ReceivedMessage) -> bool:
        """Whether this message's check is on record."""
        return self._audit.has(message.session_id, self._key(message))

    def waiting(self, session_id: str) -> Decided:
        """The stop that the conversation has not got yet."""
        raised = self._raised.waiting(session_id)
        if raised is None:
            return ReceivedMessage(session_id, 0, "", ""), RiskVerdict(level="stop", rule="closed")
        return decided(raised)

    def entered(self, session_id: str, said: Collection[str]) -> None:
        """The conversation is stopped. Words that are not in it, since another message stopped it, stay beside it."""
        raised = self._raised.waiting(session_id)
        if raised is not None:
            self._raised.entered(session_id, is_said=not raised.text or raised.text in said)

    def undecided(self, session_id: str) -> Decided | None:
        """The stop that a model decided on in the turn being worked on, perhaps not on record yet; told once."""
        return self._undecided.pop(session_id, None)

    def spool_stop(self, message: ReceivedMessage, verdict: RiskVerdict) -> None:
        """Put a stop on disk, sealed, until Postgres is back; where the disk is gone too, this process holds it."""
        try:
            self.spool.put(self._kept(message, verdict))
        except Exception:
            self._held.setdefault(message.session_id, (message, verdict))
            raise

    @property
    def held(self) -> list[Decided]:
        """Stops that are written nowhere yet."""
        return list(self._held.values())

    def release(self, session_id: str) -> None:
        self._held.pop(session_id, None)

    def is_unentered(self, session_id: str) -> bool:
        """Whether a stop of this session waits to be entered."""
        return session_id in self._held or any(one.session_id == session_id for one in self.spool.pending())

    def forget(self, session_ids: Collection[str]) -> None:
        """Let go of what is kept of deleted sessions outside of the database: their keys, and stops put meanwhile."""
        self._audit_key.cache_clear()
        for session_id in session_ids:
            self.release(session_id)
        self.spool.discard(session_ids)

    def _keep_within(self, connection: Connection, message: ReceivedMessage, verdict: RiskVerdict) -> None:
        """A worry at its turn is not kept, the conversation has it; of several stops, one is to be entered."""
        kept = self._kept(message, verdict)
        if verdict.level == "stop" and not message.refused and not stop_within(connection, message.session_id):
            kept = replace(kept, refused=_AFTER_A_STOP)
        if verdict.level == "stop" or kept.refused:
            self._raised.add_within(connection, kept, self._key(replace(message, refused=kept.refused)))

    def _kept(self, message: ReceivedMessage, verdict: RiskVerdict) -> Raised:
        locale, version = self._shown(message)
        return Raised(
            session_id=message.session_id,
            turn=message.turn,
            message_id=message.message_id,
            text=message.text,
            rule=verdict.rule or "",
            flags=tuple(name for name, on in verdict.flags.model_dump().items() if on),
            spans=tuple((span.start, span.end) for span in verdict.spans),
            locale=locale,
            script_version=version,
            at=message.at or datetime.now(UTC),
            cues=verdict.cues,
            degraded=verdict.degraded,
            level=verdict.level,
            refused=message.refused,
            model=verdict.model,
            prompt_version=verdict.prompt_version,
            model_level=verdict.model_level,
            milliseconds=verdict.milliseconds,
            engine=verdict.engine,
            tables=verdict.tables,
        )

    def _shown(self, message: ReceivedMessage) -> tuple[str, str]:
        words = self.words(message.session_id)
        return message.shown or (words.locale, words.version)

    def _key(self, message: ReceivedMessage) -> str:
        """A turn has one message; what is refused may come with other words under the same id."""
        key = f"{message.turn}:{message.message_id}:{message.refused}"
        return f"{key}:{text_mac(self._audit_key(message.session_id), message.text)}" if message.refused else key

    def _entry(self, message: ReceivedMessage, verdict: RiskVerdict) -> dict[str, object]:
        key = self._audit_key(message.session_id)
        locale, version = self._shown(message)
        return {
            "kind": "check",
            "turn": message.turn,
            "at": (message.at or datetime.now(UTC)).isoformat(timespec="milliseconds"),
            "text": text_mac(key, message.text),
            "level": verdict.level,
            "rule": verdict.rule,
            "spans": [[span.start, span.end] for span in verdict.spans],
            "cues": list(verdict.cues),
            "engine": verdict.engine,
            "tables": verdict.tables,
            "model": verdict.model,
            "prompt_version": verdict.prompt_version,
            "model_level": verdict.model_level,
            "milliseconds": verdict.milliseconds,
            "degraded": verdict.degraded,
            "refused": message.refused,
            "script_version": version if verdict.level == "stop" else None,
            "locale": locale,
        }


def decided(raised: Raised) -> Decided:
    """What was kept, as it was when it was decided."""
    shown = (raised.locale, raised.script_version)
    message = ReceivedMessage(raised.session_id, raised.turn, raised.message_id, raised.text, shown=shown, at=raised.at)
    verdict = RiskVerdict(
        level="stop",
        rule=raised.rule,
        flags=RiskFlags(**dict.fromkeys(raised.flags, True)),
        spans=tuple(Span(start=start, end=end, cue=raised.rule) for start, end in raised.spans),
        cues=raised.cues,
        degraded=raised.degraded,
        model=raised.model,
        prompt_version=raised.prompt_version,
        model_level=raised.model_level,
        milliseconds=raised.milliseconds,
        engine=raised.engine,
        tables=raised.tables,
    )
    return message, verdict
