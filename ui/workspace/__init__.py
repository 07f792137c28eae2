"""One session, as its therapist sees it."""

from __future__ import annotations

from ui import review


def show(session_id: str) -> None:
    """Whoever calls this has made sure that the user may see the session."""
    review.show(session_id)
