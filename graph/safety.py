"""What happens around a risk check: the audit row with its notice, and the spool for when Postgres is gone."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import UTC, datetime
from functools import lru_cache

from agents.escalation import Escalation
from agents.risk import RiskVerdict
from graph.interview import ReceivedMessage
from storage.audit import Audit, text_mac
from storage.database import Database
from storage.jobs import Jobs
from storage.notices import add_within
from storage.sessions import Sessions
from storage.spool import Spool, StopRecord


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
        self._audit_key = lru_cache(maxsize=256)(self._sessions.audit_key)
        self.words = words or (lambda _: escalation)
        self.spool = spool

    def record(self, message: ReceivedMessage, verdict: RiskVerdict) -> None:
        """One audit row a check, and a notice for a flag or stop; the same message again adds nothing."""
        key = f"{message.turn}:{message.message_id}:{message.refused}"
        durable = verdict.level != "none"
        with self._audit.once(message.session_id, key, self._entry(message, verdict), durable=durable) as connection:
            if connection is not None and verdict.level != "none":
                add_within(connection, message.session_id, verdict.level, message.turn)
        if verdict.level == "stop":
            self._jobs.cancel_for_session(message.session_id)

    def keep(self, message: ReceivedMessage, verdict: RiskVerdict) -> None:
        """Put a stop on disk, sealed, until Postgres is back."""
        shown = self.words(message.session_id)
        self.spool.put(
            StopRecord(
                session_id=message.session_id,
                turn=message.turn,
                message_id=message.message_id,
                text=message.text,
                rule=verdict.rule or "",
                flags=tuple(name for name, on in verdict.flags.model_dump().items() if on),
                spans=tuple((span.start, span.end) for span in verdict.spans),
                locale=shown.locale,
                script_version=shown.version,
                at=datetime.now(UTC),
                cues=verdict.cues,
                degraded=verdict.degraded,
            )
        )

    def forget(self, session_ids: Collection[str]) -> None:
        """Let go of what is kept of deleted sessions outside of the database: their keys, and stops put meanwhile."""
        self._audit_key.cache_clear()
        self.spool.discard(session_ids)

    def _entry(self, message: ReceivedMessage, verdict: RiskVerdict) -> dict[str, object]:
        key = self._audit_key(message.session_id)
        words = self.words(message.session_id)
        locale, version = message.shown or (words.locale, words.version)
        return {
            "kind": "check",
            "turn": message.turn,
            "text": text_mac(key, message.text),
            "level": verdict.level,
            "rule": verdict.rule,
            "spans": [[span.start, span.end] for span in verdict.spans],
            "cues": list(verdict.cues),
            "model": verdict.model,
            "prompt_version": verdict.prompt_version,
            "model_level": verdict.model_level,
            "milliseconds": verdict.milliseconds,
            "degraded": verdict.degraded,
            "refused": message.refused,
            "script_version": version if verdict.level == "stop" else None,
            "locale": locale,
        }
